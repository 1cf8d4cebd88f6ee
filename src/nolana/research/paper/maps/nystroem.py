"""The Nyström map of fixed landmarks: phi(x) = S^(-1/2) U' k_x with the leading eigenpairs E ~ U S U'.

Williams, Seeger, "Using the Nyström Method to Speed Up Kernel Machines", NIPS 2001.
"""

from collections.abc import Iterator

import numpy as np

from nolana.experts.spectral.refit import inverse_roots
from nolana.experts.spectral.spectrum import Spectrum
from nolana.research.paper.harness.gram import rbf
from nolana.research.paper.maps.protocol import Array, FeatureMap

__all__ = ["Nystroem"]


class Nystroem(FeatureMap):
    """A map of rank r over landmarks (m, d); with r = m it reproduces E exactly."""

    def __init__(self, landmarks: Array, rank: int, gamma: float) -> None:
        self.landmarks, self.gamma = landmarks, gamma
        spectrum = Spectrum.of(rbf(landmarks, landmarks, gamma), rank)
        self._directions = spectrum.vectors * inverse_roots(spectrum.values, 0.0)  # (m, r)

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self._directions.shape[1])

    @property
    def numbers(self) -> int:
        """Numbers to store: landmarks and directions."""
        return self.landmarks.size + self._directions.size

    def features(self, X: Array) -> Array:
        """phi of the rows (n, r)."""
        return np.asarray(rbf(X, self.landmarks, self.gamma) @ self._directions)

    def parts(self, X: Array) -> Iterator[Array]:
        """All columns at once."""
        yield self.features(X)
