"""Forgetron, self-tuned: before the oldest support vector is deleted, all of them shrink.

    on a mistake M += 1 and f' = f + (x, y). Over the budget, with r the oldest:
    d = alpha_r / y_r,   mu = y_r f'(x_r),   a = d^2 k(x_r,x_r) - 2 d mu,   b = 2 d,   c = Q - (15/32) M
    phi = 1 if a + b + c <= 0, else -2c / (b + sqrt(b^2 - 4ac))
    all alpha *= phi;   Q += (d phi)^2 k(x_r,x_r) + 2 d phi (1 - phi mu) = a phi^2 + b phi;   delete r

phi is the largest factor in [0, 1] that keeps the damage of all deletions, Q, at most (15/32) M. The paper has
k(x,x) = 1. Several classes: alpha_r = d (e_y - e_s) and mu = (f'_y - f'_s) / 2, which are the norm 2 d^2 k(x_r,x_r)
and the margin f'_y - f'_s, both divided by the direction's squared length 2: for two classes the same as one output.

Dekel, Shalev-Shwartz, Singer, "The Forgetron: A Kernel-Based Perceptron on a Fixed Budget", NIPS 2005.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.rivals.perceptron import Perceptron
from nolana.engine.rivals.rival import Field

Array = NDArray[np.float64]


def shrink(a: float, b: float, c: float) -> float:
    """The largest phi in [0, 1] with a phi^2 + b phi + c <= 0; b >= 0 and c < 0."""
    return 1.0 if a + b + c <= 0 else float(-2 * c / (b + np.sqrt(b * b - 4 * a * c)))


class Forgetron(Perceptron):
    """supports (n, d), weights (c, n), ages (n), arrivals (1), damage Q (1), mistakes M (1), n <= budget."""

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "damage", (1,)), Field(self, "mistakes", (1,))]

    def reset(self) -> None:
        super().reset()
        self.damage: Array = np.zeros(1)
        self.mistakes: Array = np.zeros(1)

    def mistake(self, x: Array, direction: Array) -> None:
        self.mistakes = self.mistakes + 1
        phi = self.shrink_and_delete(direction) if self.size == self.budget else 1.0
        self.add(x, phi * direction)

    def shrink_and_delete(self, direction: Array) -> float:
        """Make room for the row that was just scored, which is to come with this direction; phi."""
        r = self.oldest()
        oldest, alpha = self.supports[r], self.weights[:, r]
        f = self.weights @ self.kernel.row(oldest, self.supports, self.gamma)[0] + direction * self.k[r]  # f'(x_r)
        d, d_mu = np.abs(alpha).sum() / self.length, alpha @ f / self.length
        a, b = d * d * self.self_value(oldest) - 2 * d_mu, 2 * d
        phi = shrink(a, b, self.damage[0] - 15 / 32 * self.mistakes[0])
        self.damage = self.damage + (a * phi + b) * phi
        self.weights *= phi
        self.remove(r)
        return phi
