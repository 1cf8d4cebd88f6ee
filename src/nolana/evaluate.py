"""Progressive validation: each row is predicted before it is learned, and that is the score.

The only predict-then-learn loop in the project. It knows protocols only: a learner has
``learn(X, y) -> scores``, and ``classes_`` if it classifies; blocks are pairs (X, y) or have ``.X`` and ``.y``.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.metrics import Metric, resolve

__all__ = ["Point", "Progress", "Result", "progressive"]


class Learner(Protocol):
    """What progressive validation asks of a learner."""

    def learn(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Scores of the rows before they were learned: (n,), or (n, classes) beside ``classes_``."""
        ...


@dataclass(frozen=True)
class Point:
    """Metrics after some rows: over the whole stream so far, and over the last window."""

    rows: int
    overall: dict[str, float]
    window: dict[str, float]


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each block."""

    rows: int
    metrics: dict[str, float]
    seconds: float  # spent in learn


@dataclass
class Result:
    """The outcome of a run."""

    rows: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    history: list[Point] = field(default_factory=list)
    seconds: float = 0.0  # spent in learn

    @property
    def microseconds_per_row(self) -> float:
        return 1e6 * self.seconds / self.rows if self.rows else 0.0


def progressive(
    learner: Learner,
    blocks: Iterable[Any],
    *,
    metrics: Sequence[str | Metric] | None = None,
    window: int | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> Result:
    """Predict, then learn, block by block.

    Parameters
    ----------
    learner : anything with ``learn(X, y) -> scores``.
    blocks : pairs (X, y), or objects with ``.X`` and ``.y``.
    metrics : names ("accuracy", "rmse", "mae") or objects; by default accuracy where the learner has
        ``classes_`` and rmse elsewhere.
    window : rows between two points of the history, each with the metrics of its own rows beside the overall
        ones; by default one point for each block (on an endless stream of small blocks give a window, or the
        history grows with them).
    callback : called after each block.

    A row for which no class was known yet counts as an error.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import NolanaClassifier
    >>> from nolana.evaluate import progressive
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (1000, 2)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> result = progressive(NolanaClassifier(n_landmarks=30), [(X[i:i+100], y[i:i+100]) for i in range(0, 1000, 100)])
    >>> result.rows, result.metrics["accuracy"] > 0.85
    (1000, True)
    """
    if window is not None and window < 1:
        raise ValueError(f"window={window!r} is not a number of rows")
    result = Result()
    meters: list[Metric] | None = None if metrics is None else resolve(metrics)
    overall: NDArray[np.float64] = np.zeros(0)
    recent: NDArray[np.float64] = np.zeros(0)
    since = 0
    for block in blocks:
        x, y = (block.X, block.y) if hasattr(block, "X") else block
        truth = np.asarray(y)
        if truth.ndim == 2 and truth.shape[1] == 1:
            truth = truth[:, 0]
        begin = time.perf_counter()
        scores = np.asarray(learner.learn(x, y))
        result.seconds += time.perf_counter() - begin
        predicted, known = _predictions(learner, scores)
        if meters is None:
            meters = resolve(["accuracy" if hasattr(learner, "classes_") else "rmse"])
        if result.rows == 0:
            overall, recent = np.zeros(len(meters)), np.zeros(len(meters))
        losses = np.array([np.where(known, m.losses(truth, predicted), 0.0) for m in meters]).reshape(len(meters), -1)
        start = 0
        while start < len(truth):
            stop = len(truth) if window is None else min(len(truth), start + window - since)
            part = losses[:, start:stop].sum(axis=1)
            overall, recent = overall + part, recent + part
            result.rows += stop - start
            since += stop - start
            start = stop
            if since == window or (window is None and start == len(truth)):
                result.history.append(_point(meters, result.rows, overall, recent, since))
                recent, since = np.zeros(len(meters)), 0
        result.metrics = _finish(meters, overall, result.rows)
        if callback is not None:
            callback(Progress(result.rows, result.metrics, result.seconds))
    if meters is not None and since:
        result.history.append(_point(meters, result.rows, overall, recent, since))
    return result


def _predictions(learner: Any, scores: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """What was predicted for each row, and whether anything could be."""
    if scores.ndim == 1:
        return scores, np.ones(len(scores), dtype=bool)  # a prediction that is not finite is an error like any other
    known: NDArray[np.bool_] = np.asarray(~np.isnan(scores).all(axis=1))
    best = np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)
    return np.asarray(learner.classes_)[best], known


def _finish(meters: list[Metric], sums: NDArray[np.float64], rows: int) -> dict[str, float]:
    return {m.name: m.finish(float(total) / max(1, rows)) for m, total in zip(meters, sums, strict=True)}


def _point(
    meters: list[Metric], rows: int, overall: NDArray[np.float64], recent: NDArray[np.float64], since: int
) -> Point:
    return Point(rows, _finish(meters, overall, rows), _finish(meters, recent, since))
