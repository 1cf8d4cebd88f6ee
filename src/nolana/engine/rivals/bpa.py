"""BPA, Passive-Aggressive on a budget: a row that is learned takes the place of the vector it costs least to lose.

With l = max(0, 1 - y f) > 0 and tau = min(C, l/k(x, x)): below the budget x is added with tau y. At the budget, for
every r, alpha_r phi(x_r) is projected on a span that contains phi(x), tau y is added to the coefficient of x, and the r
of least Q_r = |w_r - w|^2/2 + C max(0, 1 - y f_r(x)) gives its place to x:

    BPA-S (simple)     span {x}:     beta_r = alpha_r k(x_r, x)/k(x, x) + tau y
    BPA-NN (nearest)   span {x, n}:  n the nearest neighbour of r, whose coefficient changes as well

As phi(x) is in the span, the projection leaves f(x) alone: f_r(x) = f(x) + tau y k(x, x) for every r, and
|w_r - w|^2 = alpha_r^2 e_r + tau^2 k(x, x) with e_r what of phi(x_r) lies outside the span. The r of least
alpha_r^2 e_r is the r of least Q_r.

Several classes: own class y, s the best wrong one, the update goes to e_y - e_s, (f_y - f_s)/2 takes the place of y f
and |alpha_r|^2 sums over the outputs, so that two classes on two outputs decide as one output does.

Wang, Vucetic, "Online Passive-Aggressive Algorithms on a Budget", AISTATS 2010.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.rivals.rival import Field
from nolana.engine.rivals.supports import SupportRival

Array = NDArray[np.float64]

ROUNDING = 1e-10  # x and n are one direction if the determinant of their Gram matrix is below this part


class BPA(SupportRival):
    """supports (n, d), weights (c, n), ages (n), arrivals (1)."""

    def __init__(self, features: Count, budget: Count, kernel: Kernel, c: NonNegative) -> None:
        super().__init__(features, budget, kernel)
        self.c = c

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        direction = self.direction(y, f)
        loss = 1 - float(direction @ f / (direction @ direction))
        norm = self.self_value(x)
        if loss <= 0 or norm <= 0:
            return
        step = min(self.c, loss / norm) * direction  # (c,)
        if self.size < self.budget:
            self.add(x, step)
            self.arrived(self.size - 1)
        else:
            self.swap(x, norm, step)

    def selves(self) -> Array:
        """k(x_i, x_i)."""
        return np.array([self.self_value(support) for support in self.supports])

    def swap(self, x: Array, norm: float, step: Array) -> None:
        """Let x take the place of the vector that costs least."""
        raise NotImplementedError

    def arrived(self, place: int) -> None:
        """The row just scored has taken this place."""


class BPASimple(BPA):
    """BPA-S: the lost vector is projected on the new one."""

    def swap(self, x: Array, norm: float, step: Array) -> None:
        outside = self.selves() - self.k**2 / norm
        r = int(np.argmin((self.weights**2).sum(axis=0) * outside))
        self.weights[:, r] = self.weights[:, r] * self.k[r] / norm + step
        self.replace(r, x)


class BPANearest(BPA):
    """BPA-NN: the lost vector is projected on the new one and on its own nearest neighbour.

    Besides: nearest (n), the neighbour's place, -1 while there is none; gap (n), |x_r - x_n|^2; affinity (n),
    k(x_r, x_n).
    """

    def fields(self) -> list[Field]:
        nearest = Field(self, "nearest", (self.side,), whole=True, low=-1, below="supports")
        return [*super().fields(), nearest, *(Field(self, name, (self.side,)) for name in ("gap", "affinity"))]

    def reset(self) -> None:
        super().reset()
        self.nearest: Array = np.zeros(0)
        self.gap: Array = np.zeros(0)
        self.affinity: Array = np.zeros(0)
        self.distances: Array = np.zeros(0)

    def restored(self) -> None:
        super().restored()
        self.distances = np.zeros(self.size)

    def score(self, x: Array) -> Array:
        self.k, self.distances = self.kernel.row(x, self.supports, self.gamma)
        return self.weights @ self.k

    def swap(self, x: Array, norm: float, step: Array) -> None:
        on_x, on_n, outside = self.projections(norm)
        r = int(np.argmin((self.weights**2).sum(axis=0) * outside))
        lost = self.weights[:, r].copy()
        if self.nearest[r] >= 0:
            self.weights[:, int(self.nearest[r])] += lost * on_n[r]
        self.weights[:, r] = lost * on_x[r] + step
        self.replace(r, x)
        self.arrived(r)

    def projections(self, norm: float) -> tuple[Array, Array, Array]:
        """For every r, phi(x_r)'s coefficients on phi(x) and phi(x_n), and what is left outside."""
        n, selves, k_rx, k_rn = self.nearest.astype(int), self.selves(), self.k, self.affinity
        k_nn, k_nx = selves[n], k_rx[n]
        determinant = norm * k_nn - k_nx**2
        plane = (self.nearest >= 0) & (determinant > ROUNDING * norm * k_nn)
        determinant = np.where(plane, determinant, 1.0)
        on_x = np.where(plane, (k_rx * k_nn - k_rn * k_nx) / determinant, k_rx / norm)
        on_n = np.where(plane, (k_rn * norm - k_rx * k_nx) / determinant, 0.0)
        return on_x, on_n, selves - on_x * k_rx - on_n * k_rn

    def arrived(self, place: int) -> None:
        if place == len(self.nearest):
            self.nearest, self.gap, self.affinity = (
                np.append(a, -1.0) for a in (self.nearest, self.gap, self.affinity)
            )
            self.distances = np.append(self.distances, 0.0)
        stale = [i for i in range(self.size) if i == place or self.nearest[i] == place]
        for i in range(self.size):
            if i not in stale and (self.nearest[i] < 0 or self.distances[i] < self.gap[i]):
                self.nearest[i], self.gap[i], self.affinity[i] = place, self.distances[i], self.k[i]
        for i in stale:
            self.search(i)

    def search(self, i: int) -> None:
        """The nearest neighbour of i among all the others."""
        k, distances = self.kernel.row(self.supports[i], self.supports, self.gamma)
        distances[i] = np.inf
        n = int(np.argmin(distances))
        if n != i:
            self.nearest[i], self.gap[i], self.affinity[i] = n, distances[n], k[n]
