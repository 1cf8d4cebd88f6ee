"""Kernel online gradient descent without a budget, and NORMA: the unbounded counterpart of the budgeted methods.

    eta_t = rate t^-power;   alpha *= 1 - eta_t decay;   if any slope is nonzero, add (x, -eta_t slope weight)

decay > 0 is NORMA's: it also drops the oldest terms once they are below 1e-8 of the largest. Several outputs: the
loss of each one (one class against the rest), on one support set. `budget` is only the room at the start.

Kivinen, Smola, Williamson, "Online Learning with Kernels", IEEE Transactions on Signal Processing, 2004.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.learner.losses import Loss
from nolana.engine.rivals.supports import GrowingRival

Array = NDArray[np.float64]
NEGLIGIBLE = 1e-8


class KernelOGD(GrowingRival):
    """supports (n, d), weights (c, n), ages (n), arrivals (1), with no bound on n."""

    def __init__(
        self,
        features: Count,
        budget: Count,
        kernel: Kernel,
        loss: Loss,
        rate: NonNegative,
        power: NonNegative,
        decay: NonNegative,
    ) -> None:
        super().__init__(features, budget, kernel)
        self.loss, self.rate, self.power, self.decay = loss, rate, power, decay

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        eta = self.rate * float(self.rows) ** -self.power
        self.weights *= 1 - eta * self.decay
        slopes = weight * np.array([self.loss.slope(*each) for each in zip(y, f, strict=True)])
        if slopes.any():
            self.add(x, -eta * slopes)
            if self.decay > 0:
                self.forget()  # here only: the decay keeps all ratios, a new term does not

    def forget(self) -> None:
        """Drop the oldest terms while they are negligible."""
        sizes = np.abs(self.weights).sum(axis=0)
        small = NEGLIGIBLE * sizes.max()
        while sizes[i := self.oldest()] < small:
            sizes[i] = sizes[-1]
            sizes = sizes[:-1]
            self.remove(i)
