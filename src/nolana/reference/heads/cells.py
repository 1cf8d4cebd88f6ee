"""Heads on cells: `DiagonalCells` converges (second order, diagonal), `ConstantCells` tracks (constant gain).

DiagonalCells: a slot has a variance s and c weights; a linear part on (z, 1) with variances is learned jointly.

    f = sum of weights + linear,   v = sum of s + sum_j s_j z_j^2,   delta and h of an implicit step
    weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v))

ConstantCells: weights of slot/4 += gain delta, v = G gain; the linear part of a DiagonalCells is its offset.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.reference.bounds import Index, NonNegative, Positive
from nolana.reference.heads.head import Head
from nolana.reference.heads.implicit import class_step, number_step
from nolana.reference.losses import CurvedLoss
from nolana.reference.maps.cell_map import SparseMap
from nolana.reference.maps.map import Array, Event, Map
from nolana.reference.state import OUTPUTS, Field

Single = NDArray[np.float32]
FOLD = 4  # slots of the map that share one of ConstantCells


class CellHead(Head):
    """What both share: the implicit step of the loss. cells (slots, c) are the weights."""

    map: SparseMap

    def __init__(self, loss: CurvedLoss) -> None:
        super().__init__(loss)
        self.cells: Single = np.zeros((0, 0), dtype=np.float32)

    def attach(self, map: Map) -> None:
        if not isinstance(map, SparseMap):
            raise ValueError("this head learns on sparse features, and the map has dense ones")
        self.map = map

    @property
    def outputs(self) -> int:
        return int(self.cells.shape[1])

    def follow(self, event: Event) -> None:
        """Cells never change by themselves."""

    def step(self, f: Array, v: float, y: Array, weight: float, noise: float) -> tuple[Array, float]:
        """delta (c,) and h of the row."""
        if self.loss.linear:
            return number_step(f, v, y, weight, noise)
        return class_step(f, v, y, weight)


class DiagonalCells(CellHead):
    """variances (N,); linear (c, d + 1) and linear_variances (d + 1,) of the linear part."""

    def __init__(self, loss: CurvedLoss, variance: Positive, linear: NonNegative, floor: NonNegative) -> None:
        super().__init__(loss)
        self.start, self.linear_start, self.floor = variance, linear, floor

    def clear(self, outputs: int) -> None:
        n, d = self.map.table, self.map.features
        self.cells = np.zeros((n, outputs), dtype=np.float32)
        self.variances: Single = np.full(n, self.start, dtype=np.float32)
        self.linear: Array = np.zeros((outputs, d + 1))
        self.linear_variances: Array = np.full(d + 1, self.linear_start)

    def linear_scores(self) -> Array:  # (c,)
        """The linear part of the row's scores."""
        return np.asarray(self.linear @ self.map.dense)

    def scores(self) -> Array:
        slots, z = self.map.slots, self.map.dense
        self.total = float(self.linear_variances @ (z * z)) + float(self.variances[slots].sum(dtype=np.float64))
        return np.asarray(self.linear_scores() + self.cells[slots].sum(axis=0, dtype=np.float64))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: float = 1.0) -> None:
        delta, h = self.step(f, self.total, y, weight, noise)
        e = h / (1 + h * self.total)
        for slot in self.map.slots:
            s = float(self.variances[slot])
            self.cells[slot] = self.cells[slot] + s * delta
            self.variances[slot] = max(self.floor, s - s * s * e)
        pull = self.linear_variances * self.map.dense
        self.linear = self.linear + np.outer(delta, pull)
        self.linear_variances = self.linear_variances - pull * pull * e

    def fields(self) -> list[Field]:
        n, d = self.map.table, self.map.features
        return [
            Field(self, "cells", (n, OUTPUTS), dtype=np.float32),
            Field(self, "variances", (n,), dtype=np.float32, low=0.0),
            Field(self, "linear", (OUTPUTS, d + 1)),
            Field(self, "linear_variances", (d + 1,), low=0.0),
        ]


class ConstantCells(CellHead):
    """cells (N/4, c); `offset` is the index of the expert whose linear part is added to the scores."""

    offset_head: DiagonalCells

    def __init__(self, loss: CurvedLoss, gain: Positive, offset: Index) -> None:
        super().__init__(loss)
        self.gain, self.offset = gain, offset

    def connect(self, heads: list[Head]) -> None:
        head = heads[self.offset] if self.offset < len(heads) else None
        if not isinstance(head, DiagonalCells):
            raise ValueError("the offset of constant cells is the index of an expert with diagonal cells")
        self.offset_head = head

    def clear(self, outputs: int) -> None:
        self.cells = np.zeros((-(-self.map.table // FOLD), outputs), dtype=np.float32)

    def scores(self) -> Array:
        own = self.cells[self.map.slots // FOLD].sum(axis=0, dtype=np.float64)
        return np.asarray(self.offset_head.linear_scores() + own)

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: float = 1.0) -> None:
        delta, _ = self.step(f, self.gain * self.map.grids, y, weight, noise)
        for slot in self.map.slots // FOLD:
            self.cells[slot] = self.cells[slot] + self.gain * delta

    def fields(self) -> list[Field]:
        return [Field(self, "cells", (-(-self.map.table // FOLD), OUTPUTS), dtype=np.float32)]
