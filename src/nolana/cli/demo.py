"""``nolana demo``: four learners on a stream that changes half-way and on digits, a table and a picture."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from sklearn.linear_model import SGDClassifier

from nolana import NolanaClassifier, StreamClassifier, plot
from nolana._threads import one_blas_thread
from nolana.cli.digits import digits
from nolana.cli.options import blame_option
from nolana.cli.progress import progress_bar
from nolana.evaluate import Point, progressive
from nolana.evaluate import Progress as Seen

Array = NDArray[np.float64]

# SGDClassifier.partial_fit takes milliseconds a call, however few the rows; row by row it would be 0.1 to 0.8 points
# more accurate on digits and 20 times slower.
BLOCK = 20
NAME_WIDTH = 25
CHANGING_ROWS, CHANGE = 6000, 3000
WINDOW = 300  # rows of a point in the picture

# The settings of the next two were chosen on these very streams. threshold: about the median distance of the landmarks;
# learning_rate: 0.5 to 4 differ by less than a point on digits; refit_penalty: stage two shrinks the model at every
# move, and 1e-2 costs two points.
PAPER: dict[str, Any] = {"learning_rate": 1.0, "refit_penalty": 1e-4}
# Averaged steps of constant length: the best of fifty settings for one pass over digits, eight points above the
# defaults.
LINEAR = {"loss": "log_loss", "learning_rate": "constant", "eta0": 1.0, "average": True, "shuffle": False}

DEFAULT, AS_IN_PAPER = "StreamClassifier()", "NOLANA as in the paper"
FIXED, LINEAR_MODEL = "landmarks that never move", "a linear model"
NOTES = (
    f"The stream that changes: the class is the sign of x1 x2; at row {CHANGE:,} the rows move and the classes swap.",
    f"The linear model gets its labels {BLOCK} rows at a time, the others row by row.",
    "Times are of learning alone, on one thread, over both streams.",
)


@dataclass(frozen=True)
class Stream:
    """Rows in their order, and the threshold of the paper's learner."""

    name: str
    X: Array
    y: NDArray[Any]
    threshold: float
    change: int | None  # the row at which the stream changes


class Learner(Protocol):
    """What the demo needs of a learner."""

    @property
    def memory_bytes_(self) -> int:
        """Bytes of its state."""
        ...

    def learn(self, X: Any, y: Any) -> Array:
        """Scores of the rows before they were learned."""
        ...


class LinearModel:
    """SGDClassifier, which returns the scores of a block before it learns the block."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._model = SGDClassifier(**LINEAR)

    def learn(self, X: Any, y: Any) -> Array:
        """Scores (n, classes) in the order of ``classes_``; NaN in the first block."""
        if hasattr(self._model, "coef_"):
            scores: Array = self._model.decision_function(X)
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
        else:
            scores = np.full((len(X), len(self.classes_)), np.nan)
        self._model.partial_fit(X, y, classes=self.classes_)
        return scores

    @property
    def memory_bytes_(self) -> int:
        """Bytes of the weights it predicts with."""
        return int(self._model.coef_.nbytes + self._model.intercept_.nbytes)


@dataclass(frozen=True)
class Score:
    """One learner on one stream."""

    learner: str
    stream: str
    accuracy: float
    after_change: float | None  # accuracy of the rows after the change
    microseconds_per_row: float
    bytes: int


def execute(out: Path, *, landmarks: int, seed: int, as_json: bool) -> None:
    """Run the four learners on both streams, print the table and write the picture to `out`."""
    with blame_option("--out"):
        plot.check(out)
    streams = [changing(seed), _digits(seed)]
    scores: list[Score] = []
    curves: dict[str, dict[str, list[Point]]] = {stream.name: {} for stream in streams}
    # One thread: to share out matrices this small is more expensive than the work, on a busy machine by far.
    with one_blas_thread(), _bars() as bars:
        for stream in streams:
            for name, learner in _learners(stream, landmarks, seed).items():
                show = _bar(bars, name, len(stream.y))
                blocks = _blocks(stream.X, stream.y)
                result = progressive(learner, blocks, metrics=["accuracy"], window=WINDOW, callback=show)
                time, points = result.microseconds_per_row, result.history
                after = None if stream.change is None else _accuracy_after(points, stream.change)
                scores.append(
                    Score(name, stream.name, result.metrics["accuracy"], after, time, int(learner.memory_bytes_))
                )
                curves[stream.name][name] = points
    with blame_option("--out"):
        plot.panels([_panel(stream, curves[stream.name]) for stream in streams], out, columns=2, width=13, height=4.6)
    if as_json:
        typer.echo(json.dumps([asdict(score) for score in scores], indent=2))
    else:
        _print(scores, streams, f"One pass, each row predicted before it was learned; {landmarks} landmarks", out)


def changing(seed: int) -> Stream:
    """y = sign of x1 x2 in four features; after row 3,000 every feature is 2.5 larger and the classes are swapped."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(CHANGING_ROWS, 4))
    late = np.arange(CHANGING_ROWS) >= CHANGE
    y = ((x[:, 0] * x[:, 1] > 0) ^ late).astype(np.int64)
    return Stream("a stream that changes", x + 2.5 * late[:, None], y, 0.5, CHANGE)


def _digits(seed: int) -> Stream:
    """The digits in the order of the seed: pixels from 0 to 1 (n, 64), labels (n,)."""
    pixels, labels = digits()
    order = np.random.default_rng(seed).permutation(len(labels))
    return Stream("digits", pixels[order], labels[order], 3.0, None)


def _learners(stream: Stream, landmarks: int, seed: int) -> dict[str, Learner]:
    return {
        DEFAULT: StreamClassifier(random_state=seed),
        AS_IN_PAPER: NolanaClassifier.paper(landmarks, threshold=stream.threshold, **PAPER),
        FIXED: NolanaClassifier(n_landmarks=landmarks, landmarks="fixed", scale=False, forgetting=1.0),
        LINEAR_MODEL: LinearModel(np.unique(stream.y)),
    }


def _accuracy_after(points: list[Point], row: int) -> float:
    """Of the rows from `row` on."""
    total, before = points[-1], next((point for point in points if point.rows == row), None)
    assert before is not None
    hits = total.overall["accuracy"] * total.rows - before.overall["accuracy"] * before.rows
    return hits / (total.rows - before.rows)


def _panel(stream: Stream, curves: Mapping[str, list[Point]]) -> plot.Panel:
    """Accuracy over the last rows where the stream changes, over all rows where it does not."""
    recent = stream.change is not None
    drawn = {
        name: (
            [point.rows for point in points],
            [100 * (point.window if recent else point.overall)["accuracy"] for point in points],
        )
        for name, points in curves.items()
    }
    what = f"the last {WINDOW} rows" if recent else "all rows so far"
    return plot.Panel(stream.name, drawn, "rows learned", f"accuracy of {what} (%)", mark=stream.change)


def _blocks(X: Array, y: NDArray[Any]) -> Iterator[tuple[Array, NDArray[Any]]]:
    for start in range(0, len(y), BLOCK):
        yield X[start : start + BLOCK], y[start : start + BLOCK]


def _bars() -> Progress:
    """A progress bar for each learner."""
    return progress_bar(
        TextColumn(f"{{task.description:<{NAME_WIDTH}}}"),
        BarColumn(bar_width=22),
        MofNCompleteColumn(),
        TextColumn("rows, {task.fields[accuracy]:5.1f} % right"),
    )


def _bar(bars: Progress, name: str, rows: int) -> Callable[[Seen], None]:
    """A bar for one learner, as a callback of progressive validation."""
    task = bars.add_task(name, total=rows, accuracy=0.0)
    return lambda seen: bars.update(task, completed=seen.rows, accuracy=100 * seen.metrics["accuracy"])


def _print(scores: list[Score], streams: list[Stream], title: str, out: Path) -> None:
    grid = Table(title=title, title_justify="left", title_style="bold")
    grid.add_column("accuracy %", no_wrap=True)
    for heading in ("stream that changes", "after the change", "digits", "us per row", "bytes"):
        grid.add_column(heading, justify="right")
    for name in dict.fromkeys(score.learner for score in scores):
        first, second = (score for score in scores if score.learner == name)
        assert first.after_change is not None
        rows = [len(stream.y) for stream in streams]
        time = np.average([first.microseconds_per_row, second.microseconds_per_row], weights=rows)
        accuracies = [100 * each for each in (first.accuracy, first.after_change, second.accuracy)]
        grid.add_row(
            name, *(f"{each:.1f}" for each in accuracies), f"{time:,.0f}", f"{max(first.bytes, second.bytes):,}"
        )
    console = Console()
    console.print()
    console.print(grid)
    for note in NOTES:
        console.print(note, highlight=False)
    console.print(f"\nAccuracy against rows learned is drawn in {out}", soft_wrap=True, markup=False, highlight=False)
