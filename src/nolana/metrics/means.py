"""Metrics that are a function of a mean over rows."""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.metric import RunningMetric, mean_over_targets, running_sum, running_sums
from nolana.metrics.predictions import Predictions

if TYPE_CHECKING:
    from nolana.engine.base.state import State  # loads the engine

__all__ = ["MAE", "RMSE", "Accuracy", "Brier", "LogLoss", "Mean"]

Array = NDArray[np.float64]

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

    def state(self) -> "State":
        return {
            "total": self._totals.copy() if len(self._totals) > 1 else float(self._totals[0]),
            "weight": self._weight,
        }

    def restore(self, state: "State") -> None:
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
