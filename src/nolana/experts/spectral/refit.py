"""Stage two: what becomes of the weights when the map changes.

With z_i = f_old(u_i) at the new landmarks, E ~ U S U' there and D = S + delta:

carry   alpha' = alpha + P'(z - E' alpha), the change penalised; in w: D^(-1/2) (delta U' alpha + U' z)
paper   min over w' of sum_i (z_i - w'.phi(u_i))^2 + theta |w'|^2: w' = (S^2/D + theta)^-1 S D^(-1/2) U' z,
        without a decomposition alpha' = (E'^2 + theta (E' + delta I))^-1 E' z. It shrinks the model towards
        zero at every move, not towards what it was.
none    w' = w
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from nolana.engine.base.bounds import Count, NonNegative
from nolana.engine.base.state import Field
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.policies.policy import Policy
from nolana.engine.experts.map import Remap
from nolana.experts.spectral.spectrum import Array, Spectrum


def inverse_roots(values: Array, delta: float) -> Array:
    """(S + delta)^(-1/2), 0 where S + delta is nothing but rounding."""
    total = values + delta
    floor = len(values) * np.finfo(float).eps * max(float(total.max(initial=0.0)), np.finfo(float).tiny)
    return np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > floor)


class Refit(ABC):
    """Stage two: weights for the new map."""

    label: ClassVar[str]  # its name for users

    @abstractmethod
    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        """w (c, r) from the old weights, the old coefficients (c, m) and the old values z (c, m)."""


class Carry(Refit):
    """Carry the function over, penalise its change."""

    label = "carry"

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        onto = (delta * alpha + z) @ spectrum.vectors
        return np.asarray(onto * inverse_roots(spectrum.values, delta))


class PaperRefit(Refit):
    """The stage two that the paper prints, theta the penalty."""

    label = "paper"

    def __init__(self, penalty: NonNegative) -> None:
        self.penalty = penalty

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        s = spectrum.values
        roots = inverse_roots(s, delta)
        normal = (s * roots) ** 2 + self.penalty
        return np.divide(s * roots, normal, out=np.zeros_like(s), where=normal > 0) * (z @ spectrum.vectors)


class KeepWeights(Refit):
    """No stage two."""

    label = "none"

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        return w


class PaperLandmarkMap(LandmarkMap):
    """A landmark map with the paper's stage two, solved afresh at every move: O(m^3) each."""

    remaps = True

    def __init__(self, features: Count, capacity: Count, kernel: Kernel, policy: Policy, penalty: NonNegative) -> None:
        super().__init__(features, capacity, kernel, policy)
        self.penalty = penalty

    def clear(self) -> None:
        super().clear()
        self.e: Array = np.zeros((0, 0))  # E (m, m)

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "e", (self.side,), name="gram", packed=True)]

    def added(self, k: Array, self_value: float) -> None:
        super().added(k, self_value)
        self.e = np.block([[self.e, k[:, None]], [k[None], np.full((1, 1), self_value)]])

    def carry(self, q: int, s: float, carry: Array, new_values: Array, new_self: float) -> None:
        before = self.e.copy()
        self.e[q, :] = self.e[:, q] = new_values
        self.e[q, q] = new_self
        normal = self.e @ self.e + self.penalty * (self.e + self.ridge * np.eye(self.size))

        def stage_two(alpha: Array) -> Array:
            z = alpha @ before
            z[:, q] = alpha @ new_values
            return np.ascontiguousarray(np.linalg.solve(normal, self.e @ z.T).T, dtype=np.float64)

        self.notify(Remap(stage_two))

    def rebuild(self, gram: Array, delta: float) -> float:
        self.e = gram
        return super().rebuild(gram, delta)
