"""Bounded online gradient descent: kernel gradient steps; when the budget is used up, a random term goes.

    every step      alpha *= 1 - rate decay
    any slope != 0  below B terms: add (x, -rate slope weight)
                    full: drop a uniformly random term, scale the others by B/(B-1), add (x, -rate slope weight),
                    then alpha *= min(1, rate cap / max|alpha|)

The factor B/(B-1) keeps the expectation of f over the draw. Several outputs: the loss of each one (one class against
the rest) on one support set, with one victim for all; the last factor is each output's own. The draw is a hash of
(seed, rows learned).

Zhao, Wang, Wu, Jin, Hoi, "Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based Online
Learning", ICML 2012 (uniform sampling, "BOGD"; cap is their gamma).
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative, Seed
from nolana.engine.base.draw import draw_below
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.learner.losses import Loss
from nolana.engine.rivals.supports import SupportRival

Array = NDArray[np.float64]


class BOGD(SupportRival):
    """supports (n, d), weights (c, n), ages (n), arrivals (1), n <= budget."""

    def __init__(
        self,
        features: Count,
        budget: Count,
        kernel: Kernel,
        loss: Loss,
        rate: NonNegative,
        decay: NonNegative,
        cap: NonNegative,
        seed: Seed,
    ) -> None:
        super().__init__(features, budget, kernel)
        self.loss, self.rate, self.decay, self.cap, self.seed = loss, rate, decay, cap, seed

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        self.weights *= 1 - self.rate * self.decay
        slopes = weight * np.array([self.loss.slope(*each) for each in zip(y, f, strict=True)])
        if not slopes.any():
            return
        full = self.size == self.budget
        if full:
            self.remove(draw_below(self.seed, self.rows, self.budget))
            if self.budget > 1:
                self.weights *= self.budget / (self.budget - 1)
        self.add(x, -self.rate * slopes)
        if full:
            bound, largest = self.rate * self.cap, np.abs(self.weights).max(axis=1, keepdims=True)
            self.weights *= np.where(largest > bound, bound / np.maximum(largest, bound), 1.0)
