"""Cells: random grids whose bins are hashed into one table; a row has one active cell in each grid.

The kernel that the cells of many grids stand for is Laplacian-like; the cost of a row is one table look-up for each
grid, whatever the size of the table. For grid g over its features:

    bin_j = floor(z_j/pitch_gj + offset_gj),   key = (sum_j bin_j r_j, sum_j bin_j s_j) mod 2^16 each, as 32 bits
    slot = mixed(key + salt_g) N >> 32

The grids are drawn in `nolana.engine.experts.bins.grids`. Everything is in integers: z in steps of 1/2048.

In the smaller grids the bin of a category is 16 bits of its hash. A missing number has a bin of its own in every grid:
a constant, because z is 0 then and its bin too.

Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007 (random binning); Wu, Yen, Chen, Yan,
"Revisiting Random Binning Features", KDD 2016.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Numbers, Seed
from nolana.engine.experts.bins.grids import FRACTION, LARGEST, SCALE, Grids, draw_grids
from nolana.engine.experts.effects.keys import column_hash
from nolana.engine.experts.map import Array, Map

MOST_SLOTS = 2**31
MISSING = 0x5EB1


class SparseMap(Map):
    """A short list of active places in a table, and the row itself for a linear part."""

    slots: NDArray[np.intp]  # (grids,) of the row at hand
    dense: Array  # (d + 1,), in single precision; the last one is 1
    grids: int
    table: int  # N

    @abstractmethod
    def slots_with(self, feature: int, value: float) -> NDArray[np.intp]:
        """The active places of the row with another value of a feature; a category becomes none at all."""


class BinMap(SparseMap):
    """`grids` random grids, drawn from a seed unless `drawn` has what was drawn; `table` slots."""

    def __init__(
        self,
        features: Count,
        table: Count,
        grids: Count,
        seed: Seed,
        relevance: Numbers | None = None,
        drawn: Numbers | None = None,
        categories: Numbers | None = None,
    ) -> None:
        super().__init__(features)
        if features < 1 or grids < 1:
            raise ValueError("a cell map needs features and grids")
        if not 1 <= table <= MOST_SLOTS:
            raise ValueError("the table needs 1 to 2^31 slots")
        if relevance is not None and (len(relevance) != features or not (relevance > 0).all()):
            raise ValueError("relevance has one positive number for each feature")
        mixed = categories is not None
        drawn = draw_grids(features, grids, seed, relevance, mixed) if drawn is None else drawn
        self.drawn = Grids.of(features, grids, drawn, mixed)
        columns = np.zeros(0) if categories is None else categories
        if not ((columns >= 0) & (columns < features)).all():
            raise ValueError("a category names a column that does not exist")
        self.is_category: NDArray[np.bool_] = np.isin(np.arange(features), columns.astype(int))
        self.codes: NDArray[np.int64] = np.zeros(features, dtype=np.int64)
        # In the order of the slots.
        self.used = [(b, lane) for b, bundle in enumerate(self.drawn.bundles) for lane in range(bundle.used)]
        self.grids, self.table = grids, table
        self.self_value = 1.0

    @property
    def side(self) -> int:
        return self.table

    def see(self, raw: Array | None) -> None:
        self.codes = np.zeros(self.features, dtype=np.int64) if raw is None else self.codes_of(raw)

    def codes_of(self, raw: Array) -> NDArray[np.int64]:  # (d,) -> (d,)
        """What is added to the bins of features: the category, or that the value is missing."""
        codes = np.where(np.isnan(raw), MISSING, 0)
        for j in np.flatnonzero(self.is_category):
            codes[j] = column_hash(int(j), float(raw[j])) >> 48 | 1
        return codes

    def evaluate(self, x: Array) -> None:
        self.dense = np.append(x.astype(np.float32), np.float32(1)).astype(np.float64)
        self.slots = self.slots_of(x, self.codes)

    def slots_with(self, feature: int, value: float) -> NDArray[np.intp]:
        z, codes = self.dense[:-1].copy(), self.codes.copy()
        z[feature], codes[feature] = value, 0
        return self.slots_of(z, codes)

    def slots_of(self, z: Array, codes: NDArray[np.int64] | None = None) -> NDArray[np.intp]:
        codes = np.zeros(self.features, dtype=np.int64) if codes is None else codes
        steps = np.clip(np.rint(z.astype(np.float32).astype(np.float64) * SCALE), -LARGEST, LARGEST).astype(np.int64)
        keys = [self.keys(b, steps, codes) for b in range(len(self.drawn.bundles))]
        return np.array(
            [self.slot(int(keys[b][lane]), int(self.drawn.salt[b, lane])) for b, lane in self.used], np.intp
        )

    def keys(self, b: int, steps: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:  # (d,) -> (16,)
        """The keys of a bundle: whole grids see the effect of a category, the smaller ones the category itself."""
        drawn, n = self.drawn, self.drawn.bundles[b].size
        if drawn.bundles[b].half:
            steps = np.where(self.is_category, 0, steps)
        else:
            codes = np.where(self.is_category, 0, codes)
        at = drawn.index[b] if drawn.bundles[b].names else np.arange(n)[:, None]
        bins = ((steps[at] * drawn.inverse_pitch[b] >> 16) + drawn.offset[b]) // FRACTION + codes[at]
        low, high = ((bins * r[:n, None]).sum(axis=0) & 0xFFFF for r in drawn.multipliers)
        return np.asarray(low | high << 16)

    def slot(self, key: int, salt: int) -> int:
        key = ((key + salt) * 0x85EBCA6B) & 0xFFFFFFFF
        key = ((key ^ (key >> 15)) * 0xC2B2AE35) & 0xFFFFFFFF
        key ^= key >> 13
        return key * self.table >> 32
