"""Robust scaling in front of a landmark map, which can be re-mapped when the anchors of the scaling change.

Before the first anchor, at two rows, rows are as they came: so the first landmarks have their place in the units of the
input too.

A feature that grows without bound (`nolana.engine.learner.growth`) counts a tenth in distances while it does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.learner.robust_scaling import unscaled
from nolana.experts.parts import entries
from nolana.learner.driver import Array, State
from nolana.learner.engine_scaling import EngineScaling

Change = Callable[[Array], Array]  # of places (m, d) that the kernel sees
GROWING = 0.1  # metric of a feature that grows
GROWTH = "scaling_growth/"


class AnchoredScaling(EngineScaling):
    """Knows the state at the last anchor."""

    prefix = "scaling/"

    def __init__(self, features: int, module: Any, watch_growth: bool) -> None:
        super().__init__(features, module)
        self._anchors: State | None = None
        self._watch: Any = module.GrowthWatch(features) if watch_growth else None
        self._unscaled = np.zeros(features)

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + (int(self._watch.memory_bytes) if self._watch else 0)

    @property
    def growing(self) -> NDArray[np.intp]:
        """The features that grow now."""
        return np.flatnonzero(self._watch.state()["growing"]) if self._watch else np.zeros(0, dtype=np.intp)

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
        if self._watch:
            self._watch.observe(x, weight, self._unscaled if self._anchors is None else self._anchors["factor"])
        return x if self._anchors is None else z

    def rows_to_update(self, rows: int) -> int:
        """Rows until the anchors may change."""
        return int(self._engine.rows_to_anchor())

    def update(self, reestimate: bool) -> Change | None:
        """Set the anchors that are due after this row; what that does to places. None: nothing is due."""
        anchored = self._engine.anchor().any()
        grows = self._watch is not None and self._watch.check()
        if not anchored and not grows:
            return None
        if grows:
            state = self._engine.state()
            metric = np.ones_like(state["metric"])
            metric[self.growing] = GROWING
            self._engine.restore(state | {"metric": metric})
        before, self._anchors = self._anchors, self._engine.state()
        return lambda z: np.asarray(self._engine.apply(z if before is None else unscaled(z, before)))

    def state(self) -> State:
        watched = self._watch.state() if self._watch else {}
        return super().state() | {GROWTH + name: value for name, value in watched.items()}

    def restore(self, state: State) -> None:
        own = entries(state, GROWTH)
        if bool(own) != bool(self._watch):
            raise ValueError(f"state: {GROWTH[:-1]} {'is missing' if self._watch else 'has no place here'}")
        if self._watch:
            if own.get("rows") != state["rows"]:
                raise ValueError(f"state: {GROWTH}rows differs from rows")
            self._watch.restore(own)
        super().restore(state)

    def _read(self) -> None:
        self._anchors = self._engine.state() if self._engine.rows >= 2 else None
