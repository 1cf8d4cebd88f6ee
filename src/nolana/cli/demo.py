"""``nolana demo``: handwritten digits that are turned upside down half-way, learned by nolana's default learner, and by
what one uses without it, a linear model that learns online and a retrained gradient boosting; a table and a picture.

The rows are real and in the order of their file. The change is artificial: from row 900 on each image is rotated by 180
degrees, as if the scanner had been turned.
"""

import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from nolana import StreamClassifier, plot
from nolana.cli.demo_picture import Curves, draw
from nolana.cli.options import blame_option
from nolana.cli.summary import progress_bar
from nolana.evaluate import Point, progressive
from nolana.evaluate import Progress as Seen
from nolana.metrics.label_index import Labels

__all__ = ["BLOCK", "CHANGE", "METHODS", "RETRAIN", "LinearModel", "RetrainedBoosting", "execute", "turned_digits"]

Array = NDArray[np.float64]

LARGEST_PIXEL = 16.0
# SGDClassifier.partial_fit takes milliseconds a call, however few the rows. Row by row it is 0.3 points more accurate
# on the rows of the demo and 20 times slower.
BLOCK = 20
# The best of 108 settings on the rows of the demo (three losses, six step sizes, three penalties, averaged or not),
# eight points above the defaults.
LINEAR = {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.3, "alpha": 1e-3, "shuffle": False}

RETRAIN = 100  # rows from one training to the next
# The best of 36 settings with ten trees for each class on the rows of the demo (three learning rates, three sizes of
# leaves, two of trees, two penalties). The defaults, with 100 trees for each class, are 2.4 points more accurate and 16
# times slower: too slow for a demo. A pixel has 17 values: fewer bins save time and change no split.
BOOSTING = {"max_iter": 10, "learning_rate": 0.5, "max_leaf_nodes": 15, "min_samples_leaf": 30, "max_bins": 17}
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


# Methods


class Learner(Protocol):
    """What the demo needs of a method."""

    @property
    def memory_bytes_(self) -> int:
        """Bytes of all that it holds."""
        ...

    def learn(self, X: Array, y: Labels) -> Array:
        """Scores of the rows before they were learned."""
        ...


class LinearModel:
    """SGDClassifier: returns the scores of a block, then learns it.

    Parameters
    ----------
    classes : the labels, sorted.
    """

    def __init__(self, classes: Labels) -> None:
        self.classes_ = classes
        self._model = SGDClassifier(**LINEAR)

    def learn(self, X: Array, y: Labels) -> Array:
        """Scores (n, classes) in the order of ``classes_``; -inf in the first block."""
        if hasattr(self._model, "coef_"):
            scores: Array = self._model.decision_function(X)
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
        else:
            scores = np.full((len(X), len(self.classes_)), -np.inf)
        self._model.partial_fit(X, y, classes=self.classes_)
        return scores

    @property
    def memory_bytes_(self) -> int:
        """Bytes of the pickled model."""
        return len(pickle.dumps(self._model))


class RetrainedBoosting:
    """HistGradientBoostingClassifier: keeps all rows, and is trained on them anew after every `RETRAIN` rows.

    Between two trainings it predicts with the last model.

    Parameters
    ----------
    classes : the labels, sorted.
    """

    def __init__(self, classes: Labels) -> None:
        self.classes_ = classes
        self._rows: list[tuple[Array, Labels]] = []
        self._count = 0
        self._model: HistGradientBoostingClassifier | None = None
        self._model_bytes: int | None = 0  # None: not counted since the last training

    def learn(self, X: Array, y: Labels) -> Array:
        """Scores (n, classes) in the order of ``classes_``; -inf before the first training, and of unknown classes."""
        scores = np.full((len(X), len(self.classes_)), -np.inf)
        if self._model is not None:
            scores[:, np.searchsorted(self.classes_, self._model.classes_)] = self._model.predict_proba(X)
        self._rows.append((X, y))
        due = (self._count + len(y)) // RETRAIN > self._count // RETRAIN
        self._count += len(y)
        if due:
            features, labels = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
            self._model, self._model_bytes = HistGradientBoostingClassifier(**BOOSTING).fit(features, labels), None
        return scores

    @property
    def memory_bytes_(self) -> int:
        """Bytes of all rows as they came, and of the pickled model."""
        if self._model_bytes is None:
            self._model_bytes = len(pickle.dumps(self._model))
        return self._model_bytes + sum(int(X.nbytes + y.nbytes) for X, y in self._rows)


@dataclass(frozen=True)
class Method:
    """A method by its name in the table, and by a short one in the picture."""

    name: str
    short: str
    make: Callable[[Labels, int], Learner]  # of the sorted labels and a seed


NOLANA = Method("nolana: StreamClassifier()", "nolana", lambda _, seed: StreamClassifier(random_state=seed))
METHODS = (
    NOLANA,
    Method("linear model, online", "linear", lambda classes, _: LinearModel(classes)),
    Method("gradient boosting, retrained", "boosting", lambda classes, _: RetrainedBoosting(classes)),
)


# The demo


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


def turned_digits() -> tuple[Array, Labels]:
    """The digits in the order of their file, upside down from row `CHANGE` on: pixels (n, 64), labels (n,)."""
    pixels, labels = load_digits(return_X_y=True)
    turned = np.arange(len(labels)) >= CHANGE
    return np.where(turned[:, None], pixels[:, ::-1], pixels) / LARGEST_PIXEL, labels


def _run(
    method: Method, X: Array, y: Labels, seed: int, bars: Progress, task: TaskID
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
