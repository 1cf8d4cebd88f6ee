"""Robust scaling in front of a learner that cannot be re-mapped.

The anchors of `RobustScaling` are set at 2, 4, ..., 512 rows. Until row 512 the rows are stored in the units of the
input, and at each anchor a new learner learns them again: afterwards the learner is as if the scaling of row 512 had
been known from the first row. An anchor that one feature gets later (its spread collapsed, or it was constant) changes
the rows from then on and nothing that was learned.
"""

import numpy as np

from nolana.backend import backend
from nolana.engine.base.state import Field, Size
from nolana.engine.base.state import check as check_field
from nolana.engine.learner.robust_scaling import LAST_ANCHOR
from nolana.experts.parts import entries
from nolana.learner.driver import Array, Driver, Event, FairLock, State
from nolana.learner.schedule import any_anchor_row

PREFIX = "scaling/"
STORED = ("stored_rows", "stored_targets", "stored_weights")


class ScaledLearner(Driver):
    """`inner` on scaled rows; `inner` is new, or its state is restored afterwards."""

    events = (Event(any_anchor_row, lambda learner: True, lambda learner: learner.set_anchors()),)

    def __init__(self, inner: Driver) -> None:
        self.spec, self.options, self.n_features = inner.spec, inner.options, inner.n_features
        self.lock = FairLock()
        self.runs_user_code = inner.runs_user_code
        self.largest = inner.largest
        self.diverged = False
        self._module = backend()
        self._scaling = self._module.RobustScaling(inner.n_features)
        self._stored: list[tuple[Array, Array, Array]] = []  # rows, targets and weights until the last regular anchor
        self._use(inner)
        self.plan()

    def _use(self, inner: Driver) -> None:
        self.inner, self.engine = inner, inner.engine

    @property
    def gamma(self) -> float:
        """The kernel width, for scaled rows."""
        return float(self.inner.gamma)  # type: ignore[attr-defined]

    @property
    def memory_bytes(self) -> int:
        """State and scratch, with the rows that are stored."""
        stored = sum(array.nbytes for part in self._stored for array in part)
        return self.inner.memory_bytes + int(self._scaling.memory_bytes) + stored

    def scores(self, x: Array) -> Array:
        return super().scores(self._scaling.apply(x))

    def remedies(self) -> list[str]:
        return [remedy for remedy in self.inner.remedies() if not remedy.startswith("scale the features")]

    def _learn_rows(self, x: Array, y: Array, weight: Array | None) -> Array:
        before = self.rows
        scores = self.inner._learn(self._scaling.apply(x), y, weight)
        weight = np.ones(len(x)) if weight is None else weight
        learned = weight > 0
        if learned.any():
            self._scaling.observe(np.ascontiguousarray(x[learned]))
            if before < LAST_ANCHOR:
                self._stored.append((x[learned], y[learned], weight[learned]))
        return scores

    def set_anchors(self) -> None:
        """Up to the last regular ones a new learner learns the stored rows by the anchors in use."""
        if self._scaling.anchor().any() and self.rows <= LAST_ANCHOR:
            self._learn_again()
        if self.rows >= LAST_ANCHOR:
            self._stored = []

    def _learn_again(self) -> None:
        x, y, weight = (np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*self._stored, strict=True))
        inner = type(self.inner)(self.spec, self.options, self.n_features, self.outputs)
        inner._learn(self._scaling.apply(x), y, weight)
        self._stored = [(x, y, weight)]
        self._use(inner)

    def check_outputs(self, outputs: int) -> None:
        self.inner.check_outputs(outputs)

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        self.inner.rearrange_outputs(sources, signs)
        sign = np.array(signs)
        self._stored = [(x, np.where(sign == 0, -1.0, sign * y[:, sources]), weight) for x, y, weight in self._stored]

    def state(self) -> State:
        stored = zip(STORED, zip(*self._stored, strict=True), strict=True) if self._stored else ()
        scaling = {PREFIX + name: value for name, value in self._scaling.state().items()}
        return self.inner.state() | scaling | {name: np.concatenate(parts) for name, parts in stored}

    def restore(self, state: State) -> None:
        stored = self._stored_of(state)
        before = self._scaling.state()
        try:
            self._scaling.restore(entries(state, PREFIX))
            if self._scaling.rows != state["rows"]:
                raise ValueError(f"state: {PREFIX}rows differs from rows")
            self.inner.restore({k: v for k, v in state.items() if not k.startswith(PREFIX) and k not in STORED})
        except BaseException:
            self._scaling.restore(before)
            raise
        self._stored = stored
        self.plan()

    def _stored_of(self, state: State) -> list[tuple[Array, Array, Array]]:
        """The stored rows of a state; ValueError where they are not those that a learner would have stored."""
        expected = int(state["rows"]) if state["rows"] < LAST_ANCHOR else 0
        if not expected:
            if any(name in state for name in STORED):
                raise ValueError(f"state: stored_rows are not stored after {LAST_ANCHOR} rows")
            return []
        side, outputs = Size("rows"), len(state["weights"])
        for name, shape in zip(STORED, ((side, self.n_features), (side, outputs), (side,)), strict=True):
            if name not in state:
                raise ValueError(f"state: {name} is missing, though there are only {expected} rows")
            low = 0.0 if name == "stored_weights" else -np.inf
            check_field(Field(self, name, shape, low=low), state, {"rows": expected})
        x, y, weight = (np.array(state[name], dtype=np.float64) for name in STORED)
        return [(x, y, weight)]

    def __getstate__(self) -> State:
        return super().__getstate__() | {"kind": type(self.inner)}

    def __setstate__(self, saved: State) -> None:
        ScaledLearner.__init__(self, saved["kind"](*saved["arguments"]))
        self.restore(saved["state"])
        self.diverged = saved["diverged"]
