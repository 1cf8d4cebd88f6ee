"""Baselines: learners that use no feature, which every other learner should beat.

They have the methods of every learner here: ``learn(X, y) -> scores``, the score of each row before it is learned, and
``scores(X)``, the current scores of rows. Blocks may be cut anywhere: all sums run in the order of the rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Sized

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.metrics.label_index import LabelIndex, Labels, flat

__all__ = ["LastLabel", "LastTarget", "MajorityClass", "RunningMean"]

Array = NDArray[np.float64]

# n rows, c classes known


class Baseline(ABC):
    """A learner that uses no feature."""

    @abstractmethod
    def learn(self, X: Sized, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The score of each row before it is learned."""

    @abstractmethod
    def scores(self, X: Sized) -> Array:
        """The current scores, the same for every row."""

    @property
    @abstractmethod
    def memory_bytes_(self) -> int:
        """Bytes of everything that is stored."""


class _Shares:
    """A classifier whose scores are probabilities, with NaN for an unknown class."""

    def __init__(self) -> None:
        self._index = LabelIndex()

    def probabilities(self, scores: Array) -> Array:
        """The probabilities of the classes, from scores: the scores themselves, 0 for an unknown class."""
        return np.nan_to_num(scores, nan=0.0)

    @property
    def classes_(self) -> Labels:
        """Labels in the order they appeared."""
        return self._index.labels


class MajorityClass(Baseline, _Shares):
    """Predicts the class with the most rows so far; among equals the one that appeared first.

    The scores are the shares of the classes, count_c / count, which are also its probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.research.baselines import MajorityClass
    >>> learner = MajorityClass()
    >>> learner.learn(np.zeros((4, 1)), ["a", "b", "b", "b"])[2:]
    array([[0.5       , 0.5       ],
           [0.33333333, 0.66666667]])
    >>> learner.classes_
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: Array = np.zeros(0)

    def learn(self, X: Sized, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The shares (n, c) before each row; NaN for a class that had no row yet."""
        labels, weights = _checked(X, y, sample_weight)
        columns = self._index.columns(labels)
        counts = np.zeros((len(labels) + 1, len(self._index)))
        counts[0, : len(self._counts)] = self._counts
        counts[1 + np.arange(len(labels)), columns] = weights
        np.add.accumulate(counts, axis=0, out=counts)
        self._counts = counts[-1].copy()
        return _shares(counts[:-1])

    def scores(self, X: Sized) -> Array:
        """The current shares (n, c), the same for every row."""
        return np.tile(_shares(self._counts[None]), (_rows(X), 1))

    @property
    def memory_bytes_(self) -> int:
        return int(self._index.labels.nbytes + self._counts.nbytes)


class LastLabel(Baseline, _Shares):
    """Predicts the label of the previous row: a strong baseline if equal labels follow each other.

    The scores are 1 for that label and 0 for the others. A row of weight 0 is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.research.baselines import LastLabel
    >>> LastLabel().learn(np.zeros((4, 1)), ["a", "b", "b", "a"])[2:]
    array([[0., 1.],
           [0., 1.]])
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: NDArray[np.bool_] = np.zeros(0, dtype=bool)  # which labels had a row of positive weight
        self._last = -1

    def learn(self, X: Sized, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """1 for the label of the previous row (n, c), NaN for a label not seen yet."""
        labels, weights = _checked(X, y, sample_weight)
        columns = self._index.columns(labels)
        rows = np.arange(len(labels))
        seen = np.zeros((len(labels) + 1, len(self._index)), dtype=bool)
        seen[0, : len(self._seen)] = self._seen
        seen[1 + rows, columns] = weights > 0
        np.logical_or.accumulate(seen, axis=0, out=seen)
        before = np.maximum.accumulate(np.concatenate([[-1], np.where(weights > 0, rows, -1)]))
        last = np.where(before >= 0, np.append(columns, self._last)[before], self._last)
        self._seen, self._last = seen[-1].copy(), int(last[-1])
        return _one_hot(seen[:-1], last[:-1])

    def scores(self, X: Sized) -> Array:
        """1 for the last label (n, c), the same for every row."""
        rows = _rows(X)
        return _one_hot(np.tile(self._seen, (rows, 1)), np.full(rows, self._last))

    @property
    def memory_bytes_(self) -> int:
        return int(self._index.labels.nbytes + self._seen.nbytes + 8)


class LastTarget(Baseline):
    """Predicts the target of the previous row, 0 before the first. A row of weight 0 is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.research.baselines import LastTarget
    >>> LastTarget().learn(np.zeros((4, 1)), [2.0, 4.0, 6.0, 0.0])
    array([0., 2., 4., 6.])
    """

    def __init__(self) -> None:
        self._last = 0.0

    def learn(self, X: Sized, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The target of the previous row, (n,)."""
        targets, weights = _checked(X, y, sample_weight)
        values = np.concatenate([[self._last], np.asarray(targets, dtype=np.float64)])
        learned = np.concatenate([[True], weights > 0])
        last = values[np.maximum.accumulate(np.where(learned, np.arange(len(values)), 0))]
        self._last = float(last[-1])
        return last[:-1]

    def scores(self, X: Sized) -> Array:
        """The last target, for every row (n,)."""
        return np.full(_rows(X), self._last)

    @property
    def memory_bytes_(self) -> int:
        return 8


class RunningMean(Baseline):
    """Predicts the mean of the targets so far, 0 before the first.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.research.baselines import RunningMean
    >>> RunningMean().learn(np.zeros((4, 1)), [2.0, 4.0, 6.0, 0.0])
    array([0., 2., 3., 4.])
    """

    def __init__(self) -> None:
        self._total = self._weight = 0.0

    def learn(self, X: Sized, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The mean before each row, (n,)."""
        values, weights = _checked(X, y, sample_weight)
        targets = np.asarray(values, dtype=np.float64)
        totals = np.add.accumulate(np.concatenate([[self._total], weights * targets]))
        counts = np.add.accumulate(np.concatenate([[self._weight], weights]))
        self._total, self._weight = float(totals[-1]), float(counts[-1])
        return np.asarray(np.divide(totals[:-1], counts[:-1], out=np.zeros(len(targets)), where=counts[:-1] > 0))

    def scores(self, X: Sized) -> Array:
        """The current mean, for every row (n,)."""
        return np.full(_rows(X), self._total / self._weight if self._weight > 0 else 0.0)

    @property
    def memory_bytes_(self) -> int:
        return 16


def _rows(X: Sized) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _checked(X: Sized, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Labels, Array]:
    """Labels or targets (n,) and weights (n,); raises before anything changes."""
    rows, values = _rows(X), flat(y)
    if values.shape != (rows,):
        raise ValueError(f"y must hold one value for each of the {rows} rows of X; got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"y is {values[row]} at row {row}; remove such rows; no row of this call was learned")
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,) or not ((weights >= 0) & (weights < np.inf)).all():
        raise ValueError(f"sample_weight must hold a finite weight, 0 or more, for each of the {rows} rows of X")
    return values, weights


def _shares(counts: Array) -> Array:  # (n, c) -> (n, c)
    totals = np.add.accumulate(counts, axis=1)[:, -1:]  # in the order of the columns: a class that appears later adds 0
    return np.asarray(np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=counts > 0))


def _one_hot(seen: NDArray[np.bool_], last: NDArray[np.intp]) -> Array:  # (n, c), (n,) -> (n, c)
    return np.where(seen, np.where(np.arange(seen.shape[1]) == last[:, None], 1.0, 0.0), np.nan)
