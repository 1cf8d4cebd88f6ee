"""Doubly stochastic gradients: every step brings its own random feature.

    f = sum_i a_i phi_i(x),   phi_i(x) = sqrt(2) cos(omega_i'x + b_i),  omega_i ~ N(0, 2 gamma I), b_i ~ U[0, 2 pi)
    step t: eta = rate/t;   a *= 1 - eta decay;   a_t -= eta loss'(y, f) phi_t(x)

Only a is stored: feature i is drawn anew from (seed, i) whenever it is needed, by 2 ceil(d/2) + 1 uniform numbers
and the Box-Muller transform. On a budget of D features step t takes feature t mod D: once all are in use the
steps go round, and a step adds to the coefficient that is there. Several classes: one a for each output.

Dai, Xie, He, Liang, Raj, Balcan, Song, "Scalable Kernel Methods via Doubly Stochastic Gradients", NIPS 2014.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, NonNegative, Seed
from nolana.engine.base.draw import GOLDEN, WORD, mixed
from nolana.engine.learner.losses import Loss
from nolana.engine.rivals.rival import OUTPUTS, Field, Rival

Array = NDArray[np.float64]


def uniforms(seed: int, count: int) -> Array:
    """The numbers `draw(seed, 0..count)` of nolana.engine.base.draw, in [0, 1)."""
    rows: Any = np.arange(count, dtype=np.uint64)
    bits: Any = mixed(np.uint64(mixed((seed + GOLDEN) & WORD)) + rows * np.uint64(GOLDEN))  # modulo 2^64
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def random_features(seed: int, budget: int, features: int) -> tuple[Array, Array]:  # (D, d), (D,)
    """Standard normal draws and phases in [0, 2 pi)."""
    pairs = (features + 1) // 2
    u = uniforms(seed, budget * (2 * pairs + 1)).reshape(budget, 2 * pairs + 1)
    radii, turns = np.sqrt(-2 * np.log(1 - u[:, :-1:2])), 2 * np.pi * u[:, 1:-1:2]
    normal = np.stack([radii * np.cos(turns), radii * np.sin(turns)], axis=2).reshape(budget, 2 * pairs)
    return normal[:, :features], 2 * np.pi * u[:, -1]


class DoublySGD(Rival):
    """weights (c, D) = a."""

    def __init__(
        self, features: Count, budget: Count, loss: Loss, rate: NonNegative, decay: NonNegative, seed: Seed
    ) -> None:
        super().__init__(features)
        self.budget, self.loss, self.rate, self.decay, self.seed = budget, loss, rate, decay, seed
        self.reset()

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "weights", (OUTPUTS, self.budget))]

    def reset(self) -> None:
        self.weights = np.zeros((self.outputs, self.budget))

    def score(self, x: Array) -> Array:
        draws, b = random_features(self.seed, self.budget, self.features)
        angles = np.sqrt(2 * self.gamma) * (draws @ x) + b
        self.phi = np.asarray(np.sqrt(2) * np.cos(angles))  # the update that follows uses it
        return np.asarray(self.weights @ self.phi)

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        eta, i = self.rate / self.rows, self.rows % self.budget
        slopes = np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        self.weights *= 1 - eta * self.decay
        self.weights[:, i] -= eta * weight * slopes * self.phi[i]
