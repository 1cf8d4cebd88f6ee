"""The most recent rows themselves: the nearest of them, in nested windows.

A ring buffer has the last W rows, in fixed point: whole steps of 1/40, clipped to +-127. Distances (sums of absolute
differences) are then whole numbers and exact. For each window (the last 100, 316, 1,000, ... rows) the map gives the
`neighbours` rows with the smallest distances; of two equal ones the more recent.

More than 64 features are sketched to 64 sums of features with random signs, each feature in one of them, over the root
of their number: distances stay the same on average (Charikar, Chen, Farach-Colton, "Finding frequent items in data
streams", ICALP 2002), and four times as many rows of 256 features have room, which is worth more.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Numbers, Seed
from nolana.engine.base.state import Field, Size
from nolana.engine.experts.map import Array, Map

STEPS = 40.0  # in a unit
WIDEST = 64  # numbers of a stored row
LARGEST = 127.0


def sketch(features: int, seed: int) -> tuple[Array, Array]:
    """The place (d,) of each feature in a stored row, and its factor (d,)."""
    if features <= WIDEST:
        return np.arange(features, dtype=np.float64), np.ones(features)
    rng = np.random.Generator(np.random.PCG64(seed))
    places = rng.permutation(features) % WIDEST
    return places.astype(np.float64), rng.choice([-1.0, 1.0], features) / np.sqrt(features / WIDEST)


class NeighbourMap(Map):
    """windows (w,) ascending; recent (rows, width) in steps, the oldest first."""

    def __init__(self, features: Count, windows: Numbers, neighbours: Count, seed: Seed = 0) -> None:
        super().__init__(features)
        places, self.factors = sketch(features, seed)
        self.places, self.width = places.astype(np.intp), min(features, WIDEST)
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
        self.recent: NDArray[np.float32] = np.zeros((0, self.width), dtype=np.float32)

    def fields(self) -> list[Field]:
        rows = Size("recent", self.windows[-1])
        return [Field(self, "recent", (rows, self.width), dtype=np.float32, whole=True, low=-LARGEST, high=LARGEST)]

    def evaluate(self, x: Array) -> None:
        sums = np.zeros(self.width)
        np.add.at(sums, self.places, x * self.factors)
        self.row = np.clip(np.rint(sums * STEPS), -LARGEST, LARGEST)
        newest_first = self.recent[::-1].astype(np.float64)
        self.distances = np.abs(newest_first - self.row).sum(axis=1)

    def nearest(self, window: int) -> tuple[NDArray[np.intp], Array]:
        """Ages (0 is the last row) and distances in this window, the nearest first."""
        inside = self.distances[: self.windows[window]]
        ages = np.argsort(inside, kind="stable")[: self.neighbours]
        return ages, inside[ages]

    def after(self, step: int) -> None:
        self.recent = np.vstack([self.recent, self.row.astype(np.float32)])[-self.windows[-1] :]
