"""Robust scaling in front of a landmark map, which can be re-mapped when the anchors of the scaling change.

Before the first anchor, at two rows, rows are as they came: so the first landmarks have their place in the units of the
input too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nolana.learners.driver import Array, State
from nolana.learners.engine_scaling import EngineScaling
from nolana.reference.robust_scaling import unscaled

Change = Callable[[Array], Array]  # of places (m, d) that the kernel sees


class AnchoredScaling(EngineScaling):
    """Knows the state at the last anchor."""

    prefix = "scaling/"

    def __init__(self, features: int, module: Any) -> None:
        super().__init__(features, module)
        self._anchors: State | None = None

    def apply(self, x: Array) -> Array:  # (n, d) -> (n, d)
        """Rows as the kernel sees them."""
        return x if self._anchors is None else np.asarray(self._engine.apply(x))

    def centre(self) -> Array:  # (d,)
        """What features are scaled around."""
        return np.asarray(self._engine.state()["center"])

    def undo(self, z: Array) -> Array:
        """Places in the units of the input."""
        return z if self._anchors is None else unscaled(z, self._anchors)

    def advance(self, x: Array, weight: Array | None) -> Array:
        """`apply`; rows of positive weight are observed."""
        z: Array = self._engine.advance(x, weight, late_anchors=False)
        return x if self._anchors is None else z

    def rows_to_update(self, rows: int) -> int:
        """Rows until the anchors may change."""
        return int(self._engine.rows_to_anchor())

    def update(self, reestimate: bool) -> Change | None:
        """Set the anchors that are due after this row; what that does to places. None: nothing is due."""
        if not self._engine.anchor().any():
            return None
        before, self._anchors = self._anchors, self._engine.state()
        return lambda z: np.asarray(self._engine.apply(z if before is None else unscaled(z, before)))

    def _read(self) -> None:
        self._anchors = self._engine.state() if self._engine.rows >= 2 else None
