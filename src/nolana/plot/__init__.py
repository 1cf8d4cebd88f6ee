"""Plots of streams, models and runs, one call each. matplotlib is part of the extra ``cli`` and is loaded when the
first plot is drawn.

Each function returns the matplotlib ``Figure`` and writes it to `path` (.png, .svg or .pdf) if there is one.
Colours are those of Okabe and Ito; curves differ by stroke too, so that they can be read in print.
"""

from nolana.plot.calibration import calibration
from nolana.plot.figures import check
from nolana.plot.panels import Panel, panels, svg
from nolana.plot.planes import landmarks, regions
from nolana.plot.scores import ExpertHistory, experts, running_scores

__all__ = [
    "ExpertHistory", "Panel", "calibration", "check", "experts", "landmarks", "panels", "regions", "running_scores",
    "svg",
]  # fmt: skip
