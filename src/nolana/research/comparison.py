"""One measured pass of a learner over rows in memory, and the scores that comparisons and tuning use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana import evaluate
from nolana.evaluate import Point, Progress
from nolana.metrics import NAMES, SMALLER_IS_BETTER
from nolana.metrics.label_index import Labels
from nolana.research.tuning import Judge

__all__ = ["SIGNS", "Learner", "PassResult", "by_held_out", "by_progress", "one_pass", "score", "standardised"]

Array = NDArray[np.float64]

BLOCK = 1000
SIGNS = {name: -1.0 if name in SMALLER_IS_BETTER else 1.0 for name in NAMES}  # times the metric: larger is better


class Learner(evaluate.Learner, Protocol):
    """A learner whose memory is known."""

    @property
    def memory_bytes_(self) -> int: ...


class Predictor(Protocol):
    """An estimator that is trained, then predicts."""

    def partial_fit(self, X: Array, y: Labels) -> object: ...
    def predict(self, X: Array) -> Labels: ...


@dataclass(frozen=True)
class PassResult:
    """The result of one pass."""

    score: float  # prequential, of all rows
    held_out: float | None  # of the held-out rows, predicted before the first of them was learned; None without any
    history: list[Point]
    microseconds_per_row: float  # of learning
    bytes: int
    vectors: int | None  # landmarks or support vectors; None for a method without them
    moves: int | None  # of landmarks; None for a method without them


def standardised(X: Array) -> Array:
    """(x - mean)/standard deviation of every row, with the moments of the rows up to it."""
    count = np.arange(1.0, len(X) + 1)[:, None]
    shifted = X - X[:1]  # avoids cancellation in the moments of large numbers
    mean = np.cumsum(shifted, axis=0) / count
    variance = np.maximum(np.cumsum(shifted**2, axis=0) / count - mean**2, 0.0)
    varies = variance > 1e-12 * np.maximum(mean**2, 1e-300)
    return np.asarray(np.divide(shifted - mean, np.sqrt(variance), out=np.zeros_like(X), where=varies))


def score(metric: str, learner: Predictor, X: Array, y: Labels) -> float:
    """Accuracy or RMSE of a learner on rows, without learning them."""
    predicted = learner.predict(X)
    if metric == "accuracy":
        return float(np.mean(predicted == y))
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.mean((np.asarray(predicted, dtype=np.float64) - np.asarray(y, dtype=np.float64)) ** 2)))


def by_held_out(metric: str) -> Judge[Predictor]:
    """A judge that scores rows which were not learned."""

    def judge(learner: Predictor, X: Array, y: Labels, X_fold: Array, y_fold: Labels) -> float:
        learner.partial_fit(X, y)
        return SIGNS[metric] * score(metric, learner, X_fold, y_fold)

    return judge


def by_progress(metric: str) -> Judge[Learner]:
    """A judge that scores all rows, the fold last, each predicted before it is learned."""

    def judge(learner: Learner, X: Array, y: Labels, X_fold: Array, y_fold: Labels) -> float:
        result = one_pass(learner, np.concatenate([X, X_fold]), np.concatenate([y, y_fold]), metric=metric)
        return SIGNS[metric] * result.score

    return judge


def one_pass(
    learner: Any,
    X: Array,
    y: Labels,
    *,
    metric: str,
    points: int = 60,
    hold_out: float = 0.0,
    delay: int = 0,
    callback: Callable[[Progress], None] | None = None,
) -> PassResult:
    """Predict, then learn, every row once.

    Parameters
    ----------
    learner : has ``learn`` and ``memory_bytes_``, and ``predict`` if rows are held out.
    X, y : the rows, in the order of the pass.
    metric : a name of `nolana.metrics`; "accuracy" or "rmse" if rows are held out.
    points : number of points in the history.
    hold_out : share of the rows, the last ones, that are also scored by the model before the first of them is
        learned; then the pass continues with them.
    delay : rows until a label comes.
    callback : called after each block.
    """
    cut = len(y) - round(hold_out * len(y))
    held_out: float | None = None

    def after_block(progress: Progress) -> None:
        nonlocal held_out
        if progress.rows == cut < len(y):
            held_out = score(metric, learner, X[cut:], y[cut:])
        if callback is not None:
            callback(progress)

    window = max(1, len(y) // points)
    result = evaluate.progressive(
        learner, _blocks(X, y, cut), metrics=[metric], window=window, delay=delay, callback=after_block
    )
    return PassResult(
        score=result.metrics[metric],
        held_out=held_out,
        history=result.history,
        microseconds_per_row=result.microseconds_per_row,
        bytes=learner.memory_bytes_,
        vectors=_vectors(learner),
        moves=getattr(learner, "n_moves_", None),
    )


def _blocks(X: Array, y: Labels, cut: int) -> Iterator[tuple[Array, Labels]]:
    """Blocks, none of which crosses the cut."""
    for start, stop in ((0, cut), (cut, len(y))):
        for i in range(start, stop, BLOCK):
            rows = slice(i, min(i + BLOCK, stop))
            yield X[rows], y[rows]


def _vectors(learner: object) -> int | None:
    if hasattr(learner, "landmarks_"):
        return len(learner.landmarks_)
    return getattr(learner, "n_supports_", 0) or None
