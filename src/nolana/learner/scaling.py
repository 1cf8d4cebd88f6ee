"""The scaling of v0.1, (x - mean)/deviation with the moments of all rows so far: only for model files made with it.

Those files continue with the same predictions. New learners scale by `nolana.learner.anchored`, which outliers cannot
spoil. The moments follow every row; the scaling in use changes only when the learner re-maps itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Field, check, export

Array = NDArray[np.float64]


class Scaling:
    """Running moments (d,) and the offset and factor (d,) in use."""

    def __init__(self, features: int, module: Any) -> None:
        self._module, self.count = module, 0.0
        self.mean, self.squares = np.zeros(features), np.zeros(features)
        self.offset, self.factor = np.zeros(features), np.ones(features)

    def apply(self, x: Array) -> Array:  # (n, d) -> (n, d)
        return np.ascontiguousarray((x - self.offset) * self.factor)

    def undo(self, x: Array) -> Array:
        return np.ascontiguousarray(x / self.factor + self.offset)

    def advance(self, x: Array, weight: Array | None) -> Array:
        """`apply`; rows of positive weight are observed."""
        z = self.apply(x)
        learned = x if weight is None else x[weight > 0]
        self.count = self._module.add_moments(self.count, self.mean, self.squares, learned)
        return z

    def rows_to_update(self, rows: int) -> int:
        """Rows until 2, 4, 8, ... rows."""
        return int((1 << max(1, rows.bit_length())) - rows)

    def update(self, reestimate: bool) -> Callable[[Array], Array] | None:
        """Take the moments into use where other things are re-estimated too; what that does to places.

        A feature that never varied keeps its unit.
        """
        if not reestimate:
            return None
        offset, factor = self.offset, self.factor
        deviation = np.sqrt(self.squares / max(1.0, self.count))
        varies = deviation > 1e-12 * np.maximum(1e-300, np.abs(self.mean))
        self.offset = self.mean.copy()
        self.factor = np.divide(1.0, deviation, out=np.ones_like(deviation), where=varies)
        return lambda z: self.apply(np.ascontiguousarray(z / factor + offset))

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

    def restore(self, state: dict[str, Any]) -> None:
        """ValueError for a state that does not fit; then nothing changes."""
        for field in self._fields():
            check(field, state, {})
        for field in self._fields():
            field.set(state[field.key])
