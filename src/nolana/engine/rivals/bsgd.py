"""BSGD, stochastic gradient descent on a budget of support vectors: Pegasos steps, then the set is held to B.

At row t, for the loss of every output, with the scores f of before:

    alpha *= 1 - 1/t;   if a slope l'(y, f) is not 0: add x with -weight l'(y, f)/(lambda t)

Over the budget, i the vector of least |alpha_i| (the norm over the outputs):

    remove    delete i
    project   D = K^-1 k_i over the others, alpha_j += alpha_i D_j, delete i
    merge     for each j: z = h x_i + (1-h) x_j with the h that keeps most of
              alpha_i phi(x_i) + alpha_j phi(x_j); the pair that loses least becomes z

Merging wants the RBF kernel: with k = k(x_i, x_j), k(x_i, z) = k^((1-h)^2) =: u and k(x_j, z) = k^(h^2) =: v,
alpha_z = alpha_i u + alpha_j v, and the loss, summed over the outputs, is
|alpha_i|^2 + |alpha_j|^2 + 2 alpha_i.alpha_j k - |alpha_z|^2. One h for all outputs: the one of greatest |alpha_z|.

Wang, Crammer, Vucetic, "Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for Large-Scale
SVM Training", JMLR 2012.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.learner.losses import Loss
from nolana.engine.rivals.supports import SupportRival

Array = NDArray[np.float64]

RIDGE = 1e-6  # of the largest k(x, x): what keeps K solvable when support vectors nearly coincide


class BSGD(SupportRival):
    """supports (n, d), weights (c, n), ages (n), arrivals (1); n <= budget between rows."""

    def __init__(self, features: Count, budget: Count, kernel: Kernel, loss: Loss, regularization: NonNegative) -> None:
        super().__init__(features, budget, kernel)
        self.loss, self.regularization = loss, regularization

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        self.weights = self.weights * (1 - 1 / self.rows)
        slopes = np.array([self.loss.slope(y[o], f[o]) for o in range(self.outputs)])
        if not slopes.any():
            return
        self.add(x, -weight * slopes / (self.regularization * self.rows))
        if self.size > self.budget:
            self.shrink(int(np.argmin((self.weights**2).sum(axis=0))))

    def shrink(self, i: int) -> None:
        """Drop one vector: i, the smallest, or replace i and another by one."""
        raise NotImplementedError


class BSGDRemove(BSGD):
    """The smallest is deleted."""

    def shrink(self, i: int) -> None:
        self.remove(i)


class BSGDProject(BSGD):
    """The smallest is projected on the others."""

    matrix = True

    def shrink(self, i: int) -> None:
        row = self.kernel.row(self.supports[i], self.supports, self.gamma)[0]
        lost = self.weights[:, i].copy()
        row[i] = row[-1]
        self.remove(i)
        gram = self.gram()
        largest = gram.diagonal().max(initial=0.0)
        if largest > 0:
            gram += RIDGE * largest * np.eye(self.size)
            self.weights += np.outer(lost, np.linalg.solve(gram, row[:-1]))


class BSGDMerge(BSGD):
    """The smallest and the partner it loses least with become one; RBF kernel only."""

    def shrink(self, i: int) -> None:
        own = self.weights[:, i]  # (c,)
        distances = self.kernel.row(self.supports[i], self.supports, self.gamma)[1]
        rate = self.gamma * distances  # -ln k
        a, b, c = float(own @ own), (self.weights**2).sum(axis=0), own @ self.weights
        h = best_share(rate, a, b, c)
        k, u, v = np.exp(-rate), (1 - h) ** 2 * rate, h**2 * rate
        loss = -a * np.expm1(-2 * u) - b * np.expm1(-2 * v) - 2 * c * k * np.expm1(2 * rate * h * (1 - h))
        loss[i] = np.inf
        j = int(np.argmin(loss))
        if j != i:  # a partner there is
            merged = own * np.exp(-u[j]) + self.weights[:, j] * np.exp(-v[j])
            self.replace(j, h[j] * self.supports[i] + (1 - h[j]) * self.supports[j])
            self.weights[:, j] = merged
        self.remove(i)


def best_share(rate: Array, a: float, b: Array, c: Array) -> Array:
    """The h of greatest |alpha_z| for each partner; rate = -ln k, a = |alpha_i|^2 <= b = |alpha_j|^2, c their product.

    With r = u/v = k^(1-2h), d|alpha_z|^2/dh has the sign of q(h) = a (1-h) r^2 + c (1-2h) r - b h. As j is the
    larger, z lies on its side: h in [0, 1/2] if q(0) >= 0, and else, the two pulling against each other, beyond x_j
    but no further than the width of the kernel: h in [-1/sqrt(2 rate), 0]. Newton's steps, held inside the bracket.
    """
    apart = a * np.exp(-rate) + c < 0
    with np.errstate(divide="ignore"):
        low = np.where(apart & (rate > 0), -1 / np.sqrt(2 * rate), 0.0)
    high = np.where(apart, 0.0, 0.5)
    h = np.zeros_like(rate)
    for _ in range(100):
        r = np.exp(-rate * (1 - 2 * h))
        q = a * (1 - h) * r * r + c * (1 - 2 * h) * r - b * h
        slope = a * r * r * (4 * rate * (1 - h) - 1) + 2 * c * r * (rate * (1 - 2 * h) - 1) - b
        low, high = np.where(q > 0, h, low), np.where(q > 0, high, h)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = h - q / slope
        after = np.where((step > low) & (step < high), step, low + (high - low) / 2)
        after = np.where(q == 0, h, after)
        if np.all(np.abs(after - h) <= 1e-15 * np.abs(after)):
            break
        h = after
    return h
