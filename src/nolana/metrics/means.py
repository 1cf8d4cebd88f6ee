"""Metrics that are a function of a mean over rows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.predictions import Predictions
from nolana.metrics.sums import running_sum

__all__ = ["MAE", "RMSE", "Accuracy", "LogLoss", "Mean"]

Array = NDArray[np.float64]

SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)  # smaller probabilities count as this, as in scikit-learn


class Mean:
    """sum_i w_i loss_i / sum_i w_i; a subclass defines `name`, `losses` and, if it is not the mean itself, `finish`.

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

    name: str

    def __init__(self) -> None:
        self._total = self._weight = 0.0

    def losses(self, rows: Predictions) -> Array:
        """What each row adds to the mean, (n,)."""
        raise NotImplementedError

    def finish(self, mean: float) -> float:
        """The metric, from the mean."""
        return mean

    def update(self, rows: Predictions) -> None:
        """Count some rows."""
        losses = self.losses(rows)
        if rows.weight is None:
            self._total = running_sum(self._total, losses)
            self._weight += len(rows)
        else:
            counted = np.where(rows.weight > 0, rows.weight * losses, 0.0)  # weight 0 times an infinite loss is 0
            self._total = running_sum(self._total, counted)
            self._weight = running_sum(self._weight, rows.weight)

    def value(self) -> float:
        """The metric over all rows counted, NaN without any."""
        return self.finish(self._total / self._weight) if self._weight > 0 else math.nan

    def state(self) -> dict[str, Any]:
        """Two sums."""
        return {"total": self._total, "weight": self._weight}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        self._total, self._weight = float(state["total"]), float(state["weight"])


class Accuracy(Mean):
    """The share of rows whose label was predicted; a row before the first known class is an error."""

    name = "accuracy"

    def losses(self, rows: Predictions) -> Array:
        """1 for a correct prediction."""
        rows.need_classes(self.name)
        return rows.hits.astype(np.float64)


class LogLoss(Mean):
    """-mean log p(true label), natural logarithm; p below 2.2e-16 counts as that.

    A row whose label was not known yet has such a probability. The learner converts its scores to probabilities
    (``probabilities(scores)``): with the logistic loss 1 / (1 + exp(-score)), normalised to sum 1.
    """

    name = "log_loss"

    def losses(self, rows: Predictions) -> Array:
        """-log p."""
        rows.need_probabilities(self.name)
        columns = rows.columns
        p = rows.probabilities[np.arange(len(rows)), columns]
        p = np.where((columns >= 0) & rows.known, p, 0.0)
        return np.asarray(-np.log(np.maximum(p, SMALLEST_PROBABILITY)))


class RMSE(Mean):
    """The root of the mean squared error."""

    name = "rmse"

    def losses(self, rows: Predictions) -> Array:
        """(y - f)^2."""
        rows.need_numbers(self.name)
        with np.errstate(over="ignore"):
            return np.asarray(rows.errors**2)

    def finish(self, mean: float) -> float:
        """The root of the mean."""
        return math.sqrt(mean)


class MAE(Mean):
    """The mean absolute error."""

    name = "mae"

    def losses(self, rows: Predictions) -> Array:
        """|y - f|."""
        rows.need_numbers(self.name)
        return np.abs(rows.errors)
