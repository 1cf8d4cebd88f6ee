"""The row itself: phi(z) = (z, 1). The prior of the weights is the identity."""

import numpy as np

from nolana.reference.bounds import Count
from nolana.reference.maps.map import Array, Map


class IdentityMap(Map):
    """For linear heads."""

    def __init__(self, features: Count) -> None:
        super().__init__(features)
        self.self_value = 1.0

    @property
    def side(self) -> int:
        return self.features + 1

    def evaluate(self, x: Array) -> None:
        self.phi = np.append(x, 1.0)
        self.self_value = float(self.phi @ self.phi)

    def prior(self) -> Array:
        return np.eye(self.side)

    def prior_product(self) -> Array:
        return self.phi
