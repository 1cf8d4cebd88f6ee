"""R2: the share of the variance of the targets that is explained by the predictions."""

import math
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.metric import RunningMetric, mean_over_targets, running_sums
from nolana.metrics.predictions import Predictions

if TYPE_CHECKING:
    from nolana.engine.base.state import State  # loads the engine

__all__ = ["R2"]

Array = NDArray[np.float64]
SUMS = 4


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

    def state(self) -> "State":
        if len(self._origin) == 1:
            return {"rows": self._rows, "origin": float(self._origin[0]), "sums": self._sums[:, 0].tolist()}
        return {"rows": self._rows, "origin": self._origin.copy(), "sums": self._sums.copy()}

    def restore(self, state: "State") -> None:
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
