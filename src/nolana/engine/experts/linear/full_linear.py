"""A linear head with a full covariance C of its weights, which starts at s I. With h = C phi and v = phi.h:

    f_o = w_o.phi,   delta and e of an implicit step,   w_o += delta_o h,   C -= e/(1 + e v) h h'  (Sherman-Morrison)

Forgetting, every 8 rows with l = lambda^8: C <- l C + (1 - l) s I, w <- sqrt(l) w.

On the row itself (`IdentityMap`) this is recursive least squares, or its logistic counterpart: if the target is
linear and noisy, no flexible map learns it with so few rows.
"""

import math

import numpy as np

from nolana.engine.base.bounds import Memory, Positive
from nolana.engine.base.state import Field
from nolana.engine.experts.head import Head, unseen
from nolana.engine.experts.implicit import class_step, number_step
from nolana.engine.experts.landmarks.newton import FORGET_EVERY, WAITING
from nolana.engine.experts.map import Array, Map
from nolana.engine.learner.losses import CurvedLoss
from nolana.engine.learner.residual_variance import Noise


class FullLinear(Head):
    """covariance (m, m). The core exports updates that wait to be added to it; here none ever waits."""

    def __init__(self, loss: CurvedLoss, variance: Positive, forgetting: Memory = 1.0) -> None:
        super().__init__(loss)
        self.variance, self.forgetting = variance, forgetting

    def attach(self, map: Map) -> None:
        if not isinstance(map.side, int):
            raise ValueError("this head learns on a map whose features never change")
        super().attach(map)

    def clear(self, outputs: int) -> None:
        super().clear(outputs)
        self.covariance: Array = self.variance * self.map.prior()
        self.clear_waiting()

    def append_output(self, rows: int) -> None:
        self.weights = np.pad(self.weights, ((0, 1), (0, 0)))
        self.weights[-1, -1] = unseen(rows)

    def clear_waiting(self) -> None:
        """No update waits to be added."""
        self.waiting_left = self.waiting_right = np.zeros((0, len(self.covariance)))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        phi = self.map.phi
        h = self.covariance @ phi
        v = float(phi @ h)
        if v > 0:  # else rounding ate the variance in this direction
            if self.loss.linear:
                delta, curvature = number_step(f, v, y, weight, noise)
            else:
                delta, curvature = class_step(f, v, y, weight)
            self.weights = self.weights + np.outer(delta, h)
            self.covariance = self.covariance - curvature / (1 + curvature * v) * np.outer(h, h)
        if self.forgetting < 1 and step % FORGET_EVERY == 0:
            share = self.forgetting**FORGET_EVERY
            self.covariance = share * self.covariance + (1 - share) * self.variance * self.map.prior()
            self.weights = math.sqrt(share) * self.weights

    def fields(self) -> list[Field]:
        side = self.map.side
        waiting = [Field(self, name, (WAITING, side)) for name in ("waiting_left", "waiting_right")]
        return [*super().fields(), Field(self, "covariance", (side,), packed=True), *waiting]

    def restored(self) -> None:
        """What waited in the core is added; each product is symmetric only in the sum."""
        update = np.reshape(self.waiting_left.T @ self.waiting_right, self.covariance.shape)
        self.covariance = self.covariance + np.tril(update) + np.tril(update, -1).T
        self.clear_waiting()
