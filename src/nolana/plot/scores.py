"""The running score of several learners."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nolana.evaluate import Point
from nolana.metrics import IN_PER_CENT
from nolana.plot.figures import curve, new_figure, saved, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def running_scores(
    curves: Mapping[str, Sequence[Point]],
    metric: str = "accuracy",
    path: str | os.PathLike[str] | None = None,
    title: str = "each row predicted before it was learned",
) -> "Figure":
    """Draw a metric over all rows so far against the rows learned, one curve for each name.

    Parameters
    ----------
    curves : for each name the history of a run of ``nolana.evaluate.progressive``.
    metric : which metric of the history; accuracy is drawn in per cent.
    path : the file, .png, .svg or .pdf; an existing file is replaced. None: none is written.
    title : above the plot.

    Examples
    --------
    >>> from nolana import plot
    >>> from nolana.evaluate import Point
    >>> history = [Point(100, {"accuracy": 0.7}, {}), Point(200, {"accuracy": 0.8}, {})]
    >>> figure = plot.running_scores({"mine": history})
    """
    figure = new_figure(path, 9, 5)
    if not curves:
        raise ValueError("curves is empty: nothing to draw")
    for name, history in curves.items():
        if not history or metric not in history[-1].overall:
            raise ValueError(f"curves[{name!r}] has no points with the metric {metric!r}")
    factor, unit, number = (100.0, " (%)", "{:.1f} %") if metric in IN_PER_CENT else (1.0, "", "{:.4g}")
    axes = figure.add_subplot()
    for i, (name, history) in enumerate(curves.items()):
        axes.plot(
            [point.rows for point in history],
            [factor * point.overall[metric] for point in history],
            label=f"{name}: {number.format(factor * history[-1].overall[metric])}",
            **curve(i),
            linewidth=2,
        )
    tidy(axes, title, "rows learned", f"{metric} over all rows so far{unit}")
    axes.set_xlim(0, max(history[-1].rows for history in curves.values()))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return saved(figure, path)
