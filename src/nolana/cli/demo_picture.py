"""The picture of the demo: accuracy, seconds and bytes against rows, with some of the digits above."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.plot.figures import COLOURS, figure_class, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curves", "draw"]

Array = NDArray[np.float64]

WIDTH, HEIGHT = 12.0, 6.4  # inches
SIZE = 13.0  # of the font, in points: legible at half the width, as on the page of the repository
LINE = 1.3  # from one line of text to the next, in sizes of the font
# Left, bottom, width and height of the axes; beside each is room for the names of its curves.
ACCURACY = (0.05, 0.105, 0.475, 0.595)
SECONDS = (0.718, 0.525, 0.125, 0.275)
KILOBYTES = (0.718, 0.105, 0.125, 0.275)
LOWEST = 30  # per cent; below it is only the beginning, when a method knows nothing


# Colour, stroke and width; the first is drawn strongest and on top. A name at its end tells each curve apart too.
STYLES = ((COLOURS[0], "-", 3.2), (COLOURS[1], (0, (5, 1.5)), 2.0), (COLOURS[2], (0, (1.2, 1.0)), 2.4))
SIDE = 8  # pixels of an image
EXAMPLES = 9  # images on either side of the change


@dataclass(frozen=True)
class Curves:
    """One method over the rows, with a point after every so many."""

    accuracy: float  # of all rows
    rows: list[int]
    recent: list[float]  # accuracy of the rows since the last point
    seconds: list[float]  # so far
    bytes: list[int]


def draw(X: Array, curves: Mapping[str, Curves], change: int) -> "Figure":
    """Draw the picture.

    Parameters
    ----------
    X : the images, (n, 64).
    curves : of each method by its name, up to three; the title is about the first.
    change : the row at which the images turn upside down.
    """
    figure_class()
    import matplotlib

    with matplotlib.rc_context({"font.size": SIZE}):
        figure = figure_class()(figsize=(WIDTH, HEIGHT), dpi=150)
        _titles(figure, curves, len(X), change)
        _examples(figure, X, change)
        recent = {name: (100 * np.array(one.recent), f"\nall rows: {_per_cent(one)}") for name, one in curves.items()}
        seconds = {name: (np.array(one.seconds), f" {one.seconds[-1]:.2f} s") for name, one in curves.items()}
        held = {name: (np.array(one.bytes) / 1024, f" {one.bytes[-1] / 1024:,.0f} KB") for name, one in curves.items()}
        window = next(iter(curves.values())).rows[0]
        rows = [one.rows for one in curves.values()]
        accuracy = _panel(figure, ACCURACY, f"accuracy of the last {window} rows (%)", rows, recent, (LOWEST, 101))
        _panel(figure, SECONDS, "seconds so far", rows, seconds, (0, None))
        _panel(figure, KILOBYTES, "kilobytes held", rows, held, (0, None))
        accuracy.axvline(change, color="0.4", linewidth=1, linestyle=(0, (2, 2)), zorder=1)
        for text, shift, side in (("upright", -8, "right"), ("upside down", 8, "left")):
            accuracy.annotate(
                text, (change, LOWEST), xytext=(shift, 8), textcoords="offset points", ha=side, color="0.25"
            )
    return figure


def _per_cent(one: Curves) -> str:
    return f"{100 * one.accuracy:.1f} %"


def _titles(figure: "Figure", curves: Mapping[str, Curves], rows: int, change: int) -> None:
    name, first = next(iter(curves.items()))
    claim = (
        f"{name} learns from every row, in memory that never grows: "
        f"{_per_cent(first)} right in {first.seconds[-1]:.2f} s and {first.bytes[-1] / 1024:.0f} KB"
    )
    data = f"{rows:,} handwritten digits, each predicted before it is learned; upside down from row {change} on"
    figure.text(0.012, 0.938, claim, fontsize=1.2 * SIZE, fontweight="bold")
    figure.text(0.012, 0.885, data, color="0.25")


def _examples(figure: "Figure", X: Array, change: int) -> None:
    """The last images before the change and the first after it, above the row at which it is."""
    left, bottom, width, height = ACCURACY
    image = width / (2 * EXAMPLES)
    middle = left + width * change / len(X)
    tall = image * WIDTH / HEIGHT
    axes = figure.add_axes((middle - EXAMPLES * image, bottom + height + 0.065, 2 * EXAMPLES * image, tall))
    shown = np.pad(X[change - EXAMPLES : change + EXAMPLES].reshape(-1, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)))
    axes.imshow(np.hstack(list(shown)), cmap="gray_r", aspect="auto", interpolation="nearest")
    axes.axvline(EXAMPLES * (SIDE + 2) - 0.5, color="0.4", linewidth=1, linestyle=(0, (2, 2)))
    axes.set_axis_off()


def _panel(
    figure: "Figure",
    place: tuple[float, float, float, float],
    title: str,
    rows: list[list[int]],
    curves: Mapping[str, tuple[Array, str]],
    limits: tuple[float, float | None],
) -> "Axes":
    """Curves over one pair of axes, each with its name and value at its end."""
    axes = figure.add_axes(place)
    for k, (x, (y, _), (colour, stroke, wide)) in enumerate(zip(rows, curves.values(), STYLES, strict=False)):
        axes.plot(x, y, color=colour, linestyle=stroke, linewidth=wide, zorder=4 - k, clip_on=y.min() < limits[0])
    tidy(axes, "", "rows learned", "")
    axes.set_title(title, loc="left", fontsize=SIZE)
    axes.set_xlim(0, max(each[-1] for each in rows))
    axes.set_ylim(*limits)
    axes.locator_params(axis="x", nbins=max(2, round(12 * place[2])))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    _name_curves(axes, curves)
    return axes


def _name_curves(axes: "Axes", curves: Mapping[str, tuple[Array, str]]) -> None:
    """Write name and value of each curve beside its end, as near to it as the others allow."""
    bottom, top = axes.get_ylim()
    points = axes.get_position().height * HEIGHT * 72
    lines = 1 + next(iter(curves.values()))[1].count("\n")
    apart = (lines * LINE + 0.1) * SIZE * (top - bottom) / points
    ends = [
        (float(y[-1]), name + value, colour)
        for (name, (y, value)), (colour, _, _) in zip(curves.items(), STYLES, strict=False)
    ]
    height = np.inf
    for place, (end, text, colour) in enumerate(sorted(ends, reverse=True)):
        below = len(ends) - 1 - place  # so many have to fit below
        height = max(min(end, height - apart), bottom + below * apart)
        axes.annotate(
            text,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )
