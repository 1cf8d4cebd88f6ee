"""Online standardisation of features: (x - mean)/deviation, with moments of the rows learned so far.

The moments follow every row; the scaling in use changes only when the learner re-maps itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.reference.state import Field, check, export

Array = NDArray[np.float64]


class Scaling:
    """Running moments (d,) and the offset and factor (d,) in use."""

    def __init__(self, features: int) -> None:
        self.count = 0.0
        self.mean, self.squares = np.zeros(features), np.zeros(features)
        self.offset, self.factor = np.zeros(features), np.ones(features)

    def apply(self, x: Array) -> Array:  # (n, d) -> (n, d)
        return np.ascontiguousarray((x - self.offset) * self.factor)

    def undo(self, x: Array) -> Array:
        return np.ascontiguousarray(x / self.factor + self.offset)

    def observe(self, x: Array, engine: Any) -> None:
        self.count = engine.add_moments(self.count, self.mean, self.squares, x)

    def update(self) -> None:
        """Take the moments into use; a feature that never varied keeps its unit."""
        deviation = np.sqrt(self.squares / max(1.0, self.count))
        varies = deviation > 1e-12 * np.maximum(1e-300, np.abs(self.mean))
        self.offset = self.mean.copy()
        self.factor = np.divide(1.0, deviation, out=np.ones_like(deviation), where=varies)

    @property
    def memory_bytes(self) -> int:
        return 4 * self.mean.nbytes

    def _fields(self) -> list[Field]:
        shape = self.mean.shape
        positive = np.finfo(float).tiny
        lows = {"mean": -np.inf, "squares": 0.0, "offset": -np.inf, "factor": positive}
        arrays = [Field(self, name, shape, name=f"scaling_{name}", low=low) for name, low in lows.items()]
        return [*arrays, Field(self, "count", name="scaling_count", low=0.0)]

    def state(self) -> dict[str, Any]:
        return export(self._fields())

    def check(self, state: dict[str, Any]) -> None:
        """ValueError for a state that does not fit."""
        for field in self._fields():
            check(field, state, {})

    def restore(self, state: dict[str, Any]) -> None:
        for field in self._fields():
            field.set(state[field.key])
