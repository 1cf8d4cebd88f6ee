"""Online standardisation of features: (x - mean)/deviation, with moments of the rows learned so far.

The moments follow every row; the scaling in use changes only when the learner re-maps itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.reference.checks import check_shapes

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

    def state(self) -> dict[str, Any]:
        names = ("mean", "squares", "offset", "factor")
        return {f"scaling_{name}": getattr(self, name).copy() for name in names} | {"scaling_count": self.count}

    def restore(self, state: dict[str, Any]) -> None:
        names = ("mean", "squares", "offset", "factor")
        check_shapes(state, {f"scaling_{name}": self.mean.shape for name in names})
        for name in names:
            setattr(self, name, np.array(state[f"scaling_{name}"]))
        self.count = float(state["scaling_count"])
