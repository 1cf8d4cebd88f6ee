"""Which slots of a hash table the categories of a row have.

A table of S slots in buckets of four; a slot has a fingerprint of 15 bits (0: empty) and a share s of the prior
variance of its weight. For the value of column j, h = hash(j, key):

    bucket = (h >> 32) (S/4) >> 32,   fingerprint = 1 + h mod 32767

Search the bucket. A value without a slot that is learned takes an empty one; else the slot of largest s wears,
s += .05 (1 - s), and once s > .9 the new value takes it; otherwise the row does without. Weights that are known well
wear slowly, so that a value seen once never drives out a frequent one. Predictions wear nothing.

The active values of a row are those of its categorical columns, of numeric columns that are missing (the indicator of a
missing value), and of pairs of categorical columns, which have a table of their own.

Fingerprints in buckets: Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", CoNEXT
2014.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Numbers
from nolana.engine.base.draw import WORD, below, mixed
from nolana.engine.base.state import Field, count
from nolana.engine.experts.effects.keys import column_hash
from nolana.engine.experts.map import Array, Map

PAIRS = 6
WAYS = 4
FINGERPRINTS = 32767
SHARE_STEPS = np.float32(65535)  # of the share 1
WEAR, WORN = np.float32(0.05), np.float32(0.9)
NONE = -1


class Active(NamedTuple):
    """A value of a column, or of a pair of columns, in the row at hand."""

    column: int  # features + p is pair p
    slot: int  # NONE: it has no slot
    hash: int


class EffectMap(Map):
    """fingerprints (S,) and shares (S,) in steps: `slots` of columns, then `pair_slots` of pairs."""

    def __init__(
        self, features: Count, categories: Numbers, slots: Count, pair_slots: Count, wears: bool = True
    ) -> None:
        super().__init__(features)
        if slots < 1 or slots % WAYS or pair_slots < 1 or pair_slots % WAYS:
            raise ValueError("the tables need a multiple of four slots")
        if not ((categories >= 0) & (categories < features)).all():
            raise ValueError("a category names a column that does not exist")
        self.is_category: NDArray[np.bool_] = np.isin(np.arange(features), categories.astype(int))
        self.slots, self.pair_slots, self.wears = slots, pair_slots, wears
        self.self_value = 1.0
        self.clear()

    @property
    def side(self) -> int:
        return self.slots + self.pair_slots

    def clear(self) -> None:
        self.fingerprints: NDArray[np.float32] = np.zeros(self.side, dtype=np.float32)
        self.shares: NDArray[np.float32] = np.full(self.side, SHARE_STEPS)
        self.pairs: Array = np.full(2 * PAIRS, -1.0)
        self.open: Array = np.zeros(PAIRS)
        self.evicted = 0
        self.active: list[Active] = []

    def see(self, raw: Array | None) -> None:
        assert raw is not None, "effects need the rows as they came"
        hashes = {j: column_hash(j, float(x)) for j, x in enumerate(raw) if self.is_category[j] or math.isnan(x)}
        self.active = [Active(j, self.find(h, False), h) for j, h in hashes.items()]
        for p in range(PAIRS):
            if self.has_pair(p):
                a, b = (hashes[int(j)] for j in self.pairs[2 * p : 2 * p + 2])
                h = mixed((a + mixed(b)) & WORD)
                self.active.append(Active(self.features + p, self.find(h, True), h))

    def evaluate(self, x: Array) -> None:
        self.phi = x

    def has_pair(self, p: int) -> bool:
        """Two categorical columns: a state may name others, which have no keys."""
        a, b = self.pairs[2 * p : 2 * p + 2].astype(int)
        return bool(a >= 0 and b >= 0 and self.is_category[a] and self.is_category[b])

    def is_open(self, column: int) -> bool:
        """Whether the effects of a column or pair count in the scores."""
        return column < self.features or bool(self.open[column - self.features] > 0)

    def bucket(self, h: int, pair: bool) -> range:
        """The slots that a value may have."""
        first = below(h, (self.pair_slots if pair else self.slots) // WAYS) * WAYS + (self.slots if pair else 0)
        return range(first, first + WAYS)

    def find(self, h: int, pair: bool) -> int:
        return next((i for i in self.bucket(h, pair) if self.fingerprints[i] == 1 + h % FINGERPRINTS), NONE)

    def claim(self) -> list[int]:
        """Slots for the values of the row that have none, if there is room; returns the new ones."""
        taken = []
        for i, each in enumerate(self.active):
            if each.slot == NONE and (slot := self.claimed(each)) != NONE:
                self.fingerprints[slot], self.shares[slot] = 1 + each.hash % FINGERPRINTS, SHARE_STEPS
                self.active[i] = each._replace(slot=slot)
                taken.append(slot)
        return taken

    def claimed(self, each: Active) -> int:
        bucket = self.bucket(each.hash, each.column >= self.features)
        empty = next((i for i in bucket if self.fingerprints[i] == 0), NONE)
        if empty != NONE or not self.wears:
            return empty
        largest = max(bucket, key=lambda i: self.shares[i])
        s = self.shares[largest]
        self.shares[largest] = s + np.floor(WEAR * (SHARE_STEPS - s))
        if not self.shares[largest] > WORN * SHARE_STEPS:
            return NONE
        self.evicted += 1
        return largest

    def fields(self) -> list[Field]:
        last = float(self.features - 1)
        return [
            Field(self, "fingerprints", (self.side,), dtype=np.float32, whole=True, low=0.0, high=FINGERPRINTS),
            Field(self, "shares", (self.side,), dtype=np.float32, whole=True, low=1.0, high=float(SHARE_STEPS)),
            Field(self, "pairs", (2 * PAIRS,), whole=True, low=-1.0, high=last),
            Field(self, "open", (PAIRS,), low=0.0, high=1.0),
            count(self, "evicted"),
        ]
