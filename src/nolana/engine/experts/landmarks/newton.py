"""Second-order steps: R, the covariance of the weights, starts at tau P. With h = R phi and kappa = phi.h:

    w_o += pull_o h,  R -= g h h'/(1 + g kappa),  g the mean of the outputs' curvatures

For the squared loss this is a Kalman filter; the step of R is Sherman-Morrison's.

When landmark q moves, R <- T R T' + tau (s + nu) v v', v = P'[:,q], with nu (process noise) only as far as R_qq stays
below its prior tau P'_qq.

Forgetting goes back to the prior, every 8 rows with l = lambda^8:  R <- l R + (1 - l) tau P,  w <- sqrt(l) w.

For regression a residual is clipped at `clip` standard deviations of its prediction, sqrt(n + kappa).
"""

import math

import numpy as np

from nolana.engine.base.bounds import Deviations, Memory, NonNegative, Positive
from nolana.engine.base.state import Field, Size
from nolana.engine.experts.head import Head
from nolana.engine.experts.map import Array, Event, Growth, Map, Move
from nolana.engine.learner.losses import CurvedLoss
from nolana.engine.learner.residual_variance import Noise

MOST_VARIANCE = 4  # of a prediction, times the prior's; process noise alone stays below 3
WAITING = Size("waiting", 4)
FORGET_EVERY = 8  # rows


class Newton(Head):
    """covariance (m, m). The core exports updates that wait to be added to it; here none ever waits."""

    loss: CurvedLoss

    def __init__(
        self,
        loss: CurvedLoss,
        noise: Positive,
        prior: Positive,
        move_noise: NonNegative,
        forgetting: Memory = 1.0,
        clip: Deviations = math.inf,
    ) -> None:
        if not loss.curved:
            raise ValueError("Newton steps need a loss with curvature")
        super().__init__(loss)
        self.noise, self.prior, self.move_noise = noise, prior, move_noise
        self.forgetting, self.clip = forgetting, clip

    def attach(self, map: Map) -> None:
        if map.remaps:
            raise ValueError("Newton steps need a map whose changes carry a covariance: not a decomposition")
        super().attach(map)

    def clear(self, outputs: int) -> None:
        super().clear(outputs)
        self.covariance: Array = self.prior * self.map.prior()
        self.clear_waiting()

    def clear_waiting(self) -> None:
        """No update waits to be added."""
        self.waiting_left = self.waiting_right = np.zeros((0, len(self.covariance)))

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        self.step(y, f, weight, noise._replace(variance=self.noise * noise.variance))
        if self.forgetting < 1 and step % FORGET_EVERY == 0:
            share = self.forgetting**FORGET_EVERY
            self.covariance = share * self.covariance + (1 - share) * self.prior * self.map.prior()
            self.weights = math.sqrt(share) * self.weights

    def step(self, y: Array, f: Array, weight: float, noise: Noise) -> None:
        """One row."""
        active = [self.loss.active(*pair) for pair in zip(y, f, strict=True)]
        if not any(active):
            return
        phi, self_value = self.map.phi, self.map.self_value
        h = self.covariance @ phi
        kappa = float(phi @ h)
        if not kappa > 0:  # rounding ate the variance in this direction: lift it towards the prior
            self.lift(kappa)
            h = self.covariance @ phi
            kappa = float(phi @ h)
            if not kappa > 0:
                return
        if kappa > MOST_VARIANCE * self.prior * self_value:  # far beyond the prior: the kernel has outgrown it
            self.covariance = self.covariance * (self.prior * self_value / kappa)
            h = self.covariance @ phi
            kappa = float(phi @ h)
        curvature = 0.0
        limit = self.clip * math.sqrt(noise.variance / weight + kappa) if self.loss.linear else math.inf
        for o in np.flatnonzero(active):
            target = f[o] + noise.clip(y[o] - f[o], limit) if limit < math.inf else y[o]
            pull, g = self.loss.proximal(target, f[o], kappa, weight, noise.variance)
            self.weights[o] += pull * h
            curvature += g / self.outputs
        self.covariance = self.covariance - curvature / (1 + curvature * kappa) * np.outer(h, h)

    def lift(self, kappa: float) -> None:
        """R + e tau P with e just large enough that phi.R phi is again a small positive part of the prior's."""
        explained = self.prior * float(self.map.phi @ self.map.prior_product())
        if explained > 0:
            self.covariance = self.covariance + (1e-9 - kappa / explained) * self.prior * self.map.prior()

    def follow(self, event: Event) -> None:
        super().follow(event)
        if isinstance(event, Growth):
            self.covariance = np.pad(self.covariance, (0, 1)) + self.prior / event.g * np.outer(event.z, event.z)
        elif isinstance(event, Move):
            transport = np.eye(len(event.carry))
            transport[:, event.q] += event.carry
            v, q = event.column, event.q
            after = transport @ self.covariance @ transport.T + self.prior * event.s * np.outer(v, v)
            room = max(0.0, (self.prior * v[q] - after[q, q]) / v[q] ** 2)
            after += min(self.prior * self.move_noise, room) * np.outer(v, v)
            self.covariance = (after + after.T) / 2
        self.clear_waiting()

    def fields(self) -> list[Field]:
        side = self.map.side
        waiting = [Field(self, name, (WAITING, side)) for name in ("waiting_left", "waiting_right")]
        return [*super().fields(), Field(self, "covariance", (side,), packed=True), *waiting]

    def restored(self) -> None:
        """What waited in the core is added; each product is symmetric only in the sum."""
        update = np.reshape(self.waiting_left.T @ self.waiting_right, self.covariance.shape)
        self.covariance = self.covariance + np.tril(update) + np.tril(update, -1).T
        self.clear_waiting()
