"""R2: the share of the variance of the targets that is explained by the predictions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.predictions import Predictions
from nolana.metrics.sums import running_sum

__all__ = ["R2"]


class R2:
    """1 - sum w (y - f)^2 / sum w (y - mean y)^2, over all rows counted.

    The denominator is computed from the sums of y - y_0 and of its square, y_0 the first target of positive weight, so
    that targets far from 0 lose no digits. For constant targets the value is 1 if all predictions are exact, else 0;
    for fewer than two rows NaN.

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

    def __init__(self) -> None:
        self._rows = 0
        self._origin = 0.0
        self._sums = [0.0] * 4  # of w, w (y - y_0), w (y - y_0)^2, w (y - f)^2

    def update(self, rows: Predictions) -> None:
        """Count some rows."""
        rows.need_numbers(self.name)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        truth = np.asarray(rows.truth, dtype=np.float64)
        counted = np.flatnonzero(weight)
        if self._rows == 0 and len(counted):
            self._origin = float(truth[counted[0]])
        self._rows += len(counted)
        shifted = truth - self._origin
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.where(weight > 0, weight * rows.errors**2, 0.0)
            added: list[NDArray[np.float64]] = [weight, weight * shifted, weight * shifted**2, squares]
            self._sums = [running_sum(total, values) for total, values in zip(self._sums, added, strict=True)]

    def value(self) -> float:
        """The metric over all rows counted, NaN with fewer than two."""
        if self._rows < 2:
            return math.nan
        weight, first, second, squares = self._sums
        variance = second - first * first / weight
        if variance > 0:
            return 1.0 - squares / variance
        return 1.0 if squares == 0 else 0.0

    def state(self) -> dict[str, Any]:
        """Rows, origin and four sums."""
        return {"rows": self._rows, "origin": self._origin, "sums": list(self._sums)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        sums = [float(value) for value in state["sums"]]
        if len(sums) != len(self._sums):
            raise ValueError(f"the state of {self.name}: expected {len(self._sums)} sums, got {len(sums)}")
        self._rows, self._origin, self._sums = int(state["rows"]), float(state["origin"]), sums
