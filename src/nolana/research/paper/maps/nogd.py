"""NOGD's map: the Nyström map of the first m rows, which never changes.

Lu, Hoi, Wang, Zhao, Liu, "Large Scale Online Kernel Learning", JMLR 2016.
"""

from nolana.research.paper.maps.nystroem import Nystroem
from nolana.research.paper.maps.protocol import Array

__all__ = ["FirstRows"]


class FirstRows:
    """Landmarks are the first rows of the stream."""

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        """The map of the first m rows; `seed` is not used."""
        return Nystroem(self.rows[:m], rank, self.gamma)
