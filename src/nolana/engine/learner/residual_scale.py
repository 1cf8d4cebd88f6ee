"""The scale of a row's residual against that of a usual row, from what the experts say: s = exp(w.(phi - mean of phi)).

phi = (1, ln d, f, f^2): f is the score of the row within +-4, d the root mean square distance of the experts' scores
from it, at least 1e-3. Fisher scoring for residuals of a Laplace distribution of scale exp(w.phi), with forgetting:

    H <- lambda H + (1 - lambda) rho I + phi phi',                                lambda = .9995, rho = 10
    w += H^-1 [(min(|r|/exp(w.phi), 3) - 1) phi - (1 - lambda) rho w]

The loss w.phi + |r|/exp(w.phi) has the slope (1 - |r|/exp(w.phi)) phi and the mean curvature phi phi'. The first row of
H over its first entry is the running mean of phi. ln s is within +-3: beyond, a row moves w in no direction but back.

Counts and prices have errors that grow with their size, which f and f^2 say; d says where the experts know little.
"""

import math

import numpy as np

from nolana.engine.base.state import Array, Field

LARGEST_SCORE, SMALLEST_SPREAD = 4.0, 1e-3
FORGETTING, PRIOR = 0.9995, 10.0
CLIP = 3.0  # of |r|/exp(w.phi)
LARGEST, LARGEST_LEVEL = 3.0, 6.0  # of ln s, and of w_0: residuals that are all zero must not end at w_0 = -inf
INPUTS = 4


def inputs(score: float, spread: float) -> Array:
    """phi."""
    f = min(LARGEST_SCORE, max(-LARGEST_SCORE, score))
    return np.array([1.0, math.log(max(SMALLEST_SPREAD, spread)), f, f * f])


class ResidualScale:
    """w as `weights` (4,), H as `information` (4, 4)."""

    def __init__(self) -> None:
        self.start_at(0.0)

    def start_at(self, level: float) -> None:
        """Before the first row, or with no more known than the level of ln |r|."""
        self.weights: Array = np.array([level, 0.0, 0.0, 0.0])
        self.information: Array = PRIOR * np.eye(INPUTS)

    @property
    def level(self) -> float:
        """The mean of w.phi."""
        return float(self.weights @ self.information[0]) / float(self.information[0, 0])

    def log_scale(self, phi: Array) -> float:
        """ln s."""
        return min(LARGEST, max(-LARGEST, float(self.weights @ phi) - self.level))

    def observe_row(self, residual: float, score: float, spread: float) -> None:
        phi = inputs(score, spread)
        own = self.log_scale(phi)
        pull = min(CLIP, abs(residual) * math.exp(-own - self.level)) - 1
        if abs(own) == LARGEST and pull * own > 0:
            pull = 0.0
        back = (1 - FORGETTING) * PRIOR
        self.information = FORGETTING * self.information + back * np.eye(INPUTS) + np.outer(phi, phi)
        self.weights = self.weights + np.linalg.solve(self.information, pull * phi - back * self.weights)
        self.weights[0] = min(LARGEST_LEVEL, max(-LARGEST_LEVEL, float(self.weights[0])))

    def rescale(self, factor: float) -> None:
        """Residuals are `factor` times what they were: f has another meaning, and nothing but the level stays."""
        self.start_at(min(LARGEST_LEVEL, max(-LARGEST_LEVEL, self.level + math.log(factor))))

    def fields(self) -> list[Field]:
        return [
            Field(self, "weights", (INPUTS,), name="scale_weights"),
            Field(self, "information", (INPUTS, INPUTS), name="scale_information"),
        ]
