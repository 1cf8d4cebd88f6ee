"""Heads on cells: `DiagonalCells` converges (second order, diagonal), `ConstantCells` tracks (constant gain).

DiagonalCells: a slot has a variance s and c weights; a linear part on (z, 1) with variances is learned jointly.

    f = sum of weights + linear,   v = sum of s + sum_j s_j z_j^2,   delta and h of an implicit step
    weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v)),   in single precision

ConstantCells: weights of slot/4 += gain delta, v = G gain; the linear part of a DiagonalCells is its offset.

Probes measure the relevance of features: before a row is learned, one feature is replaced by its value in another row,
out of a sample of 64
(in steps of 1/40); `relevance` is the mean increase of the loss. Four probes for each of the rows up to 2,047, later
one every four rows, feature after feature; at most 200 effective.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.reference.bounds import Index, NonNegative, Positive
from nolana.reference.heads.head import Head
from nolana.reference.heads.implicit import class_step, number_step
from nolana.reference.losses import CurvedLoss
from nolana.reference.maps.cell_map import SparseMap
from nolana.reference.maps.map import Array, Event, Map
from nolana.reference.maps.neighbour_map import LARGEST as LARGEST_STEP
from nolana.reference.maps.neighbour_map import STEPS
from nolana.reference.state import OUTPUTS, Field, Size

Single = NDArray[np.float32]
FOLD = 4  # slots of the map that share one of ConstantCells
SAMPLE = 64  # rows that probes take values from
FIRST_SAMPLED = 512  # the scaling is settled after these rows
DENSE_PROBES = 2048  # until this row
SAMPLED_SHARE = 20  # one of so many rows enters the sample once it is full
MOST_PROBES = 200.0  # of a feature that its relevance stands for
LARGEST_LOSS = 6.0, 10.0  # of a class, of a number


def scrambled(step: int) -> int:
    """A whole number below 2^32 that looks random."""
    return (step * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 32


def probed_features(step: int, features: int) -> list[int]:
    """The features that this row probes."""
    if step < DENSE_PROBES:
        return [(4 * step + i) % features for i in range(4)]
    return [step // 4 % features] if step % 4 == 0 else []


def added_up(cells: Single) -> Array:  # (grids, c) -> (c,)
    """The sum of a row's cells: in single precision (a + c) + (b + d) of four cells, these in double precision."""
    fours = cells[: len(cells) // 4 * 4].reshape(-1, 4, *cells.shape[1:])
    sums = (fours[:, 0] + fours[:, 2]) + (fours[:, 1] + fours[:, 3])
    rest = cells[len(cells) // 4 * 4 :]
    return np.asarray(sums.sum(axis=0, dtype=np.float64) + rest.sum(axis=0, dtype=np.float64))


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
    """variances (N,); linear (c, d + 1) and linear_variances (d + 1,) of the linear part; relevance (d,) by probes."""

    def __init__(
        self, loss: CurvedLoss, variance: Positive, linear: NonNegative, floor: NonNegative, probes: bool = False
    ) -> None:
        super().__init__(loss)
        self.start, self.linear_start, self.floor, self.probes = variance, linear, floor, probes

    def clear(self, outputs: int) -> None:
        n, d = self.map.table, self.map.features
        self.cells = np.zeros((n, outputs), dtype=np.float32)
        self.variances: Single = np.full(n, self.start, dtype=np.float32)
        self.linear: Array = np.zeros((outputs, d + 1))
        self.linear_variances: Array = np.full(d + 1, self.linear_start)
        self.relevance, self.probed = np.zeros(d), np.zeros(d)
        self.sample: Single = np.zeros((0, d), dtype=np.float32)

    def linear_scores(self) -> Array:  # (c,)
        """The linear part of the row's scores."""
        return np.asarray(self.linear @ self.map.dense)

    def scores(self) -> Array:
        slots, z = self.map.slots, self.map.dense
        self.total = float(self.linear_variances @ (z * z)) + float(added_up(self.variances[slots]))
        return np.asarray(self.linear_scores() + added_up(self.cells[slots]))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: float = 1.0) -> None:
        if self.probes and step > FIRST_SAMPLED:
            self.probe(y, f, step, noise)
        delta, h = self.step(f, self.total, y, weight, noise)
        e = h / (1 + h * self.total)
        change, share, floor = delta.astype(np.float32), np.float32(e), np.float32(self.floor)
        for slot in self.map.slots:
            s = self.variances[slot]
            self.cells[slot] += s * change
            self.variances[slot] = max(floor, s - s * s * share)
        pull = self.linear_variances * self.map.dense
        self.linear = self.linear + np.outer(delta, pull)
        self.linear_variances = self.linear_variances - pull * pull * e

    def probe(self, y: Array, f: Array, step: int, noise: float) -> None:
        """Features of the row replaced one by one; then the row may enter the sample."""
        row = self.map.dense[:-1].astype(np.float32)
        if len(self.sample) == SAMPLE:
            before = self.row_loss(f, y, noise)
            for j in probed_features(step, len(row)):
                other = row.copy()
                other[j] = self.sample[(31 * step + 17 * j) % SAMPLE, j] / np.float32(STEPS)
                slots = self.map.slots_of(other.astype(np.float64))
                change = (self.cells[slots].astype(np.float64) - self.cells[self.map.slots]).sum(axis=0)
                change = change + self.linear[:, j] * (float(other[j]) - float(row[j]))
                self.probed[j] = min(self.probed[j] + 1, MOST_PROBES)
                increase = self.row_loss(f + change, y, noise) - before
                self.relevance[j] += (increase - self.relevance[j]) / self.probed[j]
        steps = np.clip(np.rint(self.map.dense[:-1] * STEPS), -LARGEST_STEP, LARGEST_STEP).astype(np.float32)
        if len(self.sample) < SAMPLE:
            self.sample = np.vstack([self.sample, steps])
        elif scrambled(step) % SAMPLED_SHARE == 0:
            self.sample[scrambled(step) // SAMPLED_SHARE % SAMPLE] = steps

    def row_loss(self, f: Array, y: Array, noise: float) -> float:
        """The loss of these scores, bounded."""
        if self.loss.linear:
            return min(LARGEST_LOSS[1], 0.5 * float(y[0] - f[0]) ** 2 / noise)
        if len(f) == 1:
            loss = float(np.logaddexp(0.0, -y[0] * f[0]))
        else:
            loss = float(np.log(np.exp(f - f.max()).sum()) + f.max() - f[int(np.argmax(y))])
        return min(LARGEST_LOSS[0], loss)

    def fields(self) -> list[Field]:
        n, d = self.map.table, self.map.features
        own = [
            Field(self, "cells", (n, OUTPUTS), dtype=np.float32),
            Field(self, "variances", (n,), dtype=np.float32, low=0.0),
            Field(self, "linear", (OUTPUTS, d + 1)),
            Field(self, "linear_variances", (d + 1,), low=0.0),
        ]
        if not self.probes:
            return own
        shape = (Size("sample", SAMPLE), d)
        sample = Field(self, "sample", shape, dtype=np.float32, whole=True, low=-LARGEST_STEP, high=LARGEST_STEP)
        return [*own, Field(self, "relevance", (d,)), Field(self, "probed", (d,), low=0.0), sample]


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
        own = added_up(self.cells[self.map.slots // FOLD])
        return np.asarray(self.offset_head.linear_scores() + own)

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: float = 1.0) -> None:
        delta, _ = self.step(f, self.gain * self.map.grids, y, weight, noise)
        change = (self.gain * delta).astype(np.float32)
        for slot in self.map.slots // FOLD:
            self.cells[slot] += change

    def fields(self) -> list[Field]:
        return [Field(self, "cells", (-(-self.map.table // FOLD), OUTPUTS), dtype=np.float32)]
