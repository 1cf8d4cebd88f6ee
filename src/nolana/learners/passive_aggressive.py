"""Passive-Aggressive, linear: w moves just as far as the row's margin asks.

    tau = l/|x|^2 (PA), min(C, l/|x|^2) (PA-I), l/(|x|^2 + 1/(2C)) (PA-II);   w += tau y x

Several classes: s the best wrong one, l = max(0, 1 - f_y + f_s), |x|^2 becomes 2|x|^2, w_y += tau x,
w_s -= tau x. Regression: l = max(0, |y-f| - epsilon), w += sign(y-f) tau x. A zero row changes nothing.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, "Online Passive-Aggressive Algorithms", JMLR 2006.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.reference.rival import Rival

Array = NDArray[np.float64]


class Aggressiveness(Protocol):
    """How far to go for a loss over a squared length."""

    def step(self, loss: float, norm: float) -> float: ...


class Unbounded:
    """PA."""

    def step(self, loss: float, norm: float) -> float:
        return loss / norm


class Capped:
    """PA-I."""

    def __init__(self, c: float) -> None:
        self.c = c

    def step(self, loss: float, norm: float) -> float:
        return min(self.c, loss / norm)


class Softened:
    """PA-II."""

    def __init__(self, c: float) -> None:
        self.c = c

    def step(self, loss: float, norm: float) -> float:
        return loss / (norm + 1 / (2 * self.c))


class PassiveAggressive(Rival):
    """weights (c, d)."""

    def __init__(self, features: int, how: Aggressiveness, epsilon: float, regression: bool) -> None:
        super().__init__(features)
        self.how, self.epsilon, self.regression = how, epsilon, regression
        self.reset()

    def reset(self) -> None:
        self.weights = np.zeros((self.outputs, self.features))

    def score(self, x: Array) -> Array:
        return self.weights @ x

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        norm = float(x @ x)
        if norm == 0:
            return
        if self.regression:
            loss = abs(y[0] - f[0]) - self.epsilon
            if loss > 0:
                self.weights[0] += np.sign(y[0] - f[0]) * self.how.step(loss, norm) * x
        elif self.outputs == 1:
            loss = 1 - y[0] * f[0]
            if loss > 0:
                self.weights[0] += y[0] * self.how.step(loss, norm) * x
        else:
            own = self.label(y)
            other = self.runner_up(f, own)
            loss = 1 - f[own] + f[other]
            if loss > 0:
                tau = self.how.step(loss, 2 * norm)
                self.weights[own] += tau * x
                self.weights[other] -= tau * x
