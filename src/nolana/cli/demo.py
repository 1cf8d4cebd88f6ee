"""``nolana demo``: four learners, one pass each over scikit-learn's digits, a table and a picture."""

import json
from collections.abc import Callable, Iterator
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

from nolana import NolanaClassifier, plot
from nolana._threads import one_blas_thread
from nolana.cli.digits import digits
from nolana.cli.options import blame_option
from nolana.cli.progress import progress_bar
from nolana.evaluate import Point, progressive
from nolana.evaluate import Progress as Seen

Array = NDArray[np.float64]

# SGDClassifier.partial_fit takes milliseconds a call, however few the rows; row by row it would be 0.1 to 0.8 points
# more accurate and 20 times slower.
BLOCK = 20
NAME_WIDTH = 25

# Newton runs on its defaults. The settings of the next two were chosen on this very stream, over three shuffles.
# threshold: what "median" comes to on digits, so that both NOLANAs move alike; learning_rate: 0.5 to 4 differ by
# less than a point; refit_penalty: stage two shrinks the model at every move, and 1e-2 costs two points.
PAPER = {"threshold": 3.0, "learning_rate": 1.0, "refit_penalty": 1e-4}
# Averaged steps of constant length: the best of fifty settings for one pass, eight points above the defaults.
LINEAR = {"loss": "log_loss", "learning_rate": "constant", "eta0": 1.0, "average": True, "shuffle": False}

TITLE = "Accuracy on a stream of handwritten digits, each predicted before it was learned"
NOTES = (
    f"The linear model gets its labels {BLOCK} rows at a time, the others row by row.",
    "Nothing drifts in shuffled digits, so landmarks that move gain little here.",
    "Times are of learning alone, on one thread.",
)


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
    """A row of the table."""

    learner: str
    accuracy: float
    microseconds_per_row: float
    bytes: int


def execute(out: Path, *, landmarks: int, seed: int, as_json: bool) -> None:
    """Run the four learners, print the table and write the picture to `out`."""
    with blame_option("--out"):
        plot.check(out)
    X, y = _digits(seed)
    learners: dict[str, Learner] = {
        "NOLANA as in the paper": NolanaClassifier.paper(landmarks, **PAPER),
        "NOLANA with Newton": NolanaClassifier(n_landmarks=landmarks),
        "landmarks that never move": NolanaClassifier(n_landmarks=landmarks, landmarks="fixed"),
        "a linear model": LinearModel(np.unique(y)),
    }
    table: list[Score] = []
    curves: dict[str, list[Point]] = {}
    # One thread: to share out matrices this small is more expensive than the work, on a busy machine by far.
    with one_blas_thread(), _bars() as bars:
        for name, learner in learners.items():
            result = progressive(learner, _blocks(X, y), metrics=["accuracy"], callback=_bar(bars, name, len(y)))
            accuracy = result.metrics["accuracy"]
            table.append(Score(name, accuracy, result.microseconds_per_row, learner.memory_bytes_))
            curves[name] = result.history
    with blame_option("--out"):
        plot.running_scores(curves, "accuracy", out, TITLE)
    if as_json:
        typer.echo(json.dumps([asdict(score) for score in table], indent=2))
    else:
        _print(table, f"{len(y)} handwritten digits, one pass, {landmarks} landmarks, seed {seed}", out)


def _digits(seed: int) -> tuple[Array, NDArray[Any]]:
    """The digits in the order of the seed: pixels from 0 to 1 (n, 64), labels (n,)."""
    pixels, labels = digits()
    order = np.random.default_rng(seed).permutation(len(labels))
    return pixels[order], labels[order]


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


def _print(table: list[Score], title: str, out: Path) -> None:
    grid = Table(title=title, title_justify="left", title_style="bold")
    grid.add_column("learner", no_wrap=True)
    for heading in ("accuracy %", "microseconds per row", "bytes"):
        grid.add_column(heading, justify="right")
    for score in table:
        grid.add_row(
            score.learner, f"{100 * score.accuracy:.1f}", f"{score.microseconds_per_row:.0f}", f"{score.bytes:,}"
        )
    console = Console()
    console.print()
    console.print(grid)
    for note in NOTES:
        console.print(note, highlight=False)
    console.print(f"\nAccuracy against rows seen is drawn in {out}", soft_wrap=True, markup=False, highlight=False)
