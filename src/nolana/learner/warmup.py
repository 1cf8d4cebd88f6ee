"""The driver of methods that cannot be re-mapped: the kernel width is taken from the first rows.

``gamma=None`` takes the width from the data: `width` / (2 sum_j var_j), so many over the mean squared distance of two
rows without outliers, re-estimated at 2, 4, ..., 64 rows. Until row 64 the rows are stored and learned again with the
new width: afterwards the learner is as if the width had been known from the first row.
"""

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from nolana.engine.base.bounds import Positive, Width
from nolana.engine.base.state import Field, Size
from nolana.engine.base.state import check as check_field
from nolana.engine.experts.fourier_map import FourierMap
from nolana.engine.learner.learner import Learner
from nolana.learner.driver import NEVER, Array, Driver, Event, State
from nolana.learner.schedule import doubling_row
from nolana.modelfile.specs import Spec

LAST_ESTIMATE = 64
OUTLIER = 30.0  # times the median squared distance to the median: a row beyond it does not count for the width
ROWS = ("first_rows", "first_targets", "first_weights")


@dataclass(frozen=True)
class WarmupOptions:
    """gamma: None takes it from the first rows, as `width` over their mean squared distance."""

    gamma: Width | None
    width: Positive = 1.0


def estimate_row(t: int) -> int:
    """2, 4, ..., 64."""
    return doubling_row(t) if t < LAST_ESTIMATE else NEVER


class HasWidth(Protocol):
    """A map or a rival with a kernel width."""

    gamma: float


class WarmupLearner(Driver):
    """An engine's learner with a width `gamma`: a rival, or the first map of a learner."""

    options_class = WarmupOptions
    events = (Event(estimate_row, lambda learner: learner.options.gamma is None, lambda learner: learner.estimate()),)
    options: WarmupOptions

    def __init__(self, spec: Spec, options: WarmupOptions, features: int, outputs: int) -> None:
        super().__init__(spec, options, features, outputs)
        self._scaled = cast(HasWidth, self.engine.maps[0] if hasattr(self.engine, "maps") else self.engine)
        if options.gamma is not None:
            self._scaled.gamma = options.gamma
        self._first: list[tuple[Array, Array, Array]] = []  # rows, targets and weights while the width is open
        self.plan()

    @classmethod
    def check(cls, spec: Spec, options: WarmupOptions) -> None:
        super().check(spec, options)
        if spec.kind is Learner and spec.arguments["maps"][0].kind is not FourierMap:
            raise ValueError("this driver runs a rival, or a learner on Fourier features")

    @property
    def gamma(self) -> float:
        return float(self._scaled.gamma)

    @property
    def memory_bytes(self) -> int:
        """State and scratch, with the rows that are stored."""
        return super().memory_bytes + sum(a.nbytes for part in self._first for a in part)

    def _learn_rows(self, x: Array, y: Array, weight: Array | None) -> Array:
        is_open = self._next_stop <= LAST_ESTIMATE  # the width
        scores = super()._learn_rows(x, y, weight)
        if is_open:
            weight = np.ones(len(x)) if weight is None else weight
            learned = weight > 0
            if learned.any():
                self._first.append((x[learned], y[learned], weight[learned]))
        return scores

    def estimate(self) -> None:
        """Take the width from the rows so far and learn them again."""
        x, y, weight = (np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*self._first, strict=True))
        total = float(typical(x).var(axis=0).sum())
        if total > 0:
            self.engine.clear(y.shape[1])
            self._scaled.gamma = self.options.width / (2 * total)
            self.engine.learn(x, y, weight)
        self._first = [] if self.rows >= LAST_ESTIMATE else [(x, y, weight)]

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        super().rearrange_outputs(sources, signs)
        sign = np.array(signs)
        self._first = [(x, np.where(sign == 0, -1.0, sign * y[:, sources]), weight) for x, y, weight in self._first]

    def state(self) -> State:
        stored = zip(ROWS, zip(*self._first, strict=True), strict=True) if self._first else ()
        return super().state() | {name: np.concatenate(parts) for name, parts in stored}

    def restore(self, state: State) -> None:
        stored = "first_rows" in state
        if stored:
            side, sizes = Size("rows"), {"outputs": len(state["weights"])}
            shapes = ((side, self.n_features), (side, sizes["outputs"]), (side,))
            for name, shape in zip(ROWS, shapes, strict=True):
                low = 0.0 if name == "first_weights" else -np.inf
                check_field(Field(self, name, shape, low=low), state, sizes)
            if self.options.gamma is not None or not sizes["rows"]:
                raise ValueError("state: first_rows are stored, though the width is known")
        elif self.options.gamma is None and 0 < state["rows"] < LAST_ESTIMATE:
            raise ValueError("state: first_rows is missing, though the width is still open")
        super().restore(state)
        first = tuple(np.array(state[name], dtype=np.float64) for name in ROWS) if stored else ()
        self._first = [first] if len(first) == 3 else []
        self.plan()


def typical(x: Array) -> Array:
    """The rows (n, d) without outliers."""
    distance = ((x - np.median(x, axis=0)) ** 2).sum(axis=1)
    return np.asarray(x[distance <= OUTLIER * np.median(distance)])
