"""The scaling of the landmark learner, by `RobustScaling` of the engine: of its features and of its targets.

Features: before the first anchor, at two rows, rows are as they came, so that the first landmarks have their place in
the units of the input too. A feature that grows without bound (`nolana.engine.learner.growth`) counts a tenth in
distances while it does.

Targets: z = (y - center) factor, without the logarithmic tail of features: what is learned is to be as large as the
targets. At an anchor what was learned is carried over: z' = g z + shift.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolana.engine.learner.robust_scaling import unscaled
from nolana.engine.protocol import Engine
from nolana.experts.parts import entries
from nolana.learner.driver import Array, State

Change = Callable[[Array], Array]  # of places (m, d) that the kernel sees
GROWING = 0.1  # metric of a feature that grows
GROWTH = "scaling_growth/"
LARGEST_RESCALING = 100.0  # beyond, one wild target had set the old unit, and nothing learned in it counts


class EngineScaling(ABC):
    """`width` columns: features or targets."""

    prefix: ClassVar[str]

    def __init__(self, width: int, module: Engine) -> None:
        self._engine = module.RobustScaling(width)

    @property
    def memory_bytes(self) -> int:
        return int(self._engine.memory_bytes)

    def state(self) -> State:
        return {self.prefix + name: value for name, value in self._engine.state().items()}

    def restore(self, state: State) -> None:
        """ValueError for a state that does not fit; then nothing changes."""
        own = entries(state, self.prefix)
        if own.get("rows") != state["rows"]:
            raise ValueError(f"state: {self.prefix}rows differs from rows")
        self._engine.restore(own)
        self._read()

    @abstractmethod
    def _read(self) -> None:
        """Read from the engine what follows from its state."""


class AnchoredScaling(EngineScaling):
    """Knows the state at the last anchor."""

    prefix = "scaling/"

    def __init__(self, features: int, module: Engine, watch_growth: bool) -> None:
        super().__init__(features, module)
        self._anchors: State | None = None
        self._watch = module.GrowthWatch(features) if watch_growth else None
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

    def update(self) -> Change | None:
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


class Rescaling(NamedTuple):
    """z' = g z + shift for each target (c,); g is 0 where nothing that was learned counts."""

    g: Array
    shift: Array


class TargetScaling(EngineScaling):
    """c targets; before the first anchor all predictions are the mean."""

    prefix = "target_scaling/"

    def __init__(self, targets: int, module: Engine) -> None:
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

    def update(self) -> Rescaling | None:
        """Set the anchors that are due after this row; None: nothing is due."""
        center, factor = self.center, self.factor
        if not self._engine.anchor().any():
            return None
        self._read()
        g = np.divide(self.factor, factor, out=np.zeros_like(factor), where=factor > 0)
        g = np.where(g <= LARGEST_RESCALING, g, 0.0)
        return Rescaling(g, np.where(g > 0, (center - self.center) * self.factor, 0.0))
