"""The Nyström map phi(x) = (S + delta)^(-1/2) U' k_x with its weights w, the decomposition kept as the paper does.

f(x) = w.phi(x). A gradient step on lambda/2 |w|^2 + loss(y, f): w <- (1 - eta lambda) w - eta loss' phi(x).
When the map changes, stage two (`nolana.nystroem.refit`) gives the weights for the new one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.nystroem.refit import Carry, Refit, inverse_roots
from nolana.nystroem.spectrum import Solver, Spectrum
from nolana.reference.heads import pack, triangle, unpack
from nolana.reference.losses import Loss

Array = NDArray[np.float64]
State = dict[str, Any]


class SpectralModel:
    """Weights on a decomposed map; plugs into the reference's loop beside the inverse models."""

    needs_ridge = False

    def __init__(
        self, solver: Solver, rank: int, refit: Refit, loss: Loss, rate: float, power: float, decay: float
    ) -> None:
        self.solver, self.rank, self.refit = solver, rank, refit
        self.loss, self.rate, self.power, self.decay = loss, rate, power, decay
        self.spectrum = Spectrum(np.zeros((0, 0)), np.zeros(0))
        self.gram: Array | None = np.zeros((0, 0)) if solver.keeps_gram else None
        self.w: Array = np.zeros((0, 0))  # (c, r)
        self.delta = 0.0

    @property
    def outputs(self) -> int:
        return len(self.w)

    @property
    def memory_bytes(self) -> int:
        gram = 0 if self.gram is None else self.gram.nbytes
        return self.spectrum.vectors.nbytes + self.spectrum.values.nbytes + self.w.nbytes + gram

    def features(self, k: Array) -> Array:
        """phi, for kernel values (m,) or (n, m)."""
        return np.asarray((k @ self.spectrum.vectors) * inverse_roots(self.spectrum.values, self.delta))

    def scores(self, k: Array) -> Array:
        return self.w @ self.features(k)

    def novelty(self, k: Array, self_value: float) -> float:
        phi = self.features(k)
        return float(self_value - phi @ phi)

    def alpha(self) -> Array:
        """The model in kernel coordinates (c, m)."""
        return np.asarray((self.w * inverse_roots(self.spectrum.values, self.delta)) @ self.spectrum.vectors.T)

    def learn(self, k: Array, self_value: float, y: Array, f: Array, weight: float, step: float) -> None:
        eta = self.rate * step**-self.power
        slopes = np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        self.w = max(0.0, 1 - eta * self.decay) * self.w
        if slopes.any():
            self.w -= np.outer(eta * weight * slopes, self.features(k))

    def grow(self, k: Array, self_value: float, delta: float, gram: Callable[[], Array]) -> None:
        alpha = np.column_stack([self.alpha(), np.zeros(self.outputs)])
        after = gram()
        self.rebuild(after, alpha, alpha @ after, delta)

    def rebuild(self, gram: Array, alpha: Array, z: Array, delta: float) -> None:
        """A new map from scratch that keeps the function of alpha, whose values at the landmarks are z."""
        self.spectrum = Spectrum.of(gram, min(self.rank, len(gram)))
        self.delta = delta
        self.w = Carry().weights(self.w, alpha, z, self.spectrum, delta)
        if self.gram is not None:
            self.gram = gram

    def move(
        self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float, delta: float
    ) -> bool:
        alpha = self.alpha()
        z = (
            alpha @ self.gram
            if self.gram is not None
            else (alpha @ self.spectrum.vectors * self.spectrum.values) @ (self.spectrum.vectors.T)
        )
        z[:, q] = alpha @ new_values
        column = new_values.copy()
        column[q] = new_self
        if self.gram is not None:
            self.gram[q, :] = self.gram[:, q] = column
        self.spectrum = self.solver.moved(self.spectrum, q, column, self.gram)
        self.w = self.refit.weights(self.w, alpha, z, self.spectrum, self.delta)
        return True

    def rekernel(self, before: Array, after: Array, delta: float) -> None:
        """Another kernel over the same landmarks."""
        alpha = self.alpha()
        self.rebuild(after, alpha, alpha @ before, delta)

    def refresh(self, gram: Array, delta: float) -> float:
        self.rekernel(gram, gram, delta)
        return delta

    def shapes(self, landmarks: int, outputs: int) -> dict[str, tuple[int, ...]]:
        """The arrays of a state with so many landmarks and outputs."""
        rank = min(self.rank, landmarks)
        own: dict[str, tuple[int, ...]] = {
            "vectors": (landmarks, rank),
            "values": (rank,),
            "weights": (outputs, rank),
        }
        return own if self.gram is None else own | {"gram": (triangle(landmarks),)}

    def state(self) -> State:
        own: State = {
            "vectors": self.spectrum.vectors.copy(),
            "values": self.spectrum.values.copy(),
            "weights": self.w.copy(),
        }
        return own if self.gram is None else own | {"gram": pack(self.gram)}

    def restore(self, state: State) -> None:
        n = len(state["landmarks"])
        self.spectrum = Spectrum(np.array(state["vectors"]).reshape(n, -1) if n else np.zeros((0, 0)), state["values"])
        self.w, self.delta = np.array(state["weights"]), state["ridge"]
        if self.solver.keeps_gram:
            self.gram = unpack(state["gram"], n)


class SpectralSGD:
    """How gradient steps on a decomposed map are taken, before it is known on what."""

    def __init__(
        self, loss: Loss, *, solver: Solver, rank: int, refit: Refit, rate: float, power: float, decay: float
    ) -> None:
        self.parameters = (solver, rank, refit, loss, rate, power, decay)

    def model(self) -> SpectralModel:
        return SpectralModel(*self.parameters)
