"""Which landmark a row moves that did not become one itself."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Proposal:
    """Landmark ``q`` goes to ``place`` and counts ``count`` points from now on."""

    q: int
    place: Array
    count: float


class Policy(Protocol):
    """A rule that moves landmarks; one object may serve many learners, so it keeps no state."""

    def propose(
        self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float
    ) -> Proposal | None:  # (d,), (m,), (m, d), (m,)
        """The move row x causes, if any; distances are squared."""
        ...


class Fixed:
    """Landmarks that never move."""

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        return None


class KMeans:
    """q nearest to x; if |x - u_q|^2 >= epsilon: u_q <- (N_q u_q + x)/(N_q + 1), N_q += 1.

    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation", Algorithm 1.
    """

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        q = int(np.argmin(distances))
        if not distances[q] >= threshold or threshold == np.inf:
            return None
        count = counts[q]
        return Proposal(q, (count * landmarks[q] + x) / (count + 1), count + 1)
