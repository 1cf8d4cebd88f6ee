"""Rows of few non-zeros: which features have a slot, their units and their frequencies.

A table has N slots; if there are more features, the most frequent ones have a slot: feature j may be in one of 8
slots (bucket mixed(j) B >> 32 of B buckets), and takes an empty one, or that of the feature with the smallest count if
its own is larger (Einziger, Friedman, Manes, "TinyLFU", ACM TOS 2017). Features without a slot are left out of the row.
Hashing with collisions instead costs 3 to 10 points on text, because rare words disturb frequent ones.

Counts are those of Morris ("Counting large numbers of events in small registers", CACM 1978), one byte each: k becomes
k + 1 with probability b^-k, and stands for (b^k - 1)/(b - 1) rows. Every 32,768 rows all counts are about halved.

For a row with the non-zeros x_j, S the scale of slot j, about the mean of |x_j|:

    q = |x_j|/S,   z_j = sgn(x_j) idf_j (q for q <= 1, else 1 + ln q, at most 13),   idf_j = 1 + ln((1 + T)/(1 + T_j))
    z <- z/|z|
    S <- |x_j| at first,  then S + (min(|x_j|, 4 S) - S)/min(256, 1 + T_j)

(T rows, T_j of them with feature j.) So counts, 0/1 and tf-idf give about the same rows, long rows weigh as much as
short ones, rare words more than frequent ones, and a feature in large units no more than others. Nothing is centred:
zeros stay zeros.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Seed
from nolana.engine.base.state import Array, Field, Stateful, count
from nolana.engine.experts.sparse_linear.sketch import mixed

WAYS = 8  # slots of a bucket
LARGEST = 13.0
MEMORY = 256.0  # values of a feature that its scale remembers
LARGEST_SCALE = 1e30  # single precision has no larger ones
CLIP = 4.0  # scales that one value counts for at most
HALVING = 32768  # rows between halvings of the counts
BASE = 1.122462048309373  # the sixth root of 2
HALF = 6.0  # steps of a count that halve it
LARGEST_COUNT = 255
MOST_SLOTS = 2**31

Single = NDArray[np.float32]
Places = NDArray[np.int32]
Starts = NDArray[np.int64]


def count_tables() -> tuple[list[float], list[int]]:
    """Rows that a count k stands for, and the chance of 2^32 that it grows."""
    rows, chances, total, power = [], [], 0.0, 1.0
    for _ in range(LARGEST_COUNT + 1):
        rows.append(total)
        chances.append(int(4294967296.0 / power))
        total += power
        power *= BASE
    return rows, chances


ROWS, CHANCES = count_tables()


def bucket_of(j: int, table: int) -> range:
    """The slots that a feature may have in a table of so many."""
    first = (mixed(j) * (table // WAYS) >> 32) * WAYS
    return range(first, first + WAYS)


def counter_of(j: int, counters: int, features: int) -> int:
    """Where the count of a feature is."""
    return j if counters == features else mixed(j ^ 0x5BD1E995) * counters >> 32


class FeatureTable(Stateful):
    """keys (N,) are the features of the slots, -1 for an empty one; scales (N,); counts (M,) of the features.

    Rows are CSR: starts (n + 1,), indices and values of the non-zeros. A learner takes their sketches with this seed.
    """

    def __init__(self, features: Count, table: Count, counters: Count, seed: Seed = 0) -> None:
        if not 1 <= table <= MOST_SLOTS or (table < features and table % WAYS):
            raise ValueError("the table needs 1 to 2^31 slots, a multiple of 8 where there are more features")
        self.features, self.table, self.counters = features, min(table, features), min(counters, features)
        self.rows, self.total, self.seed = 0, 0.0, seed
        self.keys: Array = np.full(self.table, -1.0)
        self.scales: Single = np.zeros(self.table, dtype=np.float32)
        self.counts: Single = np.zeros(self.counters, dtype=np.float32)

    def fields(self) -> list[Field]:
        return [
            count(self, "rows"),
            Field(self, "total", low=0.0),
            Field(self, "keys", (self.table,), whole=True, low=-1.0, high=self.features - 1.0),
            Field(self, "scales", (self.table,), dtype=np.float32, low=0.0),
            Field(self, "counts", (self.counters,), dtype=np.float32, whole=True, low=0.0, high=float(LARGEST_COUNT)),
        ]

    def apply(self, starts: Starts, indices: Places, values: Array) -> tuple[Places, Array]:
        """Slots and values of the non-zeros; value 0 for a feature without a slot."""
        return self._take(starts, indices, values, np.zeros(len(starts) - 1))

    def advance(
        self, starts: Starts, indices: Places, values: Array, weight: Array | None = None
    ) -> tuple[Places, Array]:
        """The same, observing each row of positive weight; -1 - slot if a feature has just got its slot."""
        return self._take(starts, indices, values, np.ones(len(starts) - 1) if weight is None else weight)

    def _take(self, starts: Starts, indices: Places, values: Array, weight: Array) -> tuple[Places, Array]:
        slots, z = np.zeros(len(values), dtype=np.int32), np.zeros(len(values))
        for r in range(len(starts) - 1):
            own = range(int(starts[r]), int(starts[r + 1]))
            learned = weight[r] > 0
            if learned:
                self.begin_row()
            for i in own:
                j, x = int(indices[i]), float(values[i])
                if learned and x != 0:
                    self.observe(j)
                slot = self.find(j)
                fresh = slot < 0 and learned and x != 0 and (slot := self.admit(j)) >= 0
                if slot >= 0:
                    slots[i] = -1 - slot if fresh else slot
                    z[i] = self.scaled(j, slot, x)
                    if learned:
                        self.follow(j, slot, abs(x))
            part = z[starts[r] : starts[r + 1]]
            norm = float(part @ part)
            part /= np.sqrt(norm) if norm > 0 else 1.0
        return slots, z

    def begin_row(self) -> None:
        """One more row; the counts may be halved."""
        self.rows += 1
        self.total += 1
        if self.rows % HALVING == 0:
            self.total /= 2
            self.counts = np.maximum(self.counts - np.float32(HALF), np.float32(0))

    def counter(self, j: int) -> int:
        return counter_of(j, self.counters, self.features)

    def observe(self, j: int) -> None:
        """The feature is in a row."""
        at = self.counter(j)
        k = int(self.counts[at])
        if k < LARGEST_COUNT and mixed(j ^ mixed(self.rows & 0xFFFFFFFF)) < CHANCES[k]:
            self.counts[at] = k + 1

    def bucket(self, j: int) -> range:
        return bucket_of(j, self.table)

    def find(self, j: int) -> int:
        """The slot of a feature; -1: it has none."""
        if self.table == self.features:
            return j if self.keys[j] == j else -1
        return next((slot for slot in self.bucket(j) if self.keys[slot] == j), -1)

    def admit(self, j: int) -> int:
        """A slot for a feature that has none, if its count is larger than that of another; else -1."""
        if self.table == self.features:
            slot = j
        else:
            counts = [
                -1.0 if self.keys[slot] < 0 else self.counts[self.counter(int(self.keys[slot]))]
                for slot in self.bucket(j)
            ]
            slot = self.bucket(j)[int(np.argmin(counts))]
            if min(counts) >= self.counts[self.counter(j)]:
                return -1
        self.keys[slot], self.scales[slot] = j, 0.0
        return slot

    def scaled(self, j: int, slot: int, x: float) -> float:
        """A value in units of its feature, times idf."""
        scale = float(self.scales[slot])
        q = abs(x) / scale if scale > 0 else float(x != 0)
        size = min(1 + np.log(q), LARGEST) if q > 1 else q
        rows = min(self.total, ROWS[int(self.counts[self.counter(j)])])
        return float(np.copysign(size * (1 + np.log((1 + self.total) / (1 + rows))), x))

    def follow(self, j: int, slot: int, size: float) -> None:
        """A value of the slot's feature."""
        scale, rows = float(self.scales[slot]), ROWS[int(self.counts[self.counter(j)])]
        if size > 0:
            gain = min(MEMORY, 1 + rows)
            scale = scale + (min(size, CLIP * scale) - scale) / gain if scale > 0 else size
            self.scales[slot] = min(scale, LARGEST_SCALE)
