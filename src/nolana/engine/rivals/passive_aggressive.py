"""Passive-Aggressive, linear and in a kernel's space: the model moves just as far as the row's margin asks.

    margin  l = 1 - y f, s = y;   several classes: l = 1 - f_y + f_r, s = e_y - e_r, r the best-scored wrong one
    band    l = |y - f| - epsilon, s = sign(y - f), for regression
    tau = l/n (PA), min(C, l/n) (PA-I), l/(n + 1/(2C)) (PA-II), with n = |s|^2 |x|^2;   if l > 0: w_o += tau s_o x

In a kernel's space w is sum_i alpha_i phi(x_i): |x|^2 is k(x, x), and a row that is learned joins the support set with
alpha = tau s, without a bound on the set. A row of length zero changes nothing.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, "Online Passive-Aggressive Algorithms", JMLR 2006.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.rivals.rival import OUTPUTS, Field, Rival
from nolana.engine.rivals.supports import GrowingRival

Array = NDArray[np.float64]


class Aggressiveness(ABC):
    """How far to go for a loss over a squared length."""

    @abstractmethod
    def step(self, loss: float, norm: float) -> float: ...


class Unbounded(Aggressiveness):
    """PA."""

    def step(self, loss: float, norm: float) -> float:
        return loss / norm


class Capped(Aggressiveness):
    """PA-I."""

    def __init__(self, c: NonNegative) -> None:
        self.c = c

    def step(self, loss: float, norm: float) -> float:
        return min(self.c, loss / norm)


class Softened(Aggressiveness):
    """PA-II."""

    def __init__(self, c: NonNegative) -> None:
        self.c = c

    def step(self, loss: float, norm: float) -> float:
        return loss / (norm + 1 / (2 * self.c))


class Demand(ABC):
    """What a row asks for: its loss, and the direction (c,) that lowers it."""

    @abstractmethod
    def of(self, y: Array, f: Array) -> tuple[float, Array]: ...


class Margin(Demand):
    """The row's own class before the best other one by 1."""

    def of(self, y: Array, f: Array) -> tuple[float, Array]:
        direction = Rival.direction(y, f)
        return 1 - float(direction @ f), direction


class Band(Demand):
    """A scalar target, to within epsilon."""

    def __init__(self, epsilon: NonNegative) -> None:
        self.epsilon = epsilon

    def of(self, y: Array, f: Array) -> tuple[float, Array]:
        return float(abs(y[0] - f[0])) - self.epsilon, np.sign(y - f)


class Aggression:
    """The step tau s of a row, in any feature space."""

    def __init__(self, demand: Demand, how: Aggressiveness) -> None:
        self.demand, self.how = demand, how

    def step(self, y: Array, f: Array, norm: float) -> Array | None:  # (c,), (c,) -> (c,)
        """None if the row asks for nothing."""
        loss, direction = self.demand.of(y, f)
        if loss <= 0 or norm <= 0:
            return None
        return self.how.step(loss, float(direction @ direction) * norm) * direction


class PassiveAggressive(Rival):
    """weights (c, d)."""

    def __init__(self, features: Count, demand: Demand, how: Aggressiveness) -> None:
        super().__init__(features)
        self.aggression = Aggression(demand, how)
        self.reset()

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "weights", (OUTPUTS, self.features))]

    def reset(self) -> None:
        self.weights = np.zeros((self.outputs, self.features))

    def score(self, x: Array) -> Array:
        return self.weights @ x

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        step = self.aggression.step(y, f, float(x @ x))
        if step is not None:
            self.weights += np.outer(step, x)


class KernelPassiveAggressive(GrowingRival):
    """supports (n, d), weights (c, n), ages (n), arrivals (1), with no bound on n."""

    def __init__(self, features: Count, budget: Count, kernel: Kernel, demand: Demand, how: Aggressiveness) -> None:
        super().__init__(features, budget, kernel)
        self.aggression = Aggression(demand, how)

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        step = self.aggression.step(y, f, self.self_value(x))
        if step is not None:
            self.add(x, step)
