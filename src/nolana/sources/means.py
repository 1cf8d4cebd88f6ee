"""A missing value becomes the mean of its column over the rows before."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RunningMeans"]

SCALE = 2.0**-40  # an exact factor under which no sum of 2^40 doubles overflows
LARGEST = np.finfo(np.float64).max


class RunningMeans:
    """Means of c columns over the rows before: the value for row i is the mean of the rows before i, 0 at first.

    Sums are added one row after the other, so that the size of blocks changes no bit.
    """

    def __init__(self, c: int, *, frozen: bool) -> None:
        self._sums, self._counts, self._frozen = np.zeros(c), np.zeros(c, dtype=np.int64), frozen

    def fill(self, x: NDArray[np.float64], missing: NDArray[np.bool_]) -> None:
        """Writes the means into x (n, c) where it is missing (n, c), and adds the other values to them."""
        if self._frozen:
            x[missing] = np.broadcast_to(_means(self._sums, self._counts), x.shape)[missing]
            return
        seen = np.where(missing, 0.0, x) * SCALE
        sums = np.add.accumulate(np.vstack([self._sums, seen]), axis=0)
        counts = np.add.accumulate(np.vstack([self._counts, ~missing]), axis=0, dtype=np.int64)
        if missing.any():
            x[missing] = _means(sums[:-1][missing], counts[:-1][missing])
        self._sums, self._counts = sums[-1].copy(), counts[-1].copy()

    def add(self, x: NDArray[np.float64]) -> None:
        """Adds the values of x (n, c), none of which is missing."""
        if not self._frozen and len(x):
            self._sums = np.add.accumulate(np.vstack([self._sums, x * SCALE]), axis=0)[-1].copy()
            self._counts = self._counts + len(x)

    def state(self) -> dict[str, Any]:
        """Sums (scaled) and counts."""
        return {"sums": self._sums.copy(), "counts": self._counts.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from what ``state`` returned."""
        sums = np.array(state["sums"], dtype=np.float64)
        counts = np.array(state["counts"], dtype=np.int64)
        if sums.shape != self._sums.shape or counts.shape != sums.shape:
            raise ValueError(f"the state has means of {sums.shape} columns, the plan {self._sums.shape}")
        self._sums, self._counts = sums, counts


def _means(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(sums / np.maximum(counts, 1) / SCALE, -LARGEST, LARGEST))
