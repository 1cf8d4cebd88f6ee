"""Fourier Online Gradient Descent: gradient steps on random Fourier features.

    f = w.z(x), z = [cos(u'x), sin(u'x)]/sqrt(D), u = sqrt(2 gamma) e
    w -= eta_t (decay w + loss'(y, f) z),   eta_t = rate / t^power

The authors leave out 1/sqrt(D): their rate is this one divided by D. Several classes: one w for each output.

Lu, Hoi, Wang, Zhao, Liu, "Large Scale Online Kernel Learning", JMLR 2016.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.fourier import fourier_features
from nolana.reference.losses import Loss
from nolana.reference.rival import Rival

Array = NDArray[np.float64]


class FOGD(Rival):
    """weights (c, 2D); projections (D, d) are the standard normal draws e."""

    def __init__(self, features: int, projections: Array, loss: Loss, rate: float, power: float, decay: float) -> None:
        super().__init__(features)
        self.projections, self.loss, self.rate, self.power, self.decay = projections, loss, rate, power, decay
        self.reset()

    def shapes(self, supports: int, outputs: int) -> dict[str, tuple[int, ...]]:
        return {"weights": (outputs, 2 * len(self.projections))}

    def reset(self) -> None:
        self.weights = np.zeros((self.outputs, 2 * len(self.projections)))

    def map(self, x: Array) -> Array:  # (n, d) -> (n, 2D)
        """The features of each row."""
        return np.array([fourier_features(row, self.projections, self.gamma) for row in x])

    def score(self, x: Array) -> Array:
        self.phi = fourier_features(x, self.projections, self.gamma)  # kept for the update that follows
        return self.weights @ self.phi

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        eta = self.rate / self.rows**self.power
        slopes = np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        self.weights = (1 - eta * self.decay) * self.weights - np.outer(eta * weight * slopes, self.phi)
