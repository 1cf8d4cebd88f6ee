"""The Nyström map phi(x) = (S + delta)^(-1/2) U' k_x, its decomposition updated as the paper does.

f(x) = w.phi(x), so a gradient step is w <- (1 - eta lambda) w - eta loss' phi(x). When the map changes, stage two
(`nolana.experts.spectral.refit`) gives the weights for the new one.
"""

from collections.abc import Callable

import numpy as np

from nolana.engine.base.bounds import Count
from nolana.engine.base.state import Field, Size
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.experts.landmarks.landmark_map import MovingLandmarks
from nolana.engine.experts.landmarks.policies.policy import Policy
from nolana.engine.experts.map import Remap
from nolana.experts.spectral.refit import Carry, Refit, inverse_roots
from nolana.experts.spectral.spectrum import Array, Solver, Spectrum


class SpectralMap(MovingLandmarks):
    """vectors (m, r), values (r,), and E (m, m) where the solver needs it."""

    needs_ridge = False
    remaps = True

    def __init__(
        self,
        features: Count,
        capacity: Count,
        kernel: Kernel,
        policy: Policy,
        solver: Solver,
        rank: Count,
        refit: Refit,
    ) -> None:
        self.solver, self.rank, self.refit = solver, min(rank, capacity), refit
        super().__init__(features, capacity, kernel, policy)

    def clear(self) -> None:
        super().clear()
        self.spectrum = Spectrum(np.zeros((0, 0)), np.zeros(0))
        self.e: Array = np.zeros((0, 0))

    @property
    def side(self) -> Size:
        return Size("rank", self.rank, owner="map")

    @property
    def vectors(self) -> Array:
        return self.spectrum.vectors

    @vectors.setter
    def vectors(self, vectors: Array) -> None:
        self.spectrum = Spectrum(vectors, self.spectrum.values)

    @property
    def values(self) -> Array:
        return self.spectrum.values

    @values.setter
    def values(self, values: Array) -> None:
        self.spectrum = Spectrum(self.spectrum.vectors, values)

    def fields(self) -> list[Field]:
        vectors = Field(self, "vectors", (self.landmarks_side, self.side))
        gram = Field(self, "e", (self.landmarks_side,), name="gram", packed=True)
        own = [*super().fields(), vectors, Field(self, "values", (self.side,))]
        return [*own, gram] if self.solver.needs_gram else own

    @property
    def roots(self) -> Array:
        return inverse_roots(self.spectrum.values, self.ridge)

    def represent(self) -> None:
        self.phi = np.asarray((self.k @ self.spectrum.vectors) * self.roots)

    def prior(self) -> Array:
        return np.eye(len(self.spectrum.values))

    def prior_product(self) -> Array:
        return self.phi

    def novelty(self) -> float:
        return float(self.self_value - self.phi @ self.phi)

    def coefficients(self) -> Callable[[Array], Array]:
        """From weights (c, r) to the same model in kernel coordinates, alpha (c, m), under the map as it is now."""
        roots, vectors = self.roots, self.spectrum.vectors
        return lambda w: np.asarray((w * roots) @ vectors.T)

    def added(self, k: Array, self_value: float) -> None:
        alpha, gram = self.coefficients(), self.gram()
        self.rekernel(gram, lambda w: np.column_stack([alpha(w), np.zeros(len(w))]), gram, self.ridge)

    def rekernel(self, before: Array, alpha: Callable[[Array], Array], after: Array, delta: float) -> None:
        """A new map from scratch, over kernel matrix `after`; the function of alpha over `before` is carried over."""
        self.spectrum = Spectrum.of(after, min(self.rank, len(after)))
        self.ridge = delta
        if self.solver.needs_gram:
            self.e = after
        spectrum = self.spectrum

        def carry(w: Array) -> Array:
            coefficients = alpha(w)
            return Carry().weights(w, coefficients, coefficients @ before, spectrum, delta)

        self.notify(Remap(carry))

    def replaced(self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float) -> bool:
        alpha, before, e = self.coefficients(), self.spectrum, self.e.copy()
        column = new_values.copy()
        column[q] = new_self
        if self.solver.needs_gram:
            self.e[q, :] = self.e[:, q] = column
        self.spectrum = self.solver.moved(before, q, column, self.e if self.solver.needs_gram else None)

        def stage_two(w: Array) -> Array:
            coefficients = alpha(w)
            z = (
                coefficients @ e
                if self.solver.needs_gram
                else (coefficients @ before.vectors * before.values) @ before.vectors.T
            )
            z[:, q] = coefficients @ new_values
            return self.refit.weights(w, coefficients, z, self.spectrum, self.ridge)

        self.notify(Remap(stage_two))
        return True

    def rebuild(self, gram: Array, delta: float) -> float:
        self.rekernel(gram, self.coefficients(), gram, delta)
        return delta
