"""The most recent rows themselves: the nearest of them, in nested windows.

A ring buffer has the last W rows, in fixed point: whole steps of 1/40 (or of 1/`steps`), clipped to +-127. Distances
(sums of absolute differences) are then integers and exact. For each window (the last 100, 316, 1,000, ... rows)
the map gives the `neighbours` rows with the smallest distances; of two equal ones the more recent.

More than 64 features are sketched to 64 sums of features with random signs, each feature in one of them, over the root
of their number: distances stay the same on average (Charikar, Chen, Farach-Colton, "Finding frequent items in data
streams", ICALP 2002), and four times as many rows of 256 features have room, which is worth more.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Numbers, Positive, Seed
from nolana.engine.base.draw import draws, shuffle
from nolana.engine.base.state import Field, Size
from nolana.engine.experts.map import Array, Map

STEPS = 40.0  # in a unit
WIDEST = 64  # numbers of a stored row
LARGEST = 127.0


def draw_sketch(features: int, seed: int) -> Array:
    """For each of more than 64 features +-(1 + the place of its sum) (d,); the same as the core, bit for bit.

    Places are a permutation modulo 64, so that sums have equally many features.
    """
    words = draws(seed, np.arange(features, dtype=np.uint64))
    places = shuffle(np.arange(features), words) % WIDEST + 1
    return np.where(words & np.uint64(1), places, -places).astype(np.float64)


def is_sketch(drawn: Array, features: int) -> bool:
    """Whether these numbers could have been drawn."""
    return features > WIDEST and len(drawn) == features and bool(np.isin(np.abs(drawn), np.arange(1, WIDEST + 1)).all())


class NeighbourMap(Map):
    """windows (w,) ascending; recent (rows, width) in steps, the oldest first.

    The sketch is drawn from the seed unless `drawn` (d,) has it.
    """

    def __init__(
        self,
        features: Count,
        windows: Numbers,
        neighbours: Count,
        seed: Seed = 0,
        drawn: Numbers | None = None,
        steps: Positive = STEPS,
    ) -> None:
        super().__init__(features)
        if not 0 < steps < np.inf:
            raise ValueError("steps are a positive number")
        self.steps = steps
        self.width = min(features, WIDEST)
        self.places, self.factors = np.arange(features), np.ones(features)
        if drawn is not None and not is_sketch(drawn, features):
            raise ValueError("drawn is not the sketch of so many features")
        if features > WIDEST:
            drawn = draw_sketch(features, seed) if drawn is None else drawn
            self.places = np.abs(drawn).astype(np.intp) - 1
            self.factors = np.sign(drawn) / np.sqrt(features / WIDEST)
        sizes = [int(n) for n in windows]
        if sizes != sorted(set(sizes)) or sizes[0] < neighbours or (np.array(sizes) != windows).any():
            raise ValueError("windows are integers in ascending order, the first at least the number of neighbours")
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
        self.row = np.clip(np.rint(sums * self.steps), -LARGEST, LARGEST)
        newest_first = self.recent[::-1].astype(np.float64)
        self.distances = np.abs(newest_first - self.row).sum(axis=1)

    def nearest(self, window: int) -> tuple[NDArray[np.intp], Array]:
        """Ages (0 is the last row) and distances in this window, the nearest first."""
        inside = self.distances[: self.windows[window]]
        ages = np.argsort(inside, kind="stable")[: self.neighbours]
        return ages, inside[ages]

    def observe(self) -> None:
        self.after(0)

    @property
    def stored(self) -> int:
        return len(self.recent)

    def distance(self, window: int) -> float:
        """The mean distance of the row to the nearest of the last `window` rows, in units; 0 if there are none."""
        return self.mean_distance(self.distances[:window])

    def past_distances(self, rows: int, window: int) -> Array:  # (rows,)
        """The same for the last stored rows, the oldest first, each with the rows before it."""
        if rows > len(self.recent):
            raise ValueError("there are fewer rows")
        found = np.empty(rows)
        for i, at in enumerate(range(len(self.recent) - rows, len(self.recent))):
            before = self.recent[max(0, at - window) : at]
            found[i] = self.mean_distance(np.abs(before - self.recent[at]).sum(axis=1, dtype=np.float64))
        return found

    def mean_distance(self, distances: Array) -> float:
        nearest = np.sort(distances)[: self.neighbours]
        return float(nearest.sum() / len(nearest) / self.steps) if len(nearest) else 0.0

    def after(self, step: int) -> None:
        self.recent = np.vstack([self.recent, self.row.astype(np.float32)])[-self.windows[-1] :]
