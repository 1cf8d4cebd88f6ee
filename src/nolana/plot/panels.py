"""Curves over several pairs of axes with one legend."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nolana.plot.figures import check, curve, figure_class, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_TICKS = 8  # with a tick for each value; more would overlap


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
    points : whether each value has a marker; a logarithmic x axis then has a tick for each, if these are at most eight.
    mark : where a vertical line marks a change; None: no line.
    bands : xs, lower and upper ends of intervals, drawn in the colour of the curve of this name.
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
    bands: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] = field(default_factory=dict)


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
    figure_class()
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
    figure = figure_class()(figsize=(width, height * lines + 0.3 * -(-len(names) // 4)), layout="constrained")
    handles = {}
    for i, panel in enumerate(panels):
        axes = figure.add_subplot(lines, columns, i + 1)
        for name, (xs, ys) in panel.curves.items():
            k = names.index(name)
            marker = "o" if panel.points else None
            (handles[name],) = axes.plot(xs, ys, **curve(k), linewidth=1.8, marker=marker, markersize=4)
        for name, (xs, lows, highs) in panel.bands.items():
            axes.fill_between(xs, lows, highs, color=curve(names.index(name))["color"], alpha=0.2, linewidth=0)
        tidy(axes, panel.title, panel.x, panel.y)
        if panel.log_x:
            axes.set_xscale("log")
        if panel.log_y:
            axes.set_yscale("log")
        if panel.log_x and panel.points:
            ticks = sorted({float(x) for xs, _ in panel.curves.values() for x in xs})
            if len(ticks) <= MOST_TICKS:
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
    drawn = [name for name in names if name in handles]
    figure.legend(
        [handles[name] for name in drawn], drawn, loc="outside lower center", ncols=min(4, len(drawn)), frameon=False
    )
    return figure
