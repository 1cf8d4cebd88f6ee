"""Plots of runs. matplotlib is part of the extra ``cli`` and is loaded when the first plot is drawn."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nolana.evaluate import Point
from nolana.metrics import IN_PER_CENT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "check", "panels", "portrait", "running_scores", "svg"]

FORMATS = (".pdf", ".png", ".svg")
# The colours of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
# Dashed curves are drawn on top, so that two equal curves are both visible; three strokes, so that colours can repeat.
STROKES = ("-", (0, (4, 3)), (0, (1.5, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def check(path: str | os.PathLike[str]) -> None:
    """Raise if no plot can be written to `path`; call it before any work is done."""
    _figure_class()
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(
            f"the name of a plot must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; got {str(file)!r}"
        )
    if file.is_dir():
        raise IsADirectoryError(f"{str(file)!r} is a directory; name a file in it")
    if not file.parent.is_dir():
        raise NotADirectoryError(f"there is no directory {str(file.parent)!r}; create it, or choose another path")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise PermissionError(f"no permission to write {str(file)!r}; choose another path")


def running_scores(
    curves: Mapping[str, Sequence[Point]], metric: str, path: str | os.PathLike[str], title: str
) -> None:
    """Draw a metric over all rows so far against the rows learned, one curve for each name.

    Parameters
    ----------
    curves : for each name the history of a run of ``nolana.evaluate.progressive``.
    metric : which metric of the history; accuracy is drawn in per cent.
    path : the file, .png, .svg or .pdf; an existing file is replaced.
    title : above the plot.

    Examples
    --------
    >>> import tempfile
    >>> from nolana.evaluate import Point
    >>> from nolana.plot import running_scores
    >>> history = [Point(100, {"accuracy": 0.7}, {}), Point(200, {"accuracy": 0.8}, {})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     running_scores({"mine": history}, "accuracy", f"{folder}/mine.png", "Two points")
    """
    check(path)
    if not curves:
        raise ValueError("curves is empty: nothing to draw")
    for name, history in curves.items():
        if not history or metric not in history[-1].overall:
            raise ValueError(f"curves[{name!r}] has no points with the metric {metric!r}")
    factor, unit, number = (100.0, " (%)", "{:.1f} %") if metric in IN_PER_CENT else (1.0, "", "{:.4g}")
    figure = _figure_class()(figsize=(9, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for i, (name, history) in enumerate(curves.items()):
        axes.plot(
            [point.rows for point in history],
            [factor * point.overall[metric] for point in history],
            label=f"{name}: {number.format(factor * history[-1].overall[metric])}",
            color=COLOURS[i % len(COLOURS)],
            linestyle=STROKES[i % len(STROKES)],
            zorder=2 + i % len(STROKES),
            linewidth=2,
        )
    axes.set_title(title, loc="left", pad=12)
    axes.set_xlabel("rows learned")
    axes.set_ylabel(f"{metric} over all rows so far{unit}")
    axes.set_xlim(0, max(history[-1].rows for history in curves.values()))
    axes.grid(color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path)


def portrait(
    path: str | os.PathLike[str],
    title: str,
    positions: NDArray[np.float64],
    predicted: NDArray[Any] | None,
    counts: NDArray[np.float64],
    history: Sequence[Point],
    metric: str | None,
) -> None:
    """Draw a model: its landmarks in a plane, and its score over time.

    Parameters
    ----------
    path : the file, .png, .svg or .pdf; an existing file is replaced.
    title : above the plot.
    positions : of the landmarks (m, 2).
    predicted : the prediction at each landmark (m,): numbers are drawn as shades, labels as colours. None: neither.
    counts : how many rows each landmark represents (m,), drawn as its size.
    history : of a run; empty: no score is drawn.
    metric : which metric of the history.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from nolana.plot import portrait
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     portrait(f"{folder}/a.png", "Two", np.eye(2), np.array(["a", "b"]), np.ones(2), [], None)
    """
    check(path)
    scored = bool(history) and metric is not None
    figure = _figure_class()(figsize=(12 if scored else 6.5, 5), dpi=150, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left")
    axes = figure.add_subplot(1, 2 if scored else 1, 1)
    sizes = 15 + 145 * counts / max(1.0, float(counts.max(initial=0.0)))
    if predicted is None or predicted.dtype.kind == "f":
        points = axes.scatter(
            positions[:, 0], positions[:, 1], s=sizes, c=predicted, cmap="viridis", alpha=0.8, linewidths=0
        )
        if predicted is not None:
            figure.colorbar(points, ax=axes, label="prediction")
    else:
        for i, label in enumerate(np.unique(predicted)):
            here = predicted == label
            axes.scatter(
                positions[here, 0],
                positions[here, 1],
                s=sizes[here],
                color=COLOURS[i % len(COLOURS)],
                marker=MARKERS[i // len(COLOURS) % len(MARKERS)],
                label=str(label),
                alpha=0.8,
                linewidths=0,
            )
        axes.legend(title="prediction", framealpha=0.9, edgecolor="none", ncols=1 + (len(np.unique(predicted)) > 8))
    axes.set_title("landmarks; a larger one represents more rows", loc="left", fontsize=10)
    axes.set_xlabel("first principal axis")
    axes.set_ylabel("second principal axis")
    if scored:
        _score_over_time(figure.add_subplot(1, 2, 2), history, str(metric))
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def _score_over_time(axes: Any, history: Sequence[Point], metric: str) -> None:
    factor, unit = (100.0, " (%)") if metric in IN_PER_CENT else (1.0, "")
    rows = [point.rows for point in history]
    recent = [factor * point.window[metric] for point in history]
    overall = [factor * point.overall[metric] for point in history]
    axes.plot(rows, recent, color=COLOURS[5], linewidth=1, label="over the last window", zorder=2)
    axes.plot(rows, overall, color=COLOURS[0], linewidth=2, label="over all rows so far", zorder=3)
    axes.set_title("each row predicted before it was learned", loc="left", fontsize=10)
    axes.set_xlabel("rows learned")
    axes.set_ylabel(metric + unit)
    axes.set_xlim(0, max(rows))
    axes.legend(frameon=False)
    axes.grid(color="0.9")
    axes.spines[["top", "right"]].set_visible(False)


@dataclass(frozen=True)
class Panel:
    """Curves over one pair of axes.

    Parameters
    ----------
    title : above the panel.
    curves : xs and ys by name; a name has the same colour in every panel of a figure.
    x, y : labels of the axes.
    log_x, log_y : whether the axes are logarithmic.
    y_range : limits of the y axis; None: all curves are visible.
    points : whether each value has a marker; a logarithmic x axis then has a tick for each.
    mark : where a vertical line marks a change; None: no line.
    """

    title: str
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None
    points: bool = False
    mark: float | None = None


def panels(
    panels: Sequence[Panel], path: str | os.PathLike[str], *, columns: int = 1, width: float = 9.0, height: float = 4.5
) -> None:
    """Draw panels with a common legend.

    Parameters
    ----------
    panels : in the order of reading.
    path : the file, .png, .svg or .pdf; an existing file is replaced.
    columns : panels in a row.
    width, height : width of the figure and height of each row of panels, in inches.

    Examples
    --------
    >>> import tempfile
    >>> from nolana import plot
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot.panels([plot.Panel("two points", {"mine": ([1, 2], [3, 4])}, "x", "y")], f"{folder}/two.png")
    """
    check(path)
    _figure_of(panels, columns, width, height).savefig(path, dpi=150)


def svg(panels: Sequence[Panel], *, columns: int = 1, width: float = 10.5, height: float = 3.4) -> str:
    """Panels with a common legend, as the text of an SVG.

    Parameters
    ----------
    panels : in the order of reading.
    columns : panels in a row.
    width, height : width of the figure and height of each row of panels, in inches.

    Examples
    --------
    >>> from nolana.plot import Panel, svg
    >>> figure = svg([Panel("two points", {"mine": ([1, 2], [3, 4])}, "x", "y")])
    >>> "<svg" in figure
    True
    """
    _figure_class()
    import matplotlib

    # Text stays text, and equal figures have equal bytes.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "nolana", "font.size": 10}):
        text = io.StringIO()
        _figure_of(panels, columns, width, height).savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _figure_of(panels: Sequence[Panel], columns: int, width: float, height: float) -> "Figure":
    if not panels:
        raise ValueError("panels is empty: nothing to draw")
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    lines = -(-len(panels) // columns)
    figure = _figure_class()(figsize=(width, height * lines + 0.3 * -(-len(names) // 4)), layout="constrained")
    handles = {}
    for i, panel in enumerate(panels):
        axes = figure.add_subplot(lines, columns, i + 1)
        for name, (xs, ys) in panel.curves.items():
            k = names.index(name)
            (handles[name],) = axes.plot(
                xs,
                ys,
                color=COLOURS[k % len(COLOURS)],
                linestyle=STROKES[k % len(STROKES)],
                zorder=2 + k % len(STROKES),
                linewidth=1.8,
                marker="o" if panel.points else None,
                markersize=4,
            )
        axes.set_title(panel.title, loc="left", fontsize=11)
        axes.set_xlabel(panel.x)
        axes.set_ylabel(panel.y)
        if panel.log_x:
            axes.set_xscale("log")
        if panel.log_y:
            axes.set_yscale("log")
        if panel.log_x and panel.points:
            ticks = sorted({float(x) for xs, _ in panel.curves.values() for x in xs})
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axes.set_xticks([], minor=True)
        if panel.y_range is not None:
            axes.set_ylim(*panel.y_range)
        if panel.mark is not None:
            axes.axvline(panel.mark, color="0.4", linewidth=1, linestyle=(0, (2, 2)), zorder=1)
            axes.annotate(
                "change",
                (panel.mark, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(4, -10),
                textcoords="offset points",
                color="0.3",
                fontsize=9,
            )
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    drawn = [name for name in names if name in handles]
    figure.legend(
        [handles[name] for name in drawn], drawn, loc="outside lower center", ncols=min(4, len(drawn)), frameon=False
    )
    return figure


def _figure_class() -> "type[Figure]":
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as missing:
        raise ImportError(
            'plots need matplotlib, which is not installed: pip install "nolana[cli]"', name=missing.name
        ) from missing
    return Figure
