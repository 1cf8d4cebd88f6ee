"""The scores of the baselines beside that of a learner: of the same rows, with the same metrics and the same delay.

A score says little by itself: on a stream in which equal labels follow each other the last label alone may be right
more often than a model. With a delay of k labels the baselines know as much as the learner: the scores of row t are
those that row t - k had when it was learned.

Labels are collected and counted thousands at a time, whatever the blocks are: sums run in the order of the rows, so no
bit depends on that, and single rows cost little.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.errors import Diagnostic, Remedy
from nolana.evaluate.baselines import BASELINES, Baseline
from nolana.evaluate.one_by_one import Model
from nolana.metrics import SMALLER_IS_BETTER, Metric, Predictions, score_text
from nolana.metrics.label_index import Labels, State
from nolana.metrics.registry import METRICS

__all__ = ["BaselineScores", "advice"]

Array = NDArray[np.float64]
ROWS_AT_ONCE = 4096


class BaselineScores:
    """Two baselines and their metrics.

    Parameters
    ----------
    task : "classification" or "regression".
    names : of the metrics of the learner.
    delay : rows until a label arrives.
    """

    def __init__(self, task: str, names: list[str], delay: int) -> None:
        self._task, self._delay = task, delay
        self._learners: list[Baseline] = [kind() for kind in BASELINES[task]]
        self._metrics: list[list[Metric]] = [[METRICS[name]() for name in names] for _ in self._learners]
        self._collected: list[tuple[Labels, Array]] = []  # labels and weights that are not counted yet
        self._count = 0  # of them
        self._waiting: tuple[Labels, Array] | None = None  # counted, but not learned: the last `delay` rows

    def add(self, truth: Labels, weight: Array | None) -> None:
        """Rows of the stream, in order: labels (n,) or targets (n,) or (n, t), and weights (n,) or None."""
        own = np.ones(len(truth)) if weight is None else weight.copy()
        self._collected.append((truth.copy(), own))
        self._count += len(truth)
        if self._count >= ROWS_AT_ONCE:
            self._score()

    def _score(self) -> None:
        """Count what was collected."""
        if not self._count:
            return
        truth, weight = _joined(self._collected)
        self._collected, self._count = [], 0
        labels, weights = (truth, weight) if self._waiting is None else _joined([self._waiting, (truth, weight)])
        due = max(0, len(labels) - self._delay)
        late, late_weight = (labels[:due], weights[:due]) if self._delay else (truth, weight)
        for learner, metrics in zip(self._learners, self._metrics, strict=True):
            rows = _predictions(learner, truth, weight, late, late_weight)
            for metric in metrics:
                metric.update(rows)
        self._waiting = (labels[due:].copy(), weights[due:].copy()) if self._delay else None

    def values(self) -> dict[str, dict[str, float]]:
        """The metrics of each baseline, by its name."""
        self._score()
        pairs = zip(self._learners, self._metrics, strict=True)
        return {learner.label: {metric.name: metric.value() for metric in own} for learner, own in pairs}

    def state(self) -> State:
        """Everything, as plain data."""
        self._score()
        labels, weights = self._waiting or (np.zeros(0), np.zeros(0))
        return {
            "task": self._task,
            "metrics": [metric.name for metric in self._metrics[0]],
            "learners": [learner.state() for learner in self._learners],
            "values": [[metric.state() for metric in metrics] for metrics in self._metrics],
            "labels": labels.tolist() if labels.dtype.kind in "OU" else labels,
            "weights": weights,
        }

    @classmethod
    def of_state(cls, state: State, delay: int) -> "BaselineScores":
        """Continue from an exported state."""
        task, names = str(state["task"]), [str(name) for name in state["metrics"]]
        if task not in BASELINES or not set(names) <= METRICS.keys():
            raise ValueError(f"baselines: the task {task!r} or one of the metrics {', '.join(names)} is unknown")
        new = cls(task, names, delay)
        for learner, saved in zip(new._learners, state["learners"], strict=True):
            learner.restore(saved)
        for metrics, values in zip(new._metrics, state["values"], strict=True):
            for metric, saved in zip(metrics, values, strict=True):
                metric.restore(saved)
        labels, weights = np.array(state["labels"]), np.array(state["weights"], dtype=np.float64)
        if len(labels) > delay or weights.shape != (len(labels),):
            raise ValueError(f"baselines: expected up to {delay} labels, as many weights; got {labels.shape}")
        new._waiting = (labels, weights) if len(labels) else None
        return new


def _joined(parts: list[tuple[Labels, Array]]) -> tuple[Labels, Array]:
    labels, weights = zip(*parts, strict=True)
    return (labels[0], weights[0]) if len(parts) == 1 else (np.concatenate(labels), np.concatenate(weights))


def _predictions(learner: Model, truth: Labels, weight: Array, late: Labels, late_weight: Array) -> Predictions:
    """Of rows whose last ones are scored while the late ones are learned, and the others before."""
    classifies = hasattr(learner, "classes_")
    if classifies and late is not truth:
        learner.announce(truth)
    early = len(truth) - len(late)
    scores = learner.current(early) if early else None
    if len(late):
        learned = learner.learn_labels(late, late_weight)
        scores = learned if scores is None else np.concatenate([_wide(scores, learned), learned])
    assert scores is not None
    if classifies:
        return Predictions(truth, scores, learner.classes_, weight, learner.probabilities)
    return Predictions(truth, _wide(scores, truth), weight=weight)


def _wide(scores: Array, like: Labels) -> Array:
    """A column for each target; before its first row a baseline does not know that there are several."""
    return np.tile(scores[:, None], like.shape[1]) if scores.ndim < like.ndim else scores


def advice(
    metrics: dict[str, float], baselines: dict[str, dict[str, float]], delay: int, learner: object = None
) -> Diagnostic | None:
    """What to do if the last label or value is better than a learner, by its first metric; None if it is not.

    Examples
    --------
    >>> print(advice({"mae": 2.0}, {"mean": {"mae": 3.0}, "last value": {"mae": 1.5}}, 0))
    the last value alone has mae 1.5; if labels are known before the next row, lag=1 uses them
    >>> advice({"mae": 2.0}, {"mean": {"mae": 3.0}, "last value": {"mae": 2.5}}, 0)
    """
    last = next((last.label for _, last in BASELINES.values() if last.label in baselines), None)
    name = next((name for name in metrics if last is not None and name in baselines[last]), None)
    if last is None or name is None or getattr(learner, "lag", None) is not None:
        return None
    sign = -1 if name in SMALLER_IS_BETTER else 1
    if not sign * baselines[last][name] > sign * metrics[name]:
        return None
    if delay:
        problem = "the {last} with the same delay has {score}; {lag} uses it"
    else:
        problem = "the {last} alone has {score}; if labels are known before the next row, {lag} uses them"
    lag = Remedy("lag", delay + 1, "uses the last labels")
    return Diagnostic(problem, facts={"last": last, "score": score_text(name, baselines[last][name]), "lag": lag})
