"""An evaluation in progress: a learner, blocks and running metrics, which can be saved and resumed."""

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.errors import Diagnostic, OptionError, Remedy, Setting
from nolana.evaluate.baseline_scores import BaselineScores, advice
from nolana.evaluate.delay import DelayedLabels, Rows, WithProbabilities, learn_scores
from nolana.evaluate.history import History, Point
from nolana.evaluate.one_by_one import Block, Features, Model, RowModel, Targets, as_learner
from nolana.metrics import Metric, Predictions, resolve, score_text
from nolana.metrics.label_index import State, flat
from nolana.metrics.registry import METRICS

__all__ = ["Evaluation", "Learner", "Progress", "Result"]

Array = NDArray[np.float64]


class Learner(Protocol):
    """The protocol of a learner for progressive validation."""

    def learn(self, X: Features, y: Targets) -> Array:
        """Scores of the rows before they are learned: (n,), (n, targets), or (n, classes) if it has ``classes_``."""
        ...


@dataclass(frozen=True)
class Progress:
    """The argument of a callback after each block."""

    rows: int  # whose labels have arrived
    metrics: dict[str, float]
    seconds: float  # spent in the learner
    learner: object = None


@dataclass
class Result:
    """The outcome of a run; ``print`` shows the score, that of the baselines, and what to do if one is better."""

    rows: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    history: list[Point] = field(default_factory=list)
    seconds: float = 0.0  # spent in the learner
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)  # metrics by name of the baseline
    advice: Diagnostic | None = None  # if the last label or value alone is better than the learner

    def __str__(self) -> str:
        named = {f"{self.rows:,} rows": self.metrics} | self.baselines
        lines = [f"{name}: {', '.join(score_text(*each) for each in own.items())}" for name, own in named.items()]
        return "\n".join(lines if self.advice is None else [*lines, str(self.advice)])

    @property
    def microseconds_per_row(self) -> float:
        """Spent in the learner."""
        return 1e6 * self.seconds / self.rows if self.rows else 0.0


class Evaluation:
    """Progressive validation that can be stopped and resumed; the parameters are those of `progressive`.

    `state` and `restore` hold the sums of the metrics, the window, the history, the baselines and the rows that wait
    for labels, as plain data (dicts and lists of numbers, text, None and numeric arrays). With the saved learner, a
    resumed run gives the same results as one that never stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.evaluate import Evaluation
    >>> from nolana.evaluate.baselines import MajorityClass
    >>> X, y, learner = np.zeros((6, 1)), np.array(list("abbabb")), MajorityClass()
    >>> first = Evaluation(metrics=["accuracy"])
    >>> first.run(learner, [(X[:3], y[:3])]).metrics
    {'accuracy': 0.0}
    >>> resumed = Evaluation(metrics=["accuracy"])
    >>> resumed.restore(first.state())
    >>> resumed.run(learner, [(X[3:], y[3:])]).rows, resumed.metrics["accuracy"]
    (6, 0.16666666666666666)
    """

    def __init__(
        self, *, metrics: Sequence[str | Metric] | None = None, window: int | None = None, delay: int = 0
    ) -> None:
        if window is not None and window < 1:
            raise ValueError(
                f"window={window!r} is not a number of rows; choose 1 or more, or None for one point per block"
            )
        if delay < 0:
            raise ValueError(f"delay={delay!r} is not a number of rows; choose 0 if labels arrive with their rows")
        self._patterns = None if metrics is None else resolve(metrics)
        self.window = window  # rows between two points of the history; None: one point per block
        self.delay = delay  # rows until a label arrives
        self._delayed = DelayedLabels(delay)
        self._history = History()
        self._baselines: BaselineScores | None = None
        self._overall: list[Metric] = []
        self._recent: list[Metric] = []  # over the current window, or the last one if it has ended
        self._since = 0  # rows in it
        self._before: dict[str, float] = {}  # the metrics of the last window that ended
        self._ended = True
        self.rows = 0
        self.seconds = 0.0

    def run(
        self, learner: Learner | RowModel, blocks: Iterable[Block], callback: Callable[[Progress], None] | None = None
    ) -> Result:
        """Predict, then learn, block by block; after the last block all missing labels arrive.

        A callback may call `state` between two blocks.
        """
        own: Learner = as_learner(learner)
        for block in blocks:
            self.step(own, block)
            if callback is not None:
                callback(Progress(self.rows, self.metrics, self.seconds, learner))
        if len(self._delayed):
            begin = time.perf_counter()
            rest = self._delayed.drain(_scoring(self._with_probabilities(own), self.delay))
            self.seconds += time.perf_counter() - begin
            self._count(own, rest)
            if callback is not None:
                callback(Progress(self.rows, self.metrics, self.seconds, learner))
        metrics, baselines = self.metrics, self.baselines
        better = advice(metrics, baselines, self.delay, learner)
        return Result(self.rows, metrics, self.history, self.seconds, baselines, better)

    def step(self, learner: Learner, block: Block) -> None:
        """Predict, then learn one block; a block that the learner refuses changes nothing."""
        check_delay(self.delay, learner)
        self._count(learner, self._learn(self._with_probabilities(learner), *_unpacked(block)))

    def _with_probabilities(self, learner: Model) -> Model:
        """The learner that returns probabilities too, if a metric needs them and the learner can."""
        needed = any(getattr(metric, "needs_probabilities", False) for metric in self._patterns or ())
        needed = needed and hasattr(learner, "learn_proba")
        return WithProbabilities(learner) if needed else learner

    def _learn(self, learner: Model, x: Features, y: Targets, weight: Array | None) -> Rows:
        """The rows that are counted after a block, in the order of their arrival."""
        truth = flat(y)
        if self.delay == 0 and hasattr(learner, "convert"):
            x = learner.convert(x, y)
        begin = time.perf_counter()
        if self.delay == 0:
            counted = Rows(truth, weight, learn_scores(learner, x, y, weight))
        else:
            records = isinstance(x, list) and bool(x) and isinstance(x[0], Mapping)
            x = x if hasattr(x, "shape") or records else np.asarray(x)
            counted = self._delayed.arrive(_scoring(learner, self.delay), x, truth, weight)
        self.seconds += time.perf_counter() - begin
        return counted

    def _count(self, learner: Model, counted: Rows) -> None:
        """Metrics of some rows, window by window."""
        if not len(counted):
            return
        rows = _predictions(learner, counted)
        if self._patterns is None:
            self._patterns = resolve(["rmse" if rows.classes is None else "accuracy"])
        if not self.rows:
            self._overall = copy.deepcopy(self._patterns)
            self._baselines = _baselines(rows, self._patterns, self.delay)
        start = 0
        while start < len(rows):
            if self._ended:
                self._recent, self._since, self._ended = copy.deepcopy(self._patterns), 0, False
            stop = len(rows) if self.window is None else min(len(rows), start + self.window - self._since)
            part = rows.part(start, stop)
            for metric in (*self._overall, *self._recent):
                metric.update(part)
            self.rows += stop - start
            self._since += stop - start
            start = stop
            if self._since == self.window or (self.window is None and start == len(rows)):
                self._ended, self._before = True, _values(self._recent)
                self._history.offer(self._point)
        if self._baselines is not None:
            self._baselines.add(rows.truth, rows.weight)

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of all rows so far."""
        return _values(self._overall)

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """The metrics of the majority class and the last label, or the mean and the last value, on the same rows.

        Empty before the first row, and if the state comes from a file of nolana 0.2.
        """
        return {} if self._baselines is None else self._baselines.values()

    def advice(self, learner: object) -> Diagnostic | None:
        """What to do if the last label or value alone is better than the learner; None if it is not."""
        return advice(self.metrics, self.baselines, self.delay, learner)

    @property
    def recent(self) -> dict[str, float]:
        """Metrics of the last window, or of the one before while the last has less than half of its rows."""
        return dict(self._before) if self._uses_window_before else _values(self._recent)

    @property
    def recent_rows(self) -> int:
        """The number of rows that `recent` covers."""
        return self.window if self.window is not None and self._uses_window_before else self._since

    @property
    def _uses_window_before(self) -> bool:
        return self.window is not None and self._since < self.window / 2 and bool(self._before)

    @property
    def history(self) -> list[Point]:
        """The stored points, and always one after the last row."""
        points = self._history.points
        return points if not self.rows or (points and points[-1].rows == self.rows) else [*points, self._point()]

    def _point(self) -> Point:
        return Point(self.rows, _values(self._overall), _values(self._recent))

    @property
    def waiting_labels(self) -> list[object]:
        """The labels that have not arrived yet, because of the delay; the learner does not know them."""
        return self._delayed.labels

    # State

    def state(self) -> State:
        """Everything that was counted and all rows that wait, as plain data."""
        names = [metric.name for metric in self._overall]
        return {
            "window": self.window,
            "delay": self.delay,
            "metrics": names,
            "rows": self.rows,
            "seconds": self.seconds,
            "since": self._since,
            "ended": self._ended,
            "overall": [metric.state() for metric in self._overall],
            "recent": [metric.state() for metric in self._recent],
            "before": [self._before[name] for name in names] if self._before else None,
            "history": self._history.state(names),
            "baselines": None if self._baselines is None else self._baselines.state(),
            "late": self._delayed.state(),
        }

    def restore(self, state: State) -> None:
        """Continue from a state made with the same metrics, window and delay; an invalid state changes nothing."""
        try:
            restored = self._restored(state)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not the state of an evaluation: {type(error).__name__} {error}") from error
        self.__dict__.update(restored.__dict__)

    def _restored(self, state: State) -> "Evaluation":
        names = [str(name) for name in state["metrics"]]
        rows = int(state["rows"])
        mine = names if self._patterns is None else [metric.name for metric in self._patterns]
        for what, theirs, here in (
            ("window", state["window"], self.window),
            ("delay", state["delay"], self.delay),
            ("metrics", names, mine if rows else []),
        ):
            if theirs != here:
                raise ValueError(f"the state is of an evaluation with {what}={theirs!r}, this one has {what}={here!r}")
        patterns = self._patterns if self._patterns is not None or not rows else resolve(names)
        new = Evaluation(metrics=patterns, window=self.window, delay=self.delay)
        new.rows, new.seconds, new._since, new._ended = rows, float(state["seconds"]), int(state["since"]), True
        if rows and patterns is not None:
            new._overall, new._recent = copy.deepcopy(patterns), copy.deepcopy(patterns)
            for metrics, saved in ((new._overall, state["overall"]), (new._recent, state["recent"])):
                if len(saved) != len(names):
                    raise ValueError(f"the state has {len(saved)} metrics, expected {len(names)}: {', '.join(names)}")
                for metric, values in zip(metrics, saved, strict=True):
                    metric.restore(values)
            new._ended = bool(state["ended"])
            if state["before"] is not None:
                new._before = {name: float(value) for name, value in zip(names, state["before"], strict=True)}
            if state.get("baselines") is not None:  # files of 0.2 have none
                new._baselines = BaselineScores.of_state(state["baselines"], self.delay)
        if rows < 0 or new._since < 0 or (self.window is not None and new._since > self.window):
            raise ValueError(f"the state has rows={rows} and since={new._since}, which is impossible")
        new._history.restore(state["history"], names)
        new._delayed.restore(state["late"])
        return new


def _unpacked(block: Block) -> tuple[Features, Targets, Array | None]:
    """X, y and the weights of a block; None if all rows have the same weight."""
    if hasattr(block, "X"):
        x, y, weight = block.X, block.y, getattr(block, "sample_weight", None)
    else:
        x, y, weight = (*block, None) if len(block) == 2 else block
    if y is None:
        raise ValueError("a block has no y; progressive validation needs labels. Name the target of the stream")
    return x, y, None if weight is None else np.asarray(weight, dtype=np.float64)


def delay_by_lag(lag: int | None, group: object) -> int:
    """The delay with which the last known label is that of `lag` rows before; that of a series is not known."""
    return 0 if lag is None or group is not None else max(0, lag - 1)


def check_delay(delay: int, learner: object) -> None:
    """OptionError if labels come later than this learner assumes; its lag may count rows of a series."""
    lag = getattr(learner, "lag", None)
    if isinstance(lag, int) and delay > lag and getattr(learner, "group", None) is None:
        what = "is longer than {lag}: the labels that the learner takes as known would not be there yet"
        remedy = Remedy("lag", delay + 1, "uses the last labels that are known")
        raise OptionError("delay", delay, what, facts={"lag": Setting("lag", lag)}, remedies=[remedy])


def _scoring(learner: Model, delay: int) -> Model:
    if not hasattr(learner, "scores"):
        raise ValueError(
            f"delay={delay} needs a learner with scores(X), the scores of rows without learning them; "
            f"{type(learner).__name__} has none. Add this method, or choose delay=0"
        )
    return learner


def _predictions(learner: Model, counted: Rows) -> Predictions:
    name, scores = type(learner).__name__, counted.scores
    if scores.values.ndim == 1 or (counted.y.ndim == 2 and not hasattr(learner, "classes_")):
        if scores.values.shape != counted.y.shape:
            raise ValueError(
                f"{name}.learn returned scores of shape {scores.values.shape} for targets of shape "
                f"{counted.y.shape}; expected a score for each target"
            )
        return Predictions(counted.y, scores.values, weight=counted.weight, learner=name)
    if not hasattr(learner, "classes_"):
        raise ValueError(
            f"{name}.learn returned scores of shape {scores.values.shape}, but it has no classes_ to name the columns"
        )
    classes = np.asarray(learner.classes_)  # among them those that were not known when these rows were scored
    convert, wide = getattr(learner, "probabilities", None), scores.by(classes)
    return Predictions(counted.y, wide.values, classes, counted.weight, convert, name, wide.probabilities)


def _baselines(rows: Predictions, metrics: list[Metric], delay: int) -> BaselineScores | None:
    """Of the metrics of nolana that do not rank rows, which are all alike to a baseline; None if none is left."""
    own = [metric.name for metric in metrics if type(metric) is METRICS.get(metric.name)]
    names = [name for name in own if not METRICS[name].ranks]
    if not names or (rows.classes is not None and rows.truth.ndim > 1):
        return None
    return BaselineScores("regression" if rows.classes is None else "classification", names, delay)


def _values(metrics: list[Metric]) -> dict[str, float]:
    return {metric.name: metric.value() for metric in metrics}
