"""Baselines: learners that use no feature, which every other learner should beat.

They have the methods of every learner here: ``learn(X, y) -> scores``, the score of each row before it is learned, and
``scores(X)``, the current scores of rows. Blocks may be cut anywhere: all sums run in the order of the rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Sized
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.metrics.label_index import LabelIndex, Labels, State, flat

__all__ = ["BASELINES", "Baseline", "LastLabel", "LastTarget", "MajorityClass", "RunningMean"]

Array = NDArray[np.float64]

# n rows, c classes known, t targets


class Baseline(ABC):
    """A learner that uses no feature."""

    label: ClassVar[str]  # its name in reports

    def learn(self, X: Sized, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The score of each row before it is learned: (n, c) with -inf for a class without rows, (n,) or (n, t)."""
        return self.learn_labels(*_checked(X, y, sample_weight))

    def scores(self, X: Sized) -> Array:
        """The current scores, the same for every row."""
        return self.current(_rows(X))

    @abstractmethod
    def learn_labels(self, y: Labels, weight: Array) -> Array:  # (n,) or (n, t), (n,)
        """`learn` without checks."""

    @abstractmethod
    def current(self, rows: int) -> Array:
        """`scores` of so many rows."""

    @abstractmethod
    def state(self) -> State:
        """Everything, as plain data."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Continue from an exported state."""

    @property
    @abstractmethod
    def memory_bytes_(self) -> int:
        """Bytes of everything that is stored."""


class _ByClass(Baseline):
    """A classifier whose scores are probabilities, with -inf for an unknown class."""

    def __init__(self) -> None:
        self._index = LabelIndex()
        self._rows: Array = np.zeros(0)  # (c,), weight of the rows of each class

    def probabilities(self, scores: Array) -> Array:
        """The probabilities of the classes, from scores: the scores themselves, 0 for an unknown class."""
        return np.maximum(scores, 0.0)

    @property
    def classes_(self) -> Labels:
        """Labels in the order they appeared."""
        return self._index.labels

    def announce(self, labels: Labels) -> NDArray[np.intp]:
        """Columns of labels; a new one has no rows yet."""
        columns = self._index.columns(labels)
        self._rows = np.pad(self._rows, (0, len(self._index) - len(self._rows)))
        return columns

    def _count(self, columns: NDArray[np.intp], weight: Array) -> Array:
        """The weight of the rows of each class before each row, and after the last, (n + 1, c)."""
        counts = np.zeros((len(columns) + 1, len(self._rows)))
        counts[0] = self._rows
        counts[1 + np.arange(len(columns)), columns] = weight
        np.add.accumulate(counts, axis=0, out=counts)
        self._rows = counts[-1].copy()
        return counts

    def state(self) -> State:
        return {"labels": self._index.labels.tolist(), "rows": self._rows.copy()}

    def restore(self, state: State) -> None:
        labels, rows = state["labels"], np.array(state["rows"], dtype=np.float64)
        if rows.shape != (len(labels),):
            raise ValueError(f"{self.label}: expected rows of {len(labels)} classes, got {rows.shape}")
        self._index, self._rows = LabelIndex(np.array(labels)), rows

    @property
    def memory_bytes_(self) -> int:
        return int(self._index.labels.nbytes + self._rows.nbytes)


class MajorityClass(_ByClass):
    """Predicts the class with the most rows so far; among equals the one that appeared first.

    The scores are the shares of the classes, count_c / count, which are also its probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.evaluate.baselines import MajorityClass
    >>> learner = MajorityClass()
    >>> learner.learn(np.zeros((4, 1)), ["a", "b", "b", "b"])[2:]
    array([[0.5       , 0.5       ],
           [0.33333333, 0.66666667]])
    >>> learner.classes_
    array(['a', 'b'], dtype='<U1')
    """

    label = "majority class"

    def learn_labels(self, y: Labels, weight: Array) -> Array:
        return _shares(self._count(self.announce(y), weight)[:-1])

    def current(self, rows: int) -> Array:
        return np.tile(_shares(self._rows[None]), (rows, 1))


class LastLabel(_ByClass):
    """Predicts the label of the previous row: a strong baseline if equal labels follow each other.

    The scores are 1 for that label and 0 for the others. A row of weight 0 is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.evaluate.baselines import LastLabel
    >>> LastLabel().learn(np.zeros((4, 1)), ["a", "b", "b", "a"])[2:]
    array([[0., 1.],
           [0., 1.]])
    """

    label = "last label"

    def __init__(self) -> None:
        super().__init__()
        self._last = -1  # column

    def learn_labels(self, y: Labels, weight: Array) -> Array:
        columns = self.announce(y)
        last = np.concatenate([[self._last], columns])[_last_learned(weight)]
        self._last = int(last[-1])
        return _one_hot(self._count(columns, weight)[:-1] > 0, last[:-1])

    def current(self, rows: int) -> Array:
        return _one_hot(np.tile(self._rows > 0, (rows, 1)), np.full(rows, self._last))

    def state(self) -> State:
        return super().state() | {"last": self._last}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._last = int(state["last"])


class _ByTarget(Baseline):
    """A regressor; before its first row it predicts 0, of one target."""

    def __init__(self) -> None:
        self._value: Array = np.zeros(1)  # (t,)

    def learn_labels(self, y: Labels, weight: Array) -> Array:
        targets = np.asarray(y, dtype=np.float64)
        values = targets[:, None] if targets.ndim == 1 else targets
        if len(self._value) != values.shape[1]:
            self._value = np.zeros(values.shape[1])
        return self._learn_targets(values, weight).reshape(targets.shape)

    @abstractmethod
    def _learn_targets(self, y: Array, weight: Array) -> Array:  # (n, t), (n,) -> (n, t)
        """The predictions before each row."""

    def _for_each_target(self, values: Array, rows: int) -> Array:  # (t,) -> (rows,) or (rows, t)
        return np.full(rows, values[0]) if len(values) == 1 else np.tile(values, (rows, 1))

    def state(self) -> State:
        return {"value": self._value.copy()}

    def restore(self, state: State) -> None:
        value = np.array(state["value"], dtype=np.float64)
        if value.ndim != 1 or not value.size:
            raise ValueError(f"{self.label}: expected a value for each target, got {value.shape}")
        self._value = value

    @property
    def memory_bytes_(self) -> int:
        return int(self._value.nbytes)


class LastTarget(_ByTarget):
    """Predicts the target of the previous row, 0 before the first. A row of weight 0 is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.evaluate.baselines import LastTarget
    >>> LastTarget().learn(np.zeros((4, 1)), [2.0, 4.0, 6.0, 0.0])
    array([0., 2., 4., 6.])
    """

    label = "last value"

    def _learn_targets(self, y: Array, weight: Array) -> Array:
        last = np.concatenate([self._value[None], y])[_last_learned(weight)]
        self._value = last[-1].copy()
        return last[:-1]

    def current(self, rows: int) -> Array:
        return self._for_each_target(self._value, rows)


class RunningMean(_ByTarget):
    """Predicts the mean of the targets so far, 0 before the first.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.evaluate.baselines import RunningMean
    >>> RunningMean().learn(np.zeros((4, 1)), [2.0, 4.0, 6.0, 0.0])
    array([0., 2., 3., 4.])
    """

    label = "mean"

    def __init__(self) -> None:
        super().__init__()  # the value is the sum of the targets
        self._weight = 0.0

    def _learn_targets(self, y: Array, weight: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            totals = np.add.accumulate(np.concatenate([self._value[None], weight[:, None] * y]), axis=0)
        counts = np.add.accumulate(np.concatenate([[self._weight], weight]))
        self._value, self._weight = totals[-1].copy(), float(counts[-1])
        before = counts[:-1, None]
        return np.asarray(np.divide(totals[:-1], before, out=np.zeros(y.shape), where=before > 0))

    def current(self, rows: int) -> Array:
        mean = self._value / self._weight if self._weight > 0 else np.zeros(len(self._value))
        return self._for_each_target(mean, rows)

    def state(self) -> State:
        return super().state() | {"weight": self._weight}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._weight = float(state["weight"])

    @property
    def memory_bytes_(self) -> int:
        return super().memory_bytes_ + 8


# Of each task: the best constant, and the last row.
BASELINES: dict[str, tuple[type[Baseline], type[Baseline]]] = {
    "classification": (MajorityClass, LastLabel),
    "regression": (RunningMean, LastTarget),
}


def _rows(X: Sized) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _checked(X: Sized, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Labels, Array]:
    """Labels (n,) or targets (n,) or (n, t), and weights (n,); raises before anything changes."""
    rows, values = _rows(X), flat(y)
    if values.ndim not in (1, 2) or len(values) != rows:
        raise ValueError(f"y must hold one value for each of the {rows} rows of X; got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise ValueError(f"y is {values[row]} at row {row}; remove such rows; no row of this call was learned")
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,) or not ((weights >= 0) & (weights < np.inf)).all():
        raise ValueError(f"sample_weight must hold a finite weight, 0 or more, for each of the {rows} rows of X")
    return values, weights


def _last_learned(weight: Array) -> NDArray[np.intp]:  # (n,) -> (n + 1,)
    """Before each row and after the last: the number of the last row of positive weight, from 1; 0 if there is none."""
    numbers = np.where(weight > 0, np.arange(1, len(weight) + 1), 0)
    return np.maximum.accumulate(np.concatenate([[0], numbers]))


def _shares(counts: Array) -> Array:  # (n, c) -> (n, c)
    totals = np.add.accumulate(counts, axis=1)[:, -1:]  # in the order of the columns: a class that appears later adds 0
    return np.asarray(np.divide(counts, totals, out=np.full(counts.shape, -np.inf), where=counts > 0))


def _one_hot(seen: NDArray[np.bool_], last: NDArray[np.generic]) -> Array:  # (n, c), (n,) -> (n, c)
    return np.where(seen, np.where(np.arange(seen.shape[1]) == last[:, None], 1.0, 0.0), -np.inf)
