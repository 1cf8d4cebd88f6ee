"""Dual Space Gradient Descent: a support set whose least vectors move into Fourier features when it is full.

    f = sum_i w_i k(x_i, x) + v.z(x),   z = [cos(u'x), sin(u'x)]/sqrt(D), u = sqrt(2 gamma) e

At step t (from 1): w, v *= (t-1)/t; if loss' is not 0: if the set is full, v += w_i z(x_i) for the `merged`
smallest |w_i|, which are deleted (k-merging); then x is added with -loss'/(regularization t).

Several classes: one coefficient for each output, |w_i| the sum over them, a row is added if any slope is not 0.
The features stand for exp(-gamma |x-x'|^2), so the kernel of the support set should be the RBF.

With the hinge loss all |w_i| of the rows of one weight are 1/(regularization t): which are the least is then a
matter of rounding, the same in the core and here.

Le, Nguyen, Nguyen, Phung, "Dual Space Gradient Descent for Online Learning", NIPS 2016.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative, Projections
from nolana.engine.experts.fourier_map import fourier_features
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.learner.losses import Loss
from nolana.engine.rivals.rival import OUTPUTS, Field
from nolana.engine.rivals.supports import SupportRival

Array = NDArray[np.float64]


class DualSGD(SupportRival):
    """supports (n, d), weights (c, n) = w, fourier_weights (c, 2D) = v; projections (D, d) are the draws e."""

    def __init__(
        self,
        features: Count,
        budget: Count,
        merged: Count,
        projections: Projections,
        kernel: Kernel,
        loss: Loss,
        regularization: NonNegative,
    ) -> None:
        if merged > budget:
            raise ValueError(f"merged={merged} is more than the budget, {budget}")
        self.merged, self.projections = merged, projections
        self.loss, self.regularization = loss, regularization
        super().__init__(features, budget, kernel)

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "fourier_weights", (OUTPUTS, 2 * len(self.projections)))]

    def reset(self) -> None:
        super().reset()
        self.fourier_weights: Array = np.zeros((self.outputs, 2 * len(self.projections)))

    def score(self, x: Array) -> Array:
        return super().score(x) + self.fourier_weights @ fourier_features(x, self.projections, self.gamma)

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        slopes = weight * np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        decay = (self.rows - 1) / self.rows
        self.weights *= decay
        self.fourier_weights *= decay
        if not slopes.any():
            return
        if self.size == self.budget:
            for _ in range(self.merged):
                self.move(int(np.argmin(np.abs(self.weights).sum(axis=0))))
        self.add(x, -slopes / (self.regularization * self.rows))

    def move(self, i: int) -> None:
        """v += w_i z(x_i), and vector i is deleted."""
        z = fourier_features(self.supports[i], self.projections, self.gamma)
        self.fourier_weights += np.outer(self.weights[:, i], z)
        self.remove(i)
