"""Metrics that are a function of means over rows."""

import math
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import State
from nolana.metrics.metric import RunningMetric, mean_over_targets, running_sum, running_sums
from nolana.metrics.predictions import Predictions

__all__ = ["MAE", "R2", "RMSE", "Accuracy", "Brier", "LogLoss", "Mean"]

Array = NDArray[np.float64]

SUMS = 4  # of R2, for each target
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)  # smaller probabilities count as this, as in scikit-learn


class Mean(RunningMetric):
    """sum_i w_i loss_i / sum_i w_i; a subclass defines `name`, `losses` and, if it is not the mean itself, `finish`.

    If `losses` returns a column for each of several targets, the metric is the mean of the metrics of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Mean, Predictions
    >>> class Bias(Mean):
    ...     name = "bias"
    ...     def losses(self, rows):
    ...         return rows.scores - rows.truth
    >>> bias = Bias()
    >>> bias.update(Predictions(truth=np.array([1.0, 2.0]), scores=np.array([2.0, 2.0])))
    >>> bias.value()
    0.5
    """

    def __init__(self) -> None:
        self._totals: Array = np.zeros(1)  # (t,) for t targets
        self._weight = 0.0

    @abstractmethod
    def losses(self, rows: Predictions) -> Array:
        """What each row adds to the mean, (n,), or (n, t) for t targets."""

    def finish(self, mean: float) -> float:
        """The metric, from the mean."""
        return mean

    def update(self, rows: Predictions) -> None:
        losses = self.losses(rows)
        losses = losses[:, None] if losses.ndim == 1 else losses
        if self._weight == 0 and len(losses):
            self._totals = np.zeros(losses.shape[1])
        if rows.weight is None:
            self._totals = running_sums(self._totals, losses)
            self._weight += len(rows)
        else:
            weight = rows.weight[:, None]
            counted = np.where(weight > 0, weight * losses, 0.0)  # weight 0 times an infinite loss is 0
            self._totals = running_sums(self._totals, counted)
            self._weight = running_sum(self._weight, rows.weight)

    def value(self) -> float:
        if not self._weight > 0:
            return math.nan
        return mean_over_targets([self.finish(total / self._weight) for total in self._totals.tolist()])

    def state(self) -> State:
        return {
            "total": self._totals.copy() if len(self._totals) > 1 else float(self._totals[0]),
            "weight": self._weight,
        }

    def restore(self, state: State) -> None:
        totals = np.array(state["total"], dtype=np.float64)
        if totals.ndim > 1 or not totals.size:
            raise ValueError(f"the state of {self.name}: total must be a number for each target, got {totals.shape}")
        self._totals, self._weight = totals.reshape(-1), float(state["weight"])

    def merge(self, other: Self) -> None:
        if other._weight > 0:
            self._totals = other._totals.copy() if self._weight == 0 else self._totals + other._totals
            self._weight += other._weight


class Accuracy(Mean):
    """The share of rows whose label was predicted, of several all of them; before the first known class it is none."""

    name = "accuracy"
    in_per_cent = True

    def losses(self, rows: Predictions) -> Array:
        """1 for a correct prediction."""
        rows.need_classes(self.name, several=True)
        return rows.hits.astype(np.float64)


class LogLoss(Mean):
    """-mean log p(true label), natural logarithm; p below 2.2e-16 counts as that.

    p is the probability before the row was learned; a label that was not known yet has probability 0. The learner
    converts its scores to probabilities (``probabilities(scores)``), or returns both (``learn_proba``).
    """

    name = "log_loss"
    smaller_is_better = True
    needs_probabilities = True

    def losses(self, rows: Predictions) -> Array:
        """-log p."""
        rows.need_probabilities(self.name)
        columns = rows.columns
        p = rows.probabilities[np.arange(len(rows)), columns]
        known = rows.known if rows.before is None else ~np.isnan(p)  # announced classes have probabilities, no scores
        p = np.where((columns >= 0) & known, p, 0.0)
        return np.asarray(-np.log(np.maximum(p, SMALLEST_PROBABILITY)))


class Brier(Mean):
    """mean of (1/2) sum_c (p_c - [y = c])^2, from 0 to 1: for two classes (p - y)^2, as ``brier_score_loss``.

    A label that was not known yet has probability 0; a row before the first known class costs 1/2. It never exceeds 1
    for a row, so that single rows cannot dominate it as they can the log loss.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Brier, Predictions
    >>> metric = Brier()
    >>> both = np.array([[0.2, 0.8], [0.5, 0.5]])
    >>> metric.update(Predictions(np.array([1, 0]), both, np.array([0, 1]), before=both))
    >>> round(metric.value(), 3)
    0.145
    """

    name = "brier"
    smaller_is_better = True
    needs_probabilities = True

    def losses(self, rows: Predictions) -> Array:
        """(1/2) sum_c (p_c - [y = c])^2."""
        rows.need_probabilities(self.name)
        p, columns = np.nan_to_num(rows.probabilities), rows.columns
        known = np.flatnonzero(columns >= 0)
        hit = np.zeros(len(rows))
        hit[known] = p[known, columns[known]]
        squares = np.add.accumulate(p**2, axis=1)[:, -1] if p.shape[1] else hit
        return np.asarray((squares - 2 * hit + 1) / 2)


class RMSE(Mean):
    """The root of the mean squared error; of several targets the mean of their roots."""

    name = "rmse"
    task = "regression"
    smaller_is_better = True

    def losses(self, rows: Predictions) -> Array:
        """(y - f)^2."""
        rows.need_numbers(self.name)
        with np.errstate(over="ignore"):
            return np.asarray(rows.errors**2)

    def finish(self, mean: float) -> float:
        """The root of the mean."""
        return math.sqrt(mean)


class MAE(Mean):
    """The mean absolute error; of several targets the mean of their errors."""

    name = "mae"
    task = "regression"
    smaller_is_better = True

    def losses(self, rows: Predictions) -> Array:
        """|y - f|."""
        rows.need_numbers(self.name)
        return np.abs(rows.errors)


class R2(RunningMetric):
    """1 - sum w (y - f)^2 / sum w (y - mean y)^2, over all rows counted.

    The denominator is computed from the sums of y - y_0 and of its square, y_0 the first target of positive weight, so
    that targets far from 0 lose no digits. For constant targets the value is 1 if all predictions are exact, else 0;
    for fewer than two rows NaN. Of several targets it is the mean of their values.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Predictions, R2
    >>> metric = R2()
    >>> metric.update(Predictions(truth=np.array([1.0, 2.0, 3.0]), scores=np.array([1.0, 2.0, 4.0])))
    >>> metric.value()
    0.5
    """

    name = "r2"
    task = "regression"

    def __init__(self) -> None:
        self._rows = 0
        self._origin: Array = np.zeros(1)  # (t,) for t targets
        self._sums: Array = np.zeros((SUMS, 1))  # of w, w (y - y_0), w (y - y_0)^2, w (y - f)^2

    def update(self, rows: Predictions) -> None:
        rows.need_numbers(self.name)
        weight = rows.weights[:, None]
        pair = (rows.targets, rows.errors)
        truth, errors = (values[:, None] if values.ndim == 1 else values for values in pair)
        counted = np.flatnonzero(weight)
        if self._rows == 0 and len(counted):
            self._origin, self._sums = truth[counted[0]].copy(), np.zeros((SUMS, truth.shape[1]))
        self._rows += len(counted)
        shifted = truth - self._origin
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.where(weight > 0, weight * errors**2, 0.0)
            added = [np.broadcast_to(weight, shifted.shape), weight * shifted, weight * shifted**2, squares]
            pairs = zip(self._sums, added, strict=True)
            self._sums = np.stack([running_sums(total, values) for total, values in pairs])

    def value(self) -> float:
        if self._rows < 2:
            return math.nan
        return mean_over_targets([_r2(*sums) for sums in self._sums.T.tolist()])

    def state(self) -> State:
        if len(self._origin) == 1:
            return {"rows": self._rows, "origin": float(self._origin[0]), "sums": self._sums[:, 0].tolist()}
        return {"rows": self._rows, "origin": self._origin.copy(), "sums": self._sums.copy()}

    def restore(self, state: State) -> None:
        origin = np.array(state["origin"], dtype=np.float64)
        sums = np.array(state["sums"], dtype=np.float64)
        if origin.ndim > 1 or sums.shape != (SUMS, *origin.shape):
            raise ValueError(f"the state of {self.name}: expected {SUMS} sums for each target, got {sums.shape}")
        self._rows, self._origin, self._sums = int(state["rows"]), origin.reshape(-1), sums.reshape(SUMS, -1)

    def merge(self, other: Self) -> None:
        if not other._rows or not self._rows:
            source = other if other._rows else self
            self._rows, self._origin, self._sums = source._rows, source._origin.copy(), source._sums.copy()
            return
        weight, first, second, squares = other._sums
        shift = other._origin - self._origin
        moved = np.stack([weight, first + weight * shift, second + 2 * shift * first + weight * shift**2, squares])
        self._rows, self._sums = self._rows + other._rows, self._sums + moved


def _r2(weight: float, first: float, second: float, squares: float) -> float:
    """Of one target, from its sums."""
    variance = second - first * first / weight
    if variance > 0:
        return 1.0 - squares / variance
    return 1.0 if squares == 0 else 0.0
