"""Random Fourier features: phi(x) = [cos(u'x), sin(u'x)]/sqrt(D), u_j ~ N(0, 2 gamma I).

phi(x).phi(x') is exp(-gamma |x - x'|^2) on average over the draws; the prior of the weights is the identity.

Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.
"""

import numpy as np

from nolana.engine.base.bounds import Projections
from nolana.engine.base.state import POSITIVE, Field
from nolana.engine.experts.map import Array, Map


def pairs(angles: Array) -> Array:  # (D,) -> (2D,)
    """[cos, sin] of the angles."""
    return np.concatenate([np.cos(angles), np.sin(angles)])


def fourier_features(x: Array, projections: Array, gamma: float) -> Array:  # (d,), (D, d) -> (2D,)
    """phi(x) for standard normal draws; the width scales them."""
    return np.asarray(pairs(np.sqrt(2 * gamma) * (projections @ x)) / np.sqrt(len(projections)))


class FourierMap(Map):
    """projections (D, d) are standard normal draws."""

    def __init__(self, projections: Projections) -> None:
        super().__init__(projections.shape[1])
        self.projections = projections
        self.gamma, self.self_value = 1.0, 1.0

    @property
    def side(self) -> int:
        return 2 * len(self.projections)

    def fields(self) -> list[Field]:
        return [Field(self, "gamma", low=POSITIVE)]

    def evaluate(self, x: Array) -> None:
        self.phi = fourier_features(x, self.projections, self.gamma)

    def prior(self) -> Array:
        return np.eye(self.side)

    def prior_product(self) -> Array:
        return self.phi
