"""Gradient steps: w <- (1 - eta lambda) w - eta loss'(y, f) P phi(x), eta = rate t^-power.

On a landmark map, P = (E + delta I)^-1, it is the gradient step in the weights of the Nyström map, written in alpha;
on Fourier features and on a decomposed map P is the identity.

For regression a residual is clipped at `clip` standard deviations of the noise: Huber's loss.
"""

import math

import numpy as np

from nolana.engine.base.bounds import Deviations, NonNegative, Positive
from nolana.engine.experts.head import Head
from nolana.engine.experts.map import Array
from nolana.engine.learner.losses import Loss
from nolana.engine.learner.residual_variance import Noise


class SGD(Head):
    """Stochastic gradient descent."""

    def __init__(
        self, loss: Loss, rate: Positive, power: NonNegative, decay: NonNegative, clip: Deviations = math.inf
    ) -> None:
        super().__init__(loss)
        self.rate, self.power, self.decay, self.clip = rate, power, decay, clip

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        eta = self.rate * step**-self.power
        if self.loss.linear and self.clip < math.inf:
            limit = self.clip * math.sqrt(noise.variance)
            y = f + np.clip(y - f, -limit, limit)
        slopes = np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        self.weights = max(0.0, 1 - eta * self.decay) * self.weights
        if slopes.any():
            self.weights -= np.outer(eta * weight * slopes, self.map.prior_product())
