"""The row itself: phi(z) = (z, 1). The prior of the weights is the identity.

Unsquashed, a feature is linear in the units of the input: what the logarithmic tail of the scaling (`robust_scaling`)
did to z = metric (1 + ln|q|) is undone, phi_j = metric clip(q, 16). So a linear head can say "the last value" of a
feature whose values are far from its centre. One outlier has at most the leverage of 256 usual rows; a feature that
stays beyond 8 units has a new anchor before it comes to 16.
"""

import numpy as np

from nolana.engine.base.bounds import Count
from nolana.engine.base.state import POSITIVE, Field
from nolana.engine.experts.map import Array, Map

LARGEST = 16.0  # |q|


class IdentityMap(Map):
    """For linear heads; metric (d,) if it is unsquashed."""

    def __init__(self, features: Count, unsquashed: bool = False) -> None:
        super().__init__(features)
        self.self_value = 1.0
        self.unsquashed, self.metric = unsquashed, np.ones(features)

    @property
    def side(self) -> int:
        return self.features + 1

    def evaluate(self, x: Array) -> None:
        if self.unsquashed:
            size = np.abs(x) / self.metric
            tail = self.metric * np.minimum(np.exp(np.maximum(size, 1.0) - 1), LARGEST)
            x = np.where(size > 1, np.copysign(tail, x), x)
        self.phi = np.append(x, 1.0)
        self.self_value = float(self.phi @ self.phi)

    def prior(self) -> Array:
        return np.eye(self.side)

    def prior_product(self) -> Array:
        return self.phi

    def clear(self) -> None:
        self.metric = np.ones(self.features)

    def fields(self) -> list[Field]:
        return [Field(self, "metric", (self.features,), low=POSITIVE)] if self.unsquashed else []
