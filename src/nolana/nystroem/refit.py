"""Stage two: what becomes of the weights when the map changes.

With z_i = f_old(u_i) at the new landmarks, E ~ U S U' there and D = S + delta:

carry   alpha' = alpha + P'(z - E' alpha), the change penalised; in w: D^(-1/2) (delta U' alpha + U' z)
paper   min over w' of sum_i (z_i - w'.phi(u_i))^2 + theta |w'|^2: w' = (S^2/D + theta)^-1 S D^(-1/2) U' z,
        without a decomposition alpha' = (E'^2 + theta (E' + delta I))^-1 E' z. It shrinks the model towards
        zero at every move, not towards what it was.
none    w' = w
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.nystroem.spectrum import Spectrum
from nolana.reference.heads import SGDModel, pack, triangle, unpack
from nolana.reference.losses import Loss

Array = NDArray[np.float64]
State = dict[str, Any]


def inverse_roots(values: Array, delta: float) -> Array:
    """(S + delta)^(-1/2), 0 where S + delta is nothing but rounding."""
    total = values + delta
    floor = len(values) * np.finfo(float).eps * max(float(total.max(initial=0.0)), np.finfo(float).tiny)
    return np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > floor)


class Refit(Protocol):
    """Stage two: weights for the new map."""

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        """w (c, r) from the old weights, the old coefficients (c, m) and the old values z (c, m)."""
        ...


class Carry:
    """Keep the function, penalise its change."""

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        onto = (delta * alpha + z) @ spectrum.vectors
        return np.asarray(onto * inverse_roots(spectrum.values, delta))


class PaperRefit:
    """The stage two that the paper prints, theta the penalty."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        s = spectrum.values
        roots = inverse_roots(s, delta)
        normal = (s * roots) ** 2 + self.penalty
        return np.divide(s * roots, normal, out=np.zeros_like(s), where=normal > 0) * (z @ spectrum.vectors)


class KeepWeights:
    """No stage two."""

    def weights(self, w: Array, alpha: Array, z: Array, spectrum: Spectrum, delta: float) -> Array:
        return w


class PaperInverseModel(SGDModel):
    """Gradient steps on P with the paper's stage two, solved afresh at every move: O(m^3) each."""

    def __init__(self, loss: Loss, penalty: float, rate: float, power: float, decay: float) -> None:
        super().__init__(loss, rate, power, decay)
        self.penalty = penalty
        self.gram: Array = np.zeros((0, 0))  # E (m, m)

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + self.gram.nbytes

    def grow(self, k: Array, self_value: float, delta: float, gram: Callable[[], Array]) -> None:
        super().grow(k, self_value, delta, gram)
        self.gram = np.block([[self.gram, k[:, None]], [k[None], np.full((1, 1), self_value)]])

    def move(
        self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float, delta: float
    ) -> bool:
        z = self.alpha @ self.gram
        z[:, q] = self.alpha @ new_values
        healthy = super().move(q, new_values, old_values, new_self, old_self, delta)
        self.gram[q, :] = self.gram[:, q] = new_values
        self.gram[q, q] = new_self
        normal = self.gram @ self.gram + self.penalty * (self.gram + delta * np.eye(len(self.gram)))
        self.alpha = np.ascontiguousarray(np.linalg.solve(normal, self.gram @ z.T).T, dtype=np.float64)
        return healthy

    def refresh(self, gram: Array, delta: float) -> float:
        self.gram = gram
        return super().refresh(gram, delta)

    def shapes(self, landmarks: int, outputs: int) -> dict[str, tuple[int, ...]]:
        return super().shapes(landmarks, outputs) | {"gram": (triangle(landmarks),)}

    def state(self) -> State:
        return super().state() | {"gram": pack(self.gram)}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.gram = unpack(state["gram"], len(state["landmarks"]))


class PaperInverseSGD:
    """How the paper's stage two goes without a decomposition, before it is known on what."""

    def __init__(self, loss: Loss, *, penalty: float, rate: float, power: float, decay: float) -> None:
        self.parameters = (loss, penalty, rate, power, decay)

    def model(self) -> PaperInverseModel:
        return PaperInverseModel(*self.parameters)
