"""A distribution in bounded memory: all values while they are few, then a summary with a bound on its error.

Buffers of k sorted points are arranged in levels. Two buffers on one level are merged: of each pair of neighbours one
moves to the next level with the weight of both, alternately the lower and the upper one, so that errors cancel.
One such collapse moves the distribution function by no more than the weight of one point. A level sees half as many
collapses as the one below, each twice as heavy, so after n rows of weight 1 the share of rows below any value is wrong
by at most about log2(n / k) / (4 k). The stored bound counts the actual collapses: equal values add nothing.

J. I. Munro, M. S. Paterson. Selection and sorting with limited storage. 1980.
G. S. Manku, S. Rajagopalan, B. G. Lindsay. Approximate medians and other quantiles in one pass. 1998.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import State

__all__ = ["Quantiles"]

Array = NDArray[np.float64]

POINTS = 2048  # k, points of a buffer
LEVELS = 48  # enough for k 2^48 rows, more than any stream has


class Quantiles:
    """Weighted values, and how many of them lie below a value.

    Collapses happen at fixed numbers of values, so blocks may be cut anywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics.quantiles import Quantiles
    >>> seen = Quantiles()
    >>> seen.add(np.arange(100000.0), np.ones(100000))
    >>> values, weights = seen.points()
    >>> abs(weights[values < 50000].sum() / 100000 - 0.5) <= seen.error <= 0.001
    True
    """

    def __init__(self) -> None:
        self._recent: list[Array] = []  # pieces (2, n) of values and weights, fewer than k together
        self._waiting = 0  # how many
        self._levels: list[Array | None] = []  # (2, k) each, sorted by value
        self._collapses: list[int] = []  # of each level
        self._above = self._below = 0.0  # weight that may appear too low, too high

    def add(self, values: Array, weights: Array) -> None:
        """Count values (n,) with their weights (n,), all above 0."""
        points = np.array([values, weights], dtype=np.float64)
        while points.shape[1]:
            taken = points[:, : POINTS - self._waiting]
            points = points[:, taken.shape[1] :]
            self._recent.append(taken)
            self._waiting += taken.shape[1]
            if self._waiting == POINTS:
                full = _sorted(self._recent)
                self._recent, self._waiting = [], 0
                self._carry(full)
            elif len(self._recent) > 64:  # for blocks of one row: join the pieces
                self._recent = [np.concatenate(self._recent, axis=1)]

    def _carry(self, points: Array) -> None:
        """Add a full buffer, like adding 1 to a binary number."""
        for level, buffer in enumerate(self._levels):
            if buffer is None:
                self._levels[level] = points
                return
            points = self._collapse(level, _sorted([buffer, points]))
            self._levels[level] = None
        self._levels.append(points)
        self._collapses.append(0)

    def _collapse(self, level: int, points: Array) -> Array:  # (2, 2k) -> (2, k)
        values, weights = points.reshape(2, -1, 2).transpose(0, 2, 1)
        side = self._collapses[level] % 2
        self._collapses[level] += 1
        moved = float(np.where(values[0] < values[1], weights[1 - side], 0.0).max())
        if side == 0:
            self._above += moved
        else:
            self._below += moved
        return np.array([values[side], weights[0] + weights[1]])

    def merge(self, other: "Quantiles", sign: float = 1.0) -> None:
        """Count the values of another one, times 1 or -1."""
        values, weights = other.points()
        above, below = (other._above, other._below) if sign > 0 else (other._below, other._above)
        self._above, self._below = self._above + above, self._below + below
        self.add(sign * values, weights)

    def points(self) -> tuple[Array, Array]:
        """Sorted values and their weights."""
        parts = [part for part in [*reversed(self._levels), *self._recent] if part is not None]
        values, weights = _sorted(parts) if parts else np.zeros((2, 0))
        return values, weights

    @property
    def error(self) -> float:
        """The largest error of the share of weight below a value; 0 while all values are stored."""
        worst = max(self._above, self._below)
        return worst / float(self.points()[1].sum()) if worst else 0.0

    def state(self) -> State:
        """Everything, as plain data."""
        return {
            "recent": np.concatenate([np.zeros((2, 0)), *self._recent], axis=1),
            "levels": [None if level is None else level.copy() for level in self._levels],
            "collapses": list(self._collapses),
            "above": self._above,
            "below": self._below,
        }

    def restore(self, state: State) -> None:
        """Continue from an exported state."""
        recent = np.array(state["recent"], dtype=np.float64)
        levels = [None if level is None else np.array(level, dtype=np.float64) for level in state["levels"]]
        collapses = [int(count) for count in state["collapses"]]
        if recent.ndim != 2 or len(recent) != 2 or recent.shape[1] >= POINTS:
            raise ValueError(f"recent points must be (2, n), n below {POINTS}; got {recent.shape}")
        if len(levels) > LEVELS or len(collapses) != len(levels):
            raise ValueError(f"at most {LEVELS} levels, each with its count; got {len(levels)} and {len(collapses)}")
        for level in levels:
            if level is not None and level.shape != (2, POINTS):
                raise ValueError(f"a level of points must be (2, {POINTS}); got {level.shape}")
        self._recent, self._waiting = [recent], recent.shape[1]
        self._levels, self._collapses = levels, collapses
        self._above, self._below = float(state["above"]), float(state["below"])


def _sorted(parts: list[Array]) -> Array:
    """Points (2, n) in the order of their values; equal values stay in their order."""
    points = np.concatenate(parts, axis=1)
    return points[:, np.argsort(points[0], kind="stable")]
