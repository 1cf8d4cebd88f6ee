"""Deprecated: the runs are in ``nolana.runs``."""

import warnings

from nolana.runs import Checkpoints, Recipe, Run, Scoring, Stop, resident_bytes, resume
from nolana.runs import Inspection as describe  # noqa: N813
from nolana.runs import Interval as Every
from nolana.runs import Predictor as Predicting
from nolana.runs import ScoredBlock as Told
from nolana.runs import SourceOptions as Reading
from nolana.runs import start as begin

__all__ = [
    "Checkpoints", "Every", "Predicting", "Reading", "Recipe", "Run", "Scoring", "Stop", "Told",
    "begin", "describe", "resident_bytes", "resume",
]  # fmt: skip

warnings.warn("nolana.running is deprecated; import nolana.runs", DeprecationWarning, stacklevel=2)
