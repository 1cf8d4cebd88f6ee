"""The parts of a merge: what each learned after their common base."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State
from nolana.engine.learner.residual_variance import SLOWEST as SLOWEST_VARIANCE

Array = NDArray[np.float64]


def entries(state: State, prefix: str) -> State:
    """The entries whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class Gain:
    """The gain of a running mean at row t (from 1): max(slowest, first/(t + offset)), at most 1."""

    slowest: float
    first: float = 0.0
    offset: float = 0.0

    def share(self, before: float, rows: float) -> float:
        """The share that the last `rows` rows have in the running mean; `before` rows came before them."""
        last_fast = self.first / self.slowest - self.offset if self.first else 0.0
        fast = int(np.clip(last_fast - before, 0, rows))
        t = before + 1 + np.arange(fast)
        gains = np.minimum(1.0, np.maximum(self.slowest, self.first / (t + self.offset)))
        return float(1 - np.prod(1 - gains) * (1 - self.slowest) ** (rows - fast))


VARIANCE_GAIN = Gain(SLOWEST_VARIANCE, 1.0, 10.0)  # of `ResidualVariance`


@dataclass(frozen=True)
class Parts:
    """States (k) with the rows that each learned after the base; `before` are the rows of the base."""

    base: State
    states: list[State]
    rows: Array  # (k,)
    before: int
    absent: tuple[tuple[int, ...], ...] = ()  # for each part the outputs whose class it never saw

    def saw(self, part: int, outputs: int) -> Array:  # (c,)
        """1 for each output whose class a part saw, else 0: it learned nothing about the others."""
        seen = np.ones(outputs)
        seen[list(self.absent[part]) if self.absent else []] = 0.0
        return seen

    @property
    def total(self) -> float:
        """Rows after the base."""
        return float(self.rows.sum())

    def only(self, prefix: str) -> "Parts":
        """The entries whose names begin with the prefix, without it."""
        states = [entries(state, prefix) for state in self.states]
        return replace(self, base=entries(self.base, prefix), states=states)

    def sum(self, name: str) -> Any:
        """base + sum of the changes: counts and sums."""
        base = self.base[name]
        return base + sum((state[name] - base for state in self.states), start=0 * base)

    def mean(self, name: str) -> Any:
        """The mean of the parts by their rows: what has a short memory or a constant gain."""
        return self.average(self.base[name], [state[name] for state in self.states])

    def average(self, base: Any, values: list[Any]) -> Any:
        """The mean of values by the rows of their parts; exactly the base where no part changed it."""
        shares = self.rows / self.total if self.total else self.rows
        change = sum((share * (value - base) for share, value in zip(shares, values, strict=True)), start=0 * base)
        return base + change

    def running(self, name: str, gain: Gain, before: float | None = None) -> Any:
        """A running mean by all rows; `before` are the rows of its base."""
        return self.running_values(self.base[name], [state[name] for state in self.states], gain, before)

    def running_values(self, base: Any, values: list[Any], gain: Gain, before: float | None = None) -> Any:
        """The same for values that are not in the state.

        A part has (1 - w) base + w own, w the share of its rows. Its own mean counts by its rows, and all rows together
        have their own share in the base. The order of merging does not matter.
        """
        if not self.total:
            return base
        before = self.before if before is None else before
        share, change = gain.share(before, self.total) / self.total, 0 * base
        for rows, value in zip(self.rows, values, strict=True):
            if rows:
                change = change + share * rows / gain.share(before, rows) * (value - base)
        return base + change
