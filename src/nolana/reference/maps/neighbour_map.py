"""The most recent rows themselves: the nearest of them, in nested windows.

A ring buffer has the last W rows, in fixed point: whole steps of 1/40, clipped to +-127. Distances are then whole
numbers and exact. For each window (the last 100, 316, 1,000, ... rows) the map gives the `neighbours` rows with the
smallest distances; of two equal ones the more recent.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.reference.bounds import Count, Numbers
from nolana.reference.maps.map import Array, Map
from nolana.reference.state import Field, Size

STEPS = 40.0  # in a unit
LARGEST = 127.0


class NeighbourMap(Map):
    """windows (w,) ascending; recent (rows, d) in steps, the oldest first."""

    def __init__(self, features: Count, windows: Numbers, neighbours: Count) -> None:
        super().__init__(features)
        sizes = [int(n) for n in windows]
        if sizes != sorted(set(sizes)) or sizes[0] < neighbours or (np.array(sizes) != windows).any():
            raise ValueError(
                "windows are whole numbers in ascending order, the first at least the number of neighbours"
            )
        self.windows, self.neighbours = sizes, neighbours
        self.self_value = 1.0
        self.clear()

    @property
    def side(self) -> int:
        return self.neighbours

    def clear(self) -> None:
        self.recent: NDArray[np.float32] = np.zeros((0, self.features), dtype=np.float32)

    def fields(self) -> list[Field]:
        rows = Size("recent", self.windows[-1])
        return [Field(self, "recent", (rows, self.features), dtype=np.float32, whole=True, low=-LARGEST, high=LARGEST)]

    def prior(self) -> Array:
        raise ValueError("neighbours have no prior matrix")

    def prior_product(self) -> Array:
        raise ValueError("neighbours have no prior matrix")

    def evaluate(self, x: Array) -> None:
        self.row = np.clip(np.rint(x * STEPS), -LARGEST, LARGEST)
        newest_first = self.recent[::-1].astype(np.float64)
        self.distances = ((newest_first - self.row) ** 2).sum(axis=1)

    def nearest(self, window: int) -> tuple[NDArray[np.intp], Array]:
        """Ages (0 is the last row) and squared distances in this window, the nearest first."""
        inside = self.distances[: self.windows[window]]
        ages = np.argsort(inside, kind="stable")[: self.neighbours]
        return ages, inside[ages]

    def after(self, step: int) -> None:
        self.recent = np.vstack([self.recent, self.row.astype(np.float32)])[-self.windows[-1] :]
