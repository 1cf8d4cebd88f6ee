"""Targets that are numbers, in units of their deviation around their mean, by the anchors of `RobustScaling`.

z = (y - center) factor, without the logarithmic tail of features: what is learned is to be as large as the targets.
At an anchor what was learned is carried over: z' = g z + shift.
"""

from typing import Any, NamedTuple

import numpy as np

from nolana.learner.driver import Array
from nolana.learner.engine_scaling import EngineScaling

LARGEST_RESCALING = 100.0  # beyond, one wild target had set the old unit, and nothing learned in it counts


class Rescaling(NamedTuple):
    """z' = g z + shift for each target (c,); g is 0 where nothing that was learned counts."""

    g: Array
    shift: Array


class TargetScaling(EngineScaling):
    """c targets; before the first anchor all predictions are the mean."""

    prefix = "target_scaling/"

    def __init__(self, targets: int, module: Any) -> None:
        super().__init__(targets, module)
        self.center, self.factor = np.zeros(targets), np.zeros(targets)

    def apply(self, y: Array) -> Array:  # (n, c) -> (n, c)
        return np.ascontiguousarray((y - self.center) * self.factor)

    def undo(self, z: Array) -> Array:
        """In the units of the targets."""
        return np.divide(z, self.factor, out=np.zeros_like(z), where=self.factor > 0) + self.center

    def observe(self, y: Array, weight: Array | None) -> None:
        """Rows of positive weight that were learned."""
        self._engine.observe(np.ascontiguousarray(y if weight is None else y[weight > 0]))
        if self._engine.rows < 2:
            self._read()

    def _read(self) -> None:
        state = self._engine.state()
        self.center, self.factor = state["center" if self._engine.rows >= 2 else "mean"], state["factor"]

    def rows_to_update(self) -> int:
        """Rows until the anchors may change."""
        return int(self._engine.rows_to_anchor())

    def update(self) -> Rescaling | None:
        """Set the anchors that are due after this row; None: nothing is due."""
        center, factor = self.center, self.factor
        if not self._engine.anchor().any():
            return None
        self._read()
        g = np.divide(self.factor, factor, out=np.zeros_like(factor), where=factor > 0)
        g = np.where(g <= LARGEST_RESCALING, g, 0.0)
        return Rescaling(g, np.where(g > 0, (center - self.center) * self.factor, 0.0))
