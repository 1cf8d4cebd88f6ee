"""Reparameterized Random Features: Fourier features whose widths are learned with the weights.

    omega = exp(g) * e, phi = [cos(x'omega), sin(x'omega)], f = w.phi
    s_j = -w_j sin(x'omega_j) + w_{D+j} cos(x'omega_j),   df/dg = exp(g) * x * (e s)
    w -= rate (decay w + loss' phi),   g -= width_rate loss' df/dg,   both from the old w and g

g starts at log(sqrt(2 gamma)), w at `start`. Several classes share g: the loss is the sum over the outputs, so
s is that of the sum over outputs of loss'_o w_o. A sample weight multiplies loss'.

Nguyen, Le, Bui, Phung, "Large-scale Online Kernel Learning with Random Feature Reparameterization", IJCAI 2017.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative, Numbers, Projections
from nolana.engine.experts.fourier_map import pairs
from nolana.engine.learner.losses import Loss
from nolana.engine.rivals.rival import OUTPUTS, Field, Rival

Array = NDArray[np.float64]


class RRF(Rival):
    """weights (c, 2D), log_widths (d,) = g; projections (D, d) are the standard normal draws e."""

    def __init__(
        self,
        features: Count,
        projections: Projections,
        loss: Loss,
        rate: NonNegative,
        width_rate: NonNegative,
        decay: NonNegative,
        start: Numbers,  # (2D,)
    ) -> None:
        if len(start) != 2 * len(projections):
            raise ValueError(f"start has {len(start)} numbers, expected {2 * len(projections)}")
        super().__init__(features)
        self.projections, self.loss, self.start = projections, loss, start
        self.rate, self.width_rate, self.decay = rate, width_rate, decay
        self.reset()

    def fields(self) -> list[Field]:
        self.follow_gamma()
        weights = Field(self, "weights", (OUTPUTS, 2 * len(self.projections)))
        return [*super().fields(), weights, Field(self, "log_widths", (self.features,))]

    def reset(self) -> None:
        self.weights = np.tile(self.start, (self.outputs, 1))
        self.log_widths: Array = np.zeros(self.features)
        self.follow_gamma()

    def follow_gamma(self) -> None:
        """The widths start at gamma, which may be set any time before the first row."""
        if self.rows == 0:
            self.log_widths = np.full(self.features, np.log(np.sqrt(2 * self.gamma)))

    def score(self, x: Array) -> Array:
        self.follow_gamma()
        self.scaled = np.exp(self.log_widths) * x  # the update that follows uses it, and phi
        self.phi = pairs(self.projections @ self.scaled)
        return self.weights @ self.phi

    def width_gradient(self, pulled: Array) -> Array:  # (2D,) -> (d,)
        """df/dg of f = pulled.phi at the row that was just scored."""
        along, across = np.split(pulled, 2)
        cosine, sine = np.split(self.phi, 2)
        return self.scaled * (self.projections.T @ (across * cosine - along * sine))

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        slopes = weight * np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        turn = self.width_gradient(slopes @ self.weights)
        self.weights = (1 - self.rate * self.decay) * self.weights - np.outer(self.rate * slopes, self.phi)
        self.log_widths = self.log_widths - self.width_rate * turn
