"""A linear head on the non-zeros z_j of a sparse row.

A slot has a variance s and c weights, both new if the slot has just got another feature; the bias is one more
feature, always 1.

    f = b + sum_j w_j z_j,   v = s_b + sum_j s_j z_j^2,   delta and h of an implicit step
    w_j += s_j z_j delta,   s_j <- max(floor, s_j - (s_j z_j)^2 h/(1 + h v))

The diagonal second order is that of Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors", NIPS 2009,
with the implicit steps of the bins.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import NonNegative, Positive
from nolana.engine.base.state import OUTPUTS, Field
from nolana.engine.experts.head import Head, unseen
from nolana.engine.experts.implicit import class_step, number_step
from nolana.engine.experts.map import Array, Event, Map
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.engine.learner.losses import CurvedLoss
from nolana.engine.learner.residual_variance import Noise

Single = NDArray[np.float32]


class DiagonalLinear(Head):
    """slots (N, c) are the weights, bias (c,); variances (N,) start at `variance`, that of the bias at `bias`."""

    map: LinearMap

    def __init__(self, loss: CurvedLoss, variance: Positive, bias: Positive, floor: NonNegative) -> None:
        super().__init__(loss)
        self.start, self.bias_start, self.floor = float(np.float32(variance)), bias, floor
        self.bias: Array = np.zeros(0)

    def attach(self, map: Map) -> None:
        if not isinstance(map, LinearMap):
            raise ValueError("this head learns on sparse rows, and the map takes dense ones")
        self.map = map

    @property
    def outputs(self) -> int:
        return len(self.bias)

    def clear(self, outputs: int) -> None:
        self.slots: Single = np.zeros((self.map.table, outputs), dtype=np.float32)
        self.variances: Single = np.full(self.map.table, self.start, dtype=np.float32)
        self.bias, self.bias_variance = np.zeros(outputs), self.bias_start

    def append_output(self, rows: int) -> None:
        self.slots = np.pad(self.slots, ((0, 0), (0, 1)))
        self.bias = np.append(self.bias, unseen(rows))

    def follow(self, event: Event) -> None:
        """The places of the non-zeros are the map's."""

    def scores(self) -> Array:
        places, z = self.map.places, self.map.values
        known = places >= 0
        s = np.where(known, self.variances[places].astype(np.float64), self.start)
        self.total = self.bias_variance + float(s @ (z * z))
        return np.asarray(self.bias + z[known] @ self.slots[places[known]].astype(np.float64))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        if self.loss.linear:
            delta, h = number_step(f, self.total, y, weight, noise)
        else:
            delta, h = class_step(f, self.total, y, weight)
        e = h / (1 + h * self.total)
        for place, z in zip(self.map.places.tolist(), self.map.values.tolist(), strict=True):
            slot = place if place >= 0 else -1 - place
            if place < 0:
                self.slots[slot], self.variances[slot] = 0.0, self.start
            s = float(self.variances[slot])
            pull = s * z
            self.slots[slot] = self.slots[slot] + pull * delta
            self.variances[slot] = max(self.floor, s - pull * pull * e)
        self.bias = self.bias + self.bias_variance * delta
        self.bias_variance = max(self.floor, self.bias_variance - self.bias_variance**2 * e)

    def fields(self) -> list[Field]:
        n = self.map.table
        return [
            Field(self, "slots", (n, OUTPUTS), dtype=np.float32),
            Field(self, "variances", (n,), dtype=np.float32, low=0.0),
            Field(self, "bias", (OUTPUTS,)),
            Field(self, "bias_variance", low=0.0),
        ]
