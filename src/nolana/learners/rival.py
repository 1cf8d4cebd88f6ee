"""The driver of a rival: which engine runs it, its kernel width, and the lock.

A rival is described by a `Part`: the name of its class and its arguments, some of which are parts again. The same
part builds the compiled object or its NumPy twin.

``gamma=None`` takes the width from the data: `width` / (2 sum_j var_j), so many over the mean squared distance of two
rows, re-estimated at 2, 4, ..., 64 rows. Rivals cannot be re-mapped, so until row 64 the rows are kept and learned
again with the new width: afterwards the learner is as if the width had been known from the first row.
"""

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import reference
from nolana._backend import engine
from nolana.learners.lock import FairLock
from nolana.reference.checks import check_shapes

Array = NDArray[np.float64]
State = dict[str, Any]

LAST_ESTIMATE = 64

HOMES = {
    "Unbounded": "passive_aggressive",
    "Capped": "passive_aggressive",
    "Softened": "passive_aggressive",
    "Margin": "passive_aggressive",
    "Band": "passive_aggressive",
    "PassiveAggressive": "passive_aggressive",
    "KernelPassiveAggressive": "passive_aggressive",
    "FOGD": "fogd",
    "RRF": "rrf",
    "DualSGD": "dual_sgd",
    "DoublySGD": "doubly_sgd",
    "KernelOGD": "kernel_ogd",
    "BOGD": "bogd",
    "RBP": "rbp",
    "Forgetron": "forgetron",
    "BSGDRemove": "bsgd",
    "BSGDProject": "bsgd",
    "BSGDMerge": "bsgd",
    "Projectron": "projectron",
    "ProjectronPlusPlus": "projectron",
    "BPASimple": "bpa",
    "BPANearest": "bpa",
}


@dataclass(frozen=True)
class Part:
    """An object of an engine, before the engine is known."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def build(self, module: Any) -> Any:
        given = {
            key: value.build(module) if isinstance(value, Part) else value for key, value in self.arguments.items()
        }
        return self.class_of(module)(**given)

    def class_of(self, module: Any) -> Any:
        """The class of an engine that this part is of."""
        if module is not reference:
            return getattr(module.rivals, self.name, None) or getattr(module, self.name)
        if self.name in HOMES:
            return getattr(importlib.import_module(f"nolana.learners.{HOMES[self.name]}"), self.name)
        return getattr(reference, self.name)


class RivalLearner:
    """``learn(X, Y) -> scores`` of a rival with c outputs; the caller holds the lock."""

    largest = 1e60
    runs_user_code = False

    def __init__(self, part: Part, features: int, outputs: int, gamma: float | None, width: float = 1.0) -> None:
        self.part, self.features, self.given_gamma, self.width = part, features, gamma, width
        self.lock = FairLock()
        self._module: Any = engine()
        self._rival = part.build(self._module)
        self._rival.clear(outputs)
        if gamma is not None:
            self._rival.gamma = gamma
        self._first: list[tuple[Array, Array, Array]] = []  # rows, targets and weights while the width is open

    @property
    def n_features(self) -> int:
        return self.features

    @property
    def rows(self) -> int:
        return int(self._rival.rows)

    @property
    def outputs(self) -> int:
        return int(self._rival.outputs)

    @property
    def gamma(self) -> float:
        return float(self._rival.gamma)

    @property
    def memory_bytes(self) -> int:
        """State and scratch; for the first rows also what is kept of them."""
        return int(self._rival.memory_bytes) + sum(a.nbytes for part in self._first for a in part)

    def learn(self, x: Array, y: Array, weight: Array | None = None) -> Array:
        """What each row scored before it was learned."""
        if self.given_gamma is not None or self.rows >= LAST_ESTIMATE:
            return np.asarray(self._rival.learn(x, y, weight))
        scores = np.empty(y.shape)
        start = 0
        while start < len(x):
            before = self.rows
            due = len(x) - start if before >= LAST_ESTIMATE else (1 << max(1, before.bit_length())) - before
            rows = slice(start, min(len(x), start + due))
            weights = np.ones(rows.stop - rows.start) if weight is None else weight[rows]
            scores[rows] = self._rival.learn(x[rows], y[rows], weights)
            if before < LAST_ESTIMATE:
                self._first.append((x[rows].copy(), y[rows].copy(), weights.copy()))
                if self.rows != before and self.rows >= 2 and self.rows & (self.rows - 1) == 0:
                    self._estimate()
            start = rows.stop
        return scores

    def _estimate(self) -> None:
        """Take the width from the rows so far and learn them again."""
        x, y, weight = (np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*self._first, strict=True))
        total = float(x[weight > 0].var(axis=0).sum())
        if total > 0:
            self._rival.clear(y.shape[1])
            self._rival.gamma = self.width / (2 * total)
            self._rival.learn(x, y, weight)
        self._first = [] if self.rows >= LAST_ESTIMATE else [(x, y, weight)]

    def scores(self, x: Array) -> Array:
        return np.asarray(self._rival.scores(x))

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        """Output o becomes signs[o] times the old output sources[o]; sign 0 is a class not seen so far."""
        state = self._rival.state()
        sign = np.array(signs)
        for name in ("weights", "fourier_weights"):
            if name in state:
                state[name] = np.ascontiguousarray(sign[:, None] * state[name][sources])
        self._rival.restore(state)
        self._first = [(x, np.where(sign == 0, -1.0, sign * y[:, sources]), weight) for x, y, weight in self._first]

    def state(self) -> State:
        """Everything that was learned, as named arrays and numbers."""
        own: State = dict(self._rival.state())
        if self._first:
            names = ("first_rows", "first_targets", "first_weights")
            own |= {
                name: np.concatenate(parts) for name, parts in zip(names, zip(*self._first, strict=True), strict=True)
            }
        return own

    def restore(self, state: State) -> None:
        """Continue from an exported state."""
        kept = "first_rows" in state
        if kept:
            rows = len(state["first_rows"])
            own = {"first_rows": (rows, self.features), "first_weights": (rows,)}
            check_shapes(state, own | {"first_targets": (rows, len(state["weights"]))})
            if self.given_gamma is not None or not rows:
                raise ValueError("state: rows are kept, though the width is known")
        elif self.given_gamma is None and 0 < state["rows"] < LAST_ESTIMATE:
            raise ValueError("state: the first rows are missing, though the width is still open")
        self._rival.restore(state)
        self._first = [(state["first_rows"], state["first_targets"], state["first_weights"])] if kept else []

    def twin(self) -> "RivalLearner":
        """A learner of its own in the same state; the caller holds the lock."""
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        return copied

    def __getstate__(self) -> State:
        return {
            "part": self.part,
            "features": self.features,
            "outputs": self.outputs,
            "gamma": self.given_gamma,
            "width": self.width,
            "learned": self.state(),
        }

    def __setstate__(self, saved: State) -> None:
        names = ("part", "features", "outputs", "gamma", "width")
        self.__init__(*(saved[name] for name in names))  # type: ignore[misc]
        self.restore(saved["learned"])
