"""Projectron and Projectron++: perceptrons that add a row only if the support set cannot express it.

With k_x = k(x, x_i) over the support set, on a mistake (y f <= 0):

    D = K^-1 k_x,   delta2 = k(x, x) - k_x.D   (what of phi(x) lies outside the span)
    if delta2 <= eta^2 or the set is full:   alpha += y D
    else add x with y, and K^-1 = [K^-1 0; 0 0] + [D; -1][D; -1]'/delta2

Projectron++ learns from margin errors as well, 0 < l < 1 with l = 1 - y f:

    p = k_x.D,   tau = min(l/p, 1),   U = sqrt((B+1)/ln(B+1))/4,   beta = tau (2 l - tau p - 2 U sqrt(delta2))
    if beta >= 0:   alpha += tau y D

This is the form of 2008; the journal's of 2009 asks for l > sqrt(delta2)/eta instead. Several classes: own class y,
s the best wrong one, the update goes to e_y - e_s and (f_y - f_s)/2 takes the place of y f, so that two classes on
two outputs decide as one output does. A row counts as inside the span when delta2 is below 1e-10 k(x, x).

Orabona, Keshet, Caputo, "The Projectron: a Bounded Kernel-Based Perceptron", ICML 2008.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.rivals.rival import Field
from nolana.engine.rivals.supports import SupportRival

Array = NDArray[np.float64]

ROUNDING = 1e-10  # of k(x, x): a delta2 below it is rounding


class Projectron(SupportRival):
    """supports (n, d), weights (c, n), ages (n), arrivals (1), inverse (n, n) = K^-1."""

    matrix = True

    def __init__(self, features: Count, budget: Count, kernel: Kernel, eta: NonNegative) -> None:
        self.eta = eta
        super().__init__(features, budget, kernel)

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "inverse", (self.side, self.side))]

    def reset(self) -> None:
        super().reset()
        self.inverse: Array = np.zeros((0, 0))

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        direction = self.direction(y, f)
        margin = float(direction @ f / (direction @ direction))
        if margin <= 0:
            self.mistake(x, direction)
        elif margin < 1:
            self.margin_error(x, direction, 1 - margin)

    def projected(self, x: Array) -> tuple[Array, float]:
        """D and delta2."""
        d = self.inverse @ self.k
        return d, self.self_value(x) - float(self.k @ d)

    def mistake(self, x: Array, direction: Array) -> None:
        d, delta2 = self.projected(x)
        if self.size == self.budget or delta2 <= max(self.eta**2, ROUNDING * self.self_value(x)):
            self.weights = self.weights + np.outer(direction, d)
        else:
            self.add(x, direction)
            edge = np.append(d, -1.0)
            self.inverse = np.pad(self.inverse, (0, 1)) + np.outer(edge, edge) / delta2

    def margin_error(self, x: Array, direction: Array, loss: float) -> None:
        """Right, though by less than 1: nothing to learn for the Projectron."""


class ProjectronPlusPlus(Projectron):
    """Learns from margin errors if the projection is good enough to gain by it."""

    def margin_error(self, x: Array, direction: Array, loss: float) -> None:
        d, delta2 = self.projected(x)
        p = float(self.k @ d)
        if p <= 0:
            return
        u = np.sqrt((self.budget + 1) / np.log(self.budget + 1)) / 4
        tau = min(loss / p, 1.0)
        beta = tau * (2 * loss - tau * p - 2 * u * np.sqrt(max(delta2, 0.0)))
        if beta >= 0:
            self.weights = self.weights + np.outer(tau * direction, d)
