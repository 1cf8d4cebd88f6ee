"""Metrics relative to persistence, the prediction that a row has the label or target of the row before it.

Equal labels follow each other on many streams, and values change little from row to row: there a high accuracy or R2
says nothing until it is compared with that of the last label or value. Rows of weight 0 are no rows here.

A. Bifet, J. Read, I. Zliobaite, B. Pfahringer, G. Holmes. Pitfalls in benchmarking data stream classification and how
to avoid them. ECML PKDD 2013. R. J. Hyndman, A. B. Koehler. Another look at measures of forecast accuracy. 2006.
"""

import math
from collections.abc import Hashable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import State
from nolana.metrics.metric import RunningMetric, mean_over_targets, running_sum, running_sums
from nolana.metrics.predictions import Predictions

__all__ = ["MASE", "KappaTemporal"]

Array = NDArray[np.float64]


class KappaTemporal(RunningMetric):
    """(p - p_l)/(1 - p_l), p the accuracy and p_l that of the last label: 1 is perfect, 0 as good as the last label.

    The first row has no label before it and is an error of the last label. NaN if the last label is always right.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import KappaTemporal, Predictions
    >>> metric = KappaTemporal()
    >>> truth, f = np.array([0, 0, 1, 1]), np.array([-1.0, -1.0, 1.0, -1.0])
    >>> metric.update(Predictions(truth, np.stack([-f, f], axis=1), classes=np.array([0, 1])))
    >>> metric.value()  # 3/4 against 2/4
    0.5
    """

    name = "kappa_temporal"
    in_per_cent = True

    def __init__(self) -> None:
        self._hits = self._last_hits = self._weight = 0.0
        self._first: tuple[Hashable, float] | None = None  # label and weight of the first row
        self._last: Hashable = None  # label of the last row

    def update(self, rows: Predictions) -> None:
        rows.need_classes(self.name)
        counted = np.flatnonzero(rows.weights)
        if not len(counted):
            return
        truth, weight = rows.truth[counted], rows.weights[counted]
        same = np.concatenate([[self._first is not None and bool(truth[0] == self._last)], truth[1:] == truth[:-1]])
        self._hits = running_sum(self._hits, np.where(rows.hits[counted], weight, 0.0))
        self._last_hits = running_sum(self._last_hits, np.where(same, weight, 0.0))
        self._weight = running_sum(self._weight, weight)
        if self._first is None:
            self._first = truth[:1].tolist()[0], float(weight[0])
        self._last = truth[-1:].tolist()[0]

    def value(self) -> float:
        missed = self._weight - self._last_hits
        return (self._hits - self._last_hits) / missed if missed > 0 else math.nan

    def state(self) -> State:
        sums = {"hits": self._hits, "last_hits": self._last_hits, "weight": self._weight}
        return sums | {"first": None if self._first is None else list(self._first), "last": self._last}

    def restore(self, state: State) -> None:
        first = None
        if state["first"] is not None:
            label, weight = state["first"]
            first = label, float(weight)
        self._hits, self._last_hits = float(state["hits"]), float(state["last_hits"])
        self._weight, self._first, self._last = float(state["weight"]), first, state["last"]

    def merge(self, other: Self) -> None:
        """Count the rows of another one, which came after these."""
        if other._first is None:
            return
        label, weight = other._first
        joint = weight if self._first is not None and self._last == label else 0.0
        self._hits += other._hits
        self._last_hits += other._last_hits + joint
        self._weight += other._weight
        self._first, self._last = self._first or other._first, other._last


class MASE(RunningMetric):
    """mean |y - f| / mean |y_t - y_(t-1)|: the error in units of that of the last value, below 1 if it is smaller.

    The second mean is over all rows but the first. NaN if the target never changes. Of several targets it is the mean
    of their values.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import MASE, Predictions
    >>> metric = MASE()
    >>> metric.update(Predictions(truth=np.array([1.0, 3.0, 5.0]), scores=np.array([0.0, 3.0, 3.0])))
    >>> metric.value()
    0.5
    """

    name = "mase"
    task = "regression"
    smaller_is_better = True

    def __init__(self) -> None:
        self._errors: Array = np.zeros(1)  # (t,) for t targets: sums of w |y - f|
        self._changes: Array = np.zeros(1)  # (t,): sums of w |y_t - y_(t-1)|
        self._weight = 0.0
        self._first_weight = 0.0
        self._ends: Array = np.zeros((2, 1))  # (2, t): the first and the last target

    def update(self, rows: Predictions) -> None:
        rows.need_numbers(self.name)
        counted = np.flatnonzero(rows.weights)
        if not len(counted):
            return
        weight = rows.weights[counted][:, None]
        truth, errors = (
            (values[:, None] if values.ndim == 1 else values)[counted] for values in (rows.targets, rows.errors)
        )
        new = self._weight == 0
        if new:
            self._errors, self._changes = np.zeros(truth.shape[1]), np.zeros(truth.shape[1])
            self._first_weight, self._ends = float(weight[0, 0]), np.stack([truth[0], truth[0]])
        with np.errstate(over="ignore", invalid="ignore"):
            changes = np.abs(np.diff(np.concatenate([self._ends[1:], truth]), axis=0))
            self._errors = running_sums(self._errors, weight * np.abs(errors))
            self._changes = running_sums(self._changes, weight * changes)
        self._weight = running_sum(self._weight, weight[:, 0])
        self._ends = np.stack([self._ends[0], truth[-1]])

    def value(self) -> float:
        rest = self._weight - self._first_weight
        if not rest > 0:
            return math.nan
        pairs = zip(self._errors.tolist(), self._changes.tolist(), strict=True)
        return mean_over_targets([e / self._weight / (c / rest) if c > 0 else math.nan for e, c in pairs])

    def state(self) -> State:
        sums = {"errors": self._errors.copy(), "changes": self._changes.copy(), "ends": self._ends.copy()}
        return sums | {"weight": self._weight, "first_weight": self._first_weight}

    def restore(self, state: State) -> None:
        errors, changes, ends = (np.array(state[name], dtype=np.float64) for name in ("errors", "changes", "ends"))
        if errors.ndim != 1 or not errors.size or changes.shape != errors.shape or ends.shape != (2, len(errors)):
            raise ValueError(f"the state of {self.name}: expected sums for each target, got {errors.shape}")
        self._errors, self._changes, self._ends = errors, changes, ends
        self._weight, self._first_weight = float(state["weight"]), float(state["first_weight"])

    def merge(self, other: Self) -> None:
        """Count the rows of another one, which came after these."""
        if other._weight == 0:
            return
        if self._weight == 0:
            self.restore(other.state())
            return
        self._errors = self._errors + other._errors
        joint = other._first_weight * np.abs(other._ends[0] - self._ends[1])
        self._changes = self._changes + other._changes + joint
        self._weight += other._weight
        self._ends = np.stack([self._ends[0], other._ends[1]])
