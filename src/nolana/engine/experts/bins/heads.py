"""Heads on bins: `DiagonalBins` converges (second order, diagonal), `ConstantBins` tracks (constant gain).

DiagonalBins: a slot has a variance s and c weights; a linear part on (z, 1) with variances is learned jointly.

    f = sum of weights + linear,   v = sum of s + sum_j s_j z_j^2,   delta and h of an implicit step
    weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v)),   in int16 with stochastic rounding (`bin_table`)

ConstantBins: weights of slot/4 += gain delta, v = G gain; the linear part of a DiagonalBins is its offset.

Probes measure the relevance of features: before a row is learned, one feature is replaced by its value in another row,
out of a sample of 64 (in steps of 1/40); `relevance` is the mean increase of the loss, of the last 200 probes or so.
Feature after feature: four probes for each of the rows up to 2,047, then one every four rows until each feature had 200
of them, then one every sixteen rows.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Index, NonNegative, Positive
from nolana.engine.base.state import OUTPUTS, Field, Size
from nolana.engine.experts.bins.bin_map import SparseMap
from nolana.engine.experts.bins.bin_table import (
    VARIANCE_STEPS,
    WEIGHT_STEPS,
    Halves,
    Single,
    add_steps,
    draws,
    in_turn,
    shrink,
)
from nolana.engine.experts.head import Head, unseen
from nolana.engine.experts.implicit import class_step, number_step
from nolana.engine.experts.map import Array, Event, Map
from nolana.engine.experts.neighbours.neighbour_map import LARGEST as LARGEST_STEP
from nolana.engine.experts.neighbours.neighbour_map import STEPS
from nolana.engine.learner.losses import CurvedLoss
from nolana.engine.learner.residual_variance import Noise

FOLD = 4  # slots of the map that share one of ConstantBins
SAMPLE = 64  # rows that probes take values from
FIRST_SAMPLED = 512  # the scaling is settled after these rows
DENSE_PROBES = 2048  # until this row
SAMPLED_SHARE = 20  # one of so many rows enters the sample once it is full
MOST_PROBES = 200.0  # of a feature that its relevance stands for
LARGEST_LOSS = 6.0, 10.0  # classification, regression


def scrambled(step: int) -> int:
    """A pseudorandom integer below 2^32."""
    return (step * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 32


def probed_features(step: int, probed: Array) -> list[int]:
    """The features that this row probes; probed (d,): how many probes each of them had."""
    features = len(probed)
    if step < DENSE_PROBES:
        return [(4 * step + i) % features for i in range(4)]
    rows_each = 16 if bool((probed >= MOST_PROBES).all()) else 4
    return [step // rows_each % features] if step % rows_each == 0 else []


class BinHead(Head):
    """What both share: the implicit step of the loss. cells (slots, c) are the weights, in steps of 1/8192."""

    map: SparseMap

    def __init__(self, loss: CurvedLoss) -> None:
        super().__init__(loss)
        self.cells: Halves = np.zeros((0, 0), dtype=np.int16)

    def attach(self, map: Map) -> None:
        if not isinstance(map, SparseMap):
            raise ValueError("this head learns on sparse features, and the map has dense ones")
        self.map = map

    @property
    def outputs(self) -> int:
        return int(self.cells.shape[1])

    def append_output(self, rows: int) -> None:
        self.cells = np.pad(self.cells, ((0, 0), (0, 1)))

    def follow(self, event: Event) -> None:
        """Bins never change by themselves."""

    def weights_at(self, slots: NDArray[np.int64]) -> Array:  # (grids,) -> (c,)
        """The sum of the weights of some slots."""
        return np.asarray(self.cells[slots].sum(axis=0, dtype=np.int64) / WEIGHT_STEPS)

    def step(self, f: Array, v: float, y: Array, weight: float, noise: Noise) -> tuple[Array, float]:
        """delta (c,) and h of the row."""
        if self.loss.linear:
            return number_step(f, v, y, weight, noise)
        return class_step(f, v, y, weight)


class DiagonalBins(BinHead):
    """variances (N,) in steps; the linear part: linear (c, d + 1), linear_variances (d + 1,); relevance (d,)."""

    def __init__(
        self, loss: CurvedLoss, variance: Positive, linear: NonNegative, floor: NonNegative, probes: bool = False
    ) -> None:
        super().__init__(loss)
        self.linear_start, self.probes = linear, probes
        self.steps = VARIANCE_STEPS / variance  # of the variance 1
        self.floor = np.float32(min(VARIANCE_STEPS, max(1.0, np.rint(floor * self.steps))))

    def clear(self, outputs: int) -> None:
        n, d = self.map.table, self.map.features
        self.cells = np.zeros((n, outputs), dtype=np.int16)
        self.variances: NDArray[np.uint16] = np.full(n, VARIANCE_STEPS, dtype=np.uint16)
        self.linear: Array = np.zeros((outputs, d + 1))
        self.linear_variances: Array = np.full(d + 1, self.linear_start)
        self.relevance, self.probed = np.zeros(d), np.zeros(d)
        self.sample: Single = np.zeros((0, d), dtype=np.float32)

    def append_output(self, rows: int) -> None:
        super().append_output(rows)
        self.linear = np.pad(self.linear, ((0, 1), (0, 0)))
        self.linear[-1, -1] = unseen(rows)

    def linear_scores(self) -> Array:  # (c,)
        """The linear part of the row's scores."""
        return np.asarray(self.linear @ self.map.dense)

    def scores(self) -> Array:
        slots, z = self.map.slots, self.map.dense
        own = float(self.variances[slots].sum(dtype=np.int64)) / self.steps
        self.total = float(self.linear_variances @ (z * z)) + own
        return np.asarray(self.linear_scores() + self.weights_at(slots))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        if self.probes and step > FIRST_SAMPLED:
            self.probe(y, f, step, noise)
        delta, h = self.step(f, self.total, y, weight, noise)
        e = h / (1 + h * self.total)
        change, curvature = (delta * (WEIGHT_STEPS / self.steps)).astype(np.float32), np.float32(e / self.steps)
        u = draws(step, self.map.grids)
        for some in in_turn(self.map.slots, len(delta)):
            slots = self.map.slots[some]
            before = self.variances[slots]
            add_steps(self.cells, slots, change, u[some], before)
            shrink(self.variances, slots, curvature, self.floor, u[some])
        pull = self.linear_variances * self.map.dense
        self.linear = self.linear + np.outer(delta, pull)
        self.linear_variances = self.linear_variances - pull * pull * e

    def probe(self, y: Array, f: Array, step: int, noise: Noise) -> None:
        """Features of the row replaced one by one; then the row may enter the sample."""
        row = self.map.dense[:-1].astype(np.float32)
        if len(self.sample) == SAMPLE:
            before = self.row_loss(f, y, noise)
            for j in probed_features(step, self.probed):
                other = row.copy()
                other[j] = self.sample[(31 * step + 17 * j) % SAMPLE, j] / np.float32(STEPS)
                slots = self.map.slots_with(j, float(other[j]))
                change = self.weights_at(slots) - self.weights_at(self.map.slots)
                change = change + self.linear[:, j] * (float(other[j]) - float(row[j]))
                self.probed[j] = min(self.probed[j] + 1, MOST_PROBES)
                increase = self.row_loss(f + change, y, noise) - before
                self.relevance[j] += (increase - self.relevance[j]) / self.probed[j]
        steps = np.clip(np.rint(self.map.dense[:-1] * STEPS), -LARGEST_STEP, LARGEST_STEP).astype(np.float32)
        if len(self.sample) < SAMPLE:
            self.sample = np.vstack([self.sample, steps])
        elif scrambled(step) % SAMPLED_SHARE == 0:
            self.sample[scrambled(step) // SAMPLED_SHARE % SAMPLE] = steps

    def row_loss(self, f: Array, y: Array, noise: Noise) -> float:
        """The loss of these scores, bounded."""
        if self.loss.linear:
            return min(LARGEST_LOSS[1], 0.5 * float(y[0] - f[0]) ** 2 / noise.variance)
        if len(f) == 1:
            loss = float(np.logaddexp(0.0, -y[0] * f[0]))
        else:
            loss = float(np.log(np.exp(f - f.max()).sum()) + f.max() - f[int(np.argmax(y))])
        return min(LARGEST_LOSS[0], loss)

    def fields(self) -> list[Field]:
        n, d = self.map.table, self.map.features
        own = [
            Field(self, "cells", (n, OUTPUTS), dtype=np.float32, steps=WEIGHT_STEPS),
            Field(self, "variances", (n,), dtype=np.float32, low=0.0, steps=self.steps),
            Field(self, "linear", (OUTPUTS, d + 1)),
            Field(self, "linear_variances", (d + 1,), low=0.0),
        ]
        if not self.probes:
            return own
        shape = (Size("sample", SAMPLE), d)
        sample = Field(self, "sample", shape, dtype=np.float32, whole=True, low=-LARGEST_STEP, high=LARGEST_STEP)
        return [*own, Field(self, "relevance", (d,)), Field(self, "probed", (d,), low=0.0), sample]


class ConstantBins(BinHead):
    """cells (N/4, c); `offset` is the index of the expert whose linear part is added to the scores."""

    offset_head: DiagonalBins

    def __init__(self, loss: CurvedLoss, gain: Positive, offset: Index) -> None:
        super().__init__(loss)
        self.gain, self.offset = gain, offset

    def connect(self, heads: list[Head]) -> None:
        head = heads[self.offset] if self.offset < len(heads) else None
        if not isinstance(head, DiagonalBins):
            raise ValueError("the offset of constant cells is the index of an expert with diagonal cells")
        self.offset_head = head

    def clear(self, outputs: int) -> None:
        self.cells = np.zeros((-(-self.map.table // FOLD), outputs), dtype=np.int16)

    def scores(self) -> Array:
        return np.asarray(self.offset_head.linear_scores() + self.weights_at(self.map.slots // FOLD))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        delta, _ = self.step(f, self.gain * self.map.grids, y, weight, noise)
        change = (delta * (self.gain * WEIGHT_STEPS)).astype(np.float32)
        slots, u = self.map.slots // FOLD, draws(step, self.map.grids)
        for some in in_turn(slots, len(delta)):
            add_steps(self.cells, slots[some], change, u[some])

    def fields(self) -> list[Field]:
        shape = (-(-self.map.table // FOLD), OUTPUTS)
        return [Field(self, "cells", shape, dtype=np.float32, steps=WEIGHT_STEPS)]
