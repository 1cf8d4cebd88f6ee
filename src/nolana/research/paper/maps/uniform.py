"""Uniform Nyström: m landmarks drawn without replacement from all rows, all with the same probability.

Williams, Seeger, "Using the Nyström Method to Speed Up Kernel Machines", NIPS 2001.
"""

import numpy as np

from nolana.research.paper.maps.nystroem import Nystroem
from nolana.research.paper.maps.protocol import Array

__all__ = ["Uniform"]


class Uniform:
    """Landmarks are a sample of the rows."""

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        """The map of a sample."""
        chosen = np.random.default_rng(seed).choice(len(self.rows), m, replace=False)
        return Nystroem(self.rows[chosen], rank, self.gamma)
