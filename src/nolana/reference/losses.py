"""Losses: the slope for gradient steps, the proximal step for Newton's.

``proximal`` returns (pull, curvature): alpha += pull h, R -= g h h' / (1 + g kappa).
"""

import math
from typing import Protocol


class Loss(Protocol):
    """A loss of one output."""

    def slope(self, y: float, f: float) -> float:
        """d loss / d f."""
        ...

    def active(self, y: float, f: float) -> bool:
        """Whether the row asks for anything at all."""
        ...


class CurvedLoss(Loss, Protocol):
    """A loss that Newton steps can use."""

    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        """The exact step of a row of this weight on a prediction of variance kappa."""
        ...


class Squared:
    """(y - f)^2."""

    def slope(self, y: float, f: float) -> float:
        return 2 * (f - y)

    def active(self, y: float, f: float) -> bool:
        return True

    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        return (y - f) / (noise / weight + kappa), weight / noise


class SquaredHinge:
    """max(0, 1 - y f)^2."""

    def slope(self, y: float, f: float) -> float:
        return -2 * y * max(0.0, 1 - y * f)

    def active(self, y: float, f: float) -> bool:
        return y * f < 1

    def proximal(self, y: float, f: float, kappa: float, weight: float, noise: float) -> tuple[float, float]:
        return y * (1 - y * f) / (noise / weight + kappa), weight / noise


class Hinge:
    """max(0, 1 - y f)."""

    def slope(self, y: float, f: float) -> float:
        return -y if y * f < 1 else 0.0

    def active(self, y: float, f: float) -> bool:
        return y * f < 1


class EpsilonInsensitive:
    """max(0, |y - f| - epsilon)."""

    def __init__(self, epsilon: float) -> None:
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


class Logistic:
    """log(1 + exp(-y f))."""

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
