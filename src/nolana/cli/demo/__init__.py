"""``nolana demo``: handwritten digits that are turned upside down half-way, learned by nolana's default learner, by a
linear model and by a retrained gradient boosting; a table and a picture.

The rows are real and in the order of their file. The change is artificial: from row 900 on each image is rotated by 180
degrees, as if the scanner had been turned.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from nolana import plot
from nolana.cli.demo.methods import BLOCK, METHODS, NOLANA, RETRAIN, Method
from nolana.cli.demo.picture import Curves, draw
from nolana.cli.digits import digits
from nolana.cli.options import blame_option
from nolana.cli.summary import progress_bar
from nolana.evaluate import Point, progressive
from nolana.evaluate import Progress as Seen

__all__ = ["CHANGE", "execute", "turned_digits"]

Array = NDArray[np.float64]

CHANGE = 900  # rows before the change: about half
WINDOW = 100  # rows of a point in the picture; CHANGE is a multiple
NOTES = {
    "rows": "scikit-learn's digits, real, in the order of their file. The change is artificial: "
    f"from row {CHANGE} on each image is rotated by 180 degrees.",
    "settings": "nolana has its defaults, the others the best of 108 and of 36 settings for these very rows.",
    "linear": f"SGDClassifier, {BLOCK} rows at a time. Row by row it is 0.3 points better and 20 times slower.",
    "boosting": f"HistGradientBoostingClassifier, retrained on all rows so far after every {RETRAIN} rows; the first "
    f"{RETRAIN} count as errors. It has 10 trees for each class; with the default, 100, it is 2.4 points better and "
    "16 times slower.",
    "seconds": "to predict and to learn, on one thread.",
    "bytes": "held at the end. nolana's do not grow. Boosting holds its pickled model and every row, as float64.",
}


@dataclass(frozen=True)
class Score:
    """One method on the digits."""

    learner: str
    accuracy: float
    after_change: float  # accuracy of the rows after the change
    seconds: float  # spent in the method
    bytes: int


def execute(out: Path, *, seed: int, as_json: bool) -> None:
    """Run the methods, print the table and write the picture to `out`."""
    with blame_option("--out"):
        plot.check(out)
    X, y = turned_digits()
    scores: list[Score] = []
    curves: dict[str, Curves] = {}
    drift: list[int] = []
    # One thread: to share out matrices this small is more expensive than the work, on a busy machine by far.
    with threadpool_limits(limits=1), _bars() as bars:
        tasks = {method.name: bars.add_task(method.name, total=len(y), accuracy=0.0, seconds=0.0) for method in METHODS}
        for method in METHODS:
            score, curves[method.short], alarms = _run(method, X, y, seed, bars, tasks[method.name])
            scores.append(score)
            drift += alarms
    if as_json:
        typer.echo(json.dumps([asdict(score) for score in scores], indent=2))
    else:
        _print(scores, drift, len(y))
    with blame_option("--out"):
        draw(X, curves, CHANGE).savefig(out)
    if not as_json:
        Console().print(f"\nThe picture is in {out}", soft_wrap=True, markup=False, highlight=False)


def turned_digits() -> tuple[Array, NDArray[Any]]:
    """The digits in the order of their file, upside down from row `CHANGE` on: pixels (n, 64), labels (n,)."""
    pixels, labels = digits()
    turned = np.arange(len(labels)) >= CHANGE
    return np.where(turned[:, None], pixels[:, ::-1], pixels), labels


def _run(
    method: Method, X: Array, y: NDArray[Any], seed: int, bars: Progress, task: Any
) -> tuple[Score, Curves, list[int]]:
    """One method on all rows: its score, its curves, and the rows at which it reported drift."""
    learner = method.make(np.unique(y), seed)
    costs: dict[int, tuple[float, int]] = {}  # rows: seconds, bytes

    def after_block(seen: Seen) -> None:
        costs[seen.rows] = seen.seconds, int(learner.memory_bytes_)
        bars.update(task, completed=seen.rows, accuracy=100 * seen.metrics["accuracy"], seconds=seen.seconds)

    blocks = ((X[start : start + BLOCK], y[start : start + BLOCK]) for start in range(0, len(y), BLOCK))
    result = progressive(learner, blocks, metrics=["accuracy"], window=WINDOW, callback=after_block)
    points = result.history
    seconds, held = (list(each) for each in zip(*(costs[point.rows] for point in points), strict=True))
    accuracy = result.metrics["accuracy"]
    score = Score(method.name, accuracy, _accuracy_after(points, CHANGE), seconds[-1], held[-1])
    recent = [point.window["accuracy"] for point in points]
    curves = Curves(accuracy, [point.rows for point in points], recent, seconds, held)
    return score, curves, list(getattr(learner, "drift_", ()))


def _accuracy_after(points: list[Point], row: int) -> float:
    """Of the rows from `row` on."""
    total, before = points[-1], next(point for point in points if point.rows == row)
    hits = total.overall["accuracy"] * total.rows - before.overall["accuracy"] * before.rows
    return hits / (total.rows - before.rows)


def _bars() -> Progress:
    """A progress bar for each method."""
    return progress_bar(
        TextColumn(f"{{task.description:<{max(len(method.name) for method in METHODS)}}}"),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TextColumn("{task.fields[accuracy]:5.1f} % right {task.fields[seconds]:5.2f} s"),
        transient=True,  # the table says the same
    )


def _print(scores: list[Score], drift: list[int], rows: int) -> None:
    grid = Table(
        title=f"{rows:,} handwritten digits, each predicted before it is learned;\n"
        f"from row {CHANGE} on they are upside down",
        title_justify="left",
        title_style="bold",
    )
    grid.add_column("")
    for heading in ("accuracy", "after the\nchange", "seconds", "bytes"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for score in scores:
        grid.add_row(
            score.learner,
            f"{100 * score.accuracy:.1f} %",
            f"{100 * score.after_change:.1f} %",
            f"{score.seconds:.2f}",
            f"{score.bytes:,}",
            style="bold" if score.learner == NOLANA.name else "",
        )
    notes = Table.grid(padding=(0, 2))
    for about, note in NOTES.items():
        notes.add_row(about, note)
    if drift:
        notes.add_row("drift", f"reported by nolana at row {', '.join(map(str, drift))}.")
    console = Console()
    console.print(grid)
    console.print(notes)
