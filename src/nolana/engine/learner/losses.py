"""Losses: the slope for gradient steps, the proximal step for Newton's.

``proximal`` returns (pull, curvature): w += pull h, R -= g h h' / (1 + g kappa). Adding a loss here and in
core/learner/losses.cpp is all there is to do.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

from nolana.engine.base.bounds import NonNegative

CLASSIFICATION, REGRESSION = "classification", "regression"


__all__ = ["CurvedLoss", "EpsilonInsensitive", "Hinge", "Logistic", "Loss", "Squared", "SquaredHinge"]


class Loss(ABC):
    """A loss of one output, and what it can do."""

    label: ClassVar[str]  # its name for users
    tasks: ClassVar[tuple[str, ...]]
    default_rate: ClassVar[float]  # of gradient steps
    curved: ClassVar[bool] = False  # whether Newton steps can use it
    probabilistic: ClassVar[bool] = False  # whether scores are log-odds
    linear: ClassVar[bool] = False  # whether what is learned is linear in the targets

    @abstractmethod
    def slope(self, y: float, f: float) -> float:
        """d loss / d f."""

    @abstractmethod
    def active(self, y: float, f: float) -> bool:
        """Whether the row asks for anything at all."""


class CurvedLoss(Loss):
    """A loss that Newton steps can use."""

    curved = True

    @abstractmethod
    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        """The exact step of a row of this weight on a prediction of variance kappa."""

    @staticmethod
    def noise_and_prior(ratio: float) -> tuple[float, float]:
        """n and tau of which only the ratio n/tau is known."""
        return ratio, 1.0


class Squared(CurvedLoss):
    """(y - f)^2."""

    label = "squared"
    tasks = (CLASSIFICATION, REGRESSION)
    default_rate = 0.2
    linear = True

    def slope(self, y: float, f: float) -> float:
        return 2 * (f - y)

    def active(self, y: float, f: float) -> bool:
        return True

    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        return (y - f) / (noise / weight + kappa), weight / noise


class SquaredHinge(CurvedLoss):
    """max(0, 1 - y f)^2."""

    label = "squared_hinge"
    tasks = (CLASSIFICATION,)
    default_rate = 0.15

    def slope(self, y: float, f: float) -> float:
        return -2 * y * max(0.0, 1 - y * f)

    def active(self, y: float, f: float) -> bool:
        return y * f < 1

    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        return y * (1 - y * f) / (noise / weight + kappa), weight / noise


class Hinge(Loss):
    """max(0, 1 - y f)."""

    label = "hinge"
    tasks = (CLASSIFICATION,)
    default_rate = 0.5

    def slope(self, y: float, f: float) -> float:
        return -y if y * f < 1 else 0.0

    def active(self, y: float, f: float) -> bool:
        return y * f < 1


class EpsilonInsensitive(Loss):
    """max(0, |y - f| - epsilon)."""

    label = "epsilon_insensitive"
    tasks = (REGRESSION,)
    default_rate = 0.5

    def __init__(self, epsilon: NonNegative) -> None:
        self.epsilon = epsilon

    def slope(self, y: float, f: float) -> float:
        if y - f > self.epsilon:
            return -1.0
        return 1.0 if f - y > self.epsilon else 0.0

    def active(self, y: float, f: float) -> bool:
        return abs(y - f) > self.epsilon


def sigmoid(z: float) -> float:
    """1 / (1 + exp(-z)), without overflow."""
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    e = math.exp(z)
    return e / (1 + e)


class Logistic(CurvedLoss):
    """log(1 + exp(-y f))."""

    label = "logistic"
    tasks = (CLASSIFICATION,)
    default_rate = 2.0
    probabilistic = True

    @staticmethod
    def noise_and_prior(ratio: float) -> tuple[float, float]:
        """There is no noise beside the loss itself: the prior has it all."""
        return 1.0, 1 / ratio

    def slope(self, y: float, f: float) -> float:
        return -y * sigmoid(-y * f)

    def active(self, y: float, f: float) -> bool:
        return True

    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        """Solve r = weight (yt - sigma(f + kappa r)), yt in {0, 1}: Newton's steps inside a bracket.

        A plain step from r = 0 overshoots wildly when kappa is large. The root lies between 0 and the
        value of the right-hand side at r = 0.
        """
        target = 1.0 if y > 0 else 0.0
        start = weight * (target - sigmoid(f))
        low, high, r = min(0.0, start), max(0.0, start), 0.0
        for _ in range(100):
            s = sigmoid(f + kappa * r)
            excess = r - weight * (target - s)
            if excess > 0:
                high = r
            else:
                low = r
            after = r - excess / (1 + weight * kappa * s * (1 - s))
            if not low < after < high:
                after = low + (high - low) / 2
            if after == r or abs(after - r) <= 1e-15 * abs(after):
                break
            r = after
        s = sigmoid(f + kappa * r)
        return r, weight * s * (1 - s)
