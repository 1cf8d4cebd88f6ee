"""What all plots share: colours, checks of the path, one figure class."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".pdf", ".png", ".svg")
# The colours of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
# Dashed curves are drawn on top, so that two equal curves are both visible; three strokes, so that colours can repeat.
STROKES = ("-", (0, (4, 3)), (0, (1.5, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def check(path: str | os.PathLike[str]) -> None:
    """Raise if no plot can be written to `path`; call it before any work is done."""
    figure_class()
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


def figure_class() -> "type[Figure]":
    """matplotlib's Figure; ImportError that names the extra if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as missing:
        raise ImportError(
            'plots need matplotlib, which is not installed: pip install "nolana[cli]"', name=missing.name
        ) from missing
    return Figure


def new_figure(path: str | os.PathLike[str] | None, width: float, height: float) -> "Figure":
    """An empty figure in inches; raises if it cannot be written to `path`."""
    if path is not None:
        check(path)
    return figure_class()(figsize=(width, height), dpi=150, layout="constrained")


def printable(text: str) -> str:
    """A text that Matplotlib can draw: the name of a file may have bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def tidy(axes: "Axes", title: str, x: str, y: str) -> None:
    """Title, labels, a light grid and two spines."""
    axes.set_title(printable(title), loc="left", fontsize=11)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def saved(figure: "Figure", path: str | os.PathLike[str] | None) -> "Figure":
    """The figure, written to `path` if there is one."""
    if path is not None:
        figure.savefig(path)
    return figure


def curve(k: int) -> dict[str, Any]:
    """How the k-th curve of a plot is drawn."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": STROKES[k % len(STROKES)],
        "zorder": 2 + k % len(STROKES),
    }
