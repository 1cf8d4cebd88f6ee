"""Normalised least mean squares: w += min(1, rate weight) (y - f) P phi / (phi.P phi + epsilon).

A constant gain that tracks drift, on the features of any map; it shares P phi with the test whether a row is new.
Only outputs that the loss asks for learn. For regression a residual is clipped at 3 standard deviations of its
prediction, whose variance is taken as noise + 0.1, on a skewed side later.
"""

import math

import numpy as np

from nolana.engine.base.bounds import Positive
from nolana.engine.experts.head import Head
from nolana.engine.experts.map import Array
from nolana.engine.learner.losses import Loss
from nolana.engine.learner.residual_variance import CLIP, Noise

VARIANCE = 0.1  # of a prediction, in units of standardised targets


class LMS(Head):
    """Least mean squares, normalised."""

    def __init__(self, loss: Loss, rate: Positive, epsilon: Positive) -> None:
        super().__init__(loss)
        self.rate, self.epsilon = rate, epsilon

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        residual = y - f
        if self.loss.linear:
            limit = CLIP * math.sqrt(noise.variance + VARIANCE)
            residual = np.clip(residual, -noise.below * limit, noise.above * limit)
        else:
            residual = residual * [self.loss.active(*pair) for pair in zip(y, f, strict=True)]
        if not residual.any():
            return
        direction = self.map.prior_product()
        gain = min(1.0, self.rate * weight) / (float(self.map.phi @ direction) + self.epsilon)
        self.weights = self.weights + np.outer(gain * residual, direction)
