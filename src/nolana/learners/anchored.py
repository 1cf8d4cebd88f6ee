"""Robust scaling in front of a landmark map, which can be re-mapped when the anchors of the scaling change.

Before the first anchor, at two rows, rows are as they came: so the first landmarks have their place in the units of the
input too.

A feature that outgrows its anchor (a date, another unit) leaves all landmarks behind. Every 1,024 rows a feature whose
z is beyond 3 in the root mean square of recent rows gets a new anchor, which holds its old and its new values:

    center <- mu,   factor <- 1/sqrt(v + (mu - center)^2)
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nolana.learners.driver import Array, State, part_of
from nolana.reference.robust_scaling import LAST_ANCHOR, unscaled

CHECK_OUTGROWN = 1024  # rows
OUTGROWN = 3.0  # of z: 7 times as far as one deviation at the last anchor
PREFIX = "scaling/"
Change = Callable[[Array], Array]  # of places (m, d) that the kernel sees


class AnchoredScaling:
    """`RobustScaling` of the engine, and its state at the last anchor."""

    def __init__(self, features: int, module: Any) -> None:
        self._engine: Any = module.RobustScaling(features)
        self._anchors: State | None = None

    def apply(self, x: Array) -> Array:  # (n, d) -> (n, d)
        """Rows as the kernel sees them."""
        return x if self._anchors is None else np.asarray(self._engine.apply(x))

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
        due, rows = bool(self._engine.anchor().any()), self._engine.rows
        if rows > LAST_ANCHOR and rows % CHECK_OUTGROWN == 0:
            due |= self._follow_outgrown()
        if not due:
            return None
        before, self._anchors = self._anchors, self._engine.state()
        return lambda z: np.asarray(self._engine.apply(z if before is None else unscaled(z, before)))

    def _follow_outgrown(self) -> bool:
        """New anchors for features that outgrew theirs; whether there are any."""
        state = self._engine.state()
        outgrown = state["z_mean"] ** 2 + state["z_variance"] > OUTGROWN**2
        if not outgrown.any():
            return False
        distance = np.sqrt(state["variance"] + (state["mean"] - state["center"]) ** 2)[outgrown]
        new = {"center": state["mean"][outgrown], "factor": 1 / distance, "z_mean": 0.0, "z_variance": 1.0}
        for name, value in new.items():
            state[name][outgrown] = value
        self._engine.restore(state)
        return True

    @property
    def memory_bytes(self) -> int:
        return int(self._engine.memory_bytes)

    def state(self) -> State:
        return {PREFIX + name: value for name, value in self._engine.state().items()}

    def restore(self, state: State) -> None:
        """ValueError for a state that does not fit; then nothing changes."""
        own = part_of(state, PREFIX)
        if own.get("rows") != state["rows"]:
            raise ValueError(f"state: {PREFIX}rows differs from rows")
        self._engine.restore(own)
        self._anchors = self._engine.state() if own["rows"] >= 2 else None
