"""Cells: random grids whose bins are hashed into one table; a row has one active cell in each grid.

The kernel that the cells of many grids stand for is Laplacian-like; the cost of a row is one table look-up for each
grid, whatever the size of the table. For grid g over its features:

    key = sum_j floor(z_j/pitch_gj + offset_gj) r_j + salt_g  mod 2^32,  mixed;   slot = key N >> 32

The grids are drawn in `nolana.reference.maps.grids`. All keys are exact: floors of single-precision numbers, and whole
numbers modulo 2^32.

Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007 (random binning); Wu, Yen, Chen, Yan,
"Revisiting Random Binning Features", KDD 2016.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from nolana.reference.bounds import Count, Numbers, Seed
from nolana.reference.maps.grids import draw
from nolana.reference.maps.map import Array, Map
from nolana.reference.state import Field

WORD = np.uint64(0xFFFFFFFF)
MOST_SLOTS = 2**31


class SparseMap(Map):
    """A short list of active places in a table, and the row itself for a linear part."""

    slots: NDArray[np.intp]  # (grids,) of the row at hand
    dense: Array  # (d + 1,), in single precision; the last one is 1
    grids: int
    table: int  # N

    @abstractmethod
    def slots_of(self, z: Array) -> NDArray[np.intp]:
        """The active places of a row."""


class CellMap(SparseMap):
    """`grids` random grids, drawn from a seed; `table` slots."""

    def __init__(
        self, features: Count, table: Count, grids: Count, seed: Seed, relevance: Numbers | None = None
    ) -> None:
        super().__init__(features)
        if features < 1 or grids < 1:
            raise ValueError("a cell map needs features and grids")
        if not 1 <= table <= MOST_SLOTS:
            raise ValueError("the table needs 1 to 2^31 slots")
        if relevance is not None and (len(relevance) != features or not (relevance > 0).all()):
            raise ValueError("relevance has one positive number for each feature")
        drawn = draw(features, grids, seed, relevance)
        whole = [a.astype(np.int64) for a in (drawn.order, drawn.start, drawn.size, drawn.index)]
        self.order, self.start, self.size, self.index = whole
        self.multipliers, self.salt = drawn.multipliers.astype(np.uint64), drawn.salt.astype(np.uint64)
        self.inverse_pitch, self.offset = drawn.inverse_pitch.astype(np.float32), drawn.offset.astype(np.float32)
        self.grids, self.table = grids, table
        self.self_value = 1.0

    @property
    def side(self) -> int:
        return self.table

    def clear(self) -> None:
        """The grids stay."""

    def fields(self) -> list[Field]:
        return []

    def prior(self) -> Array:
        raise ValueError("cells have no prior matrix")

    def prior_product(self) -> Array:
        raise ValueError("cells have no prior matrix")

    def evaluate(self, x: Array) -> None:
        self.dense = np.append(x.astype(np.float32), np.float32(1)).astype(np.float64)
        self.slots = self.slots_of(x)

    def slots_of(self, z: Array) -> NDArray[np.intp]:
        row = z.astype(np.float32)[self.order]
        return np.array([self.slot(g, row) for g in range(self.grids)], dtype=np.intp)

    def slot(self, g: int, row: NDArray[np.float32]) -> int:
        n, d = int(self.size[g]), self.features
        places = self.index[g, :n] if self.start[g] < 0 else (self.start[g] + np.arange(n)) % d
        bins = np.floor(row[places] * self.inverse_pitch[g, :n] + self.offset[g, :n]).astype(np.int64)
        key = int((bins.astype(np.uint64) * self.multipliers[places]).sum() & WORD)
        key = ((key + int(self.salt[g])) * 0x85EBCA6B) & 0xFFFFFFFF
        key = ((key ^ (key >> 15)) * 0xC2B2AE35) & 0xFFFFFFFF
        key ^= key >> 13
        return key * self.table >> 32
