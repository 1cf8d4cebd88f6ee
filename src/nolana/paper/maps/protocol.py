"""What the figure asks of a map and of the way it is made."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Maker", "Map"]

Array = NDArray[np.float64]


class Map(Protocol):
    """phi: rows to features whose inner products approximate the kernel."""

    def parts(self, X: Array) -> Iterator[Array]:  # (n, d) -> (n, w), (n, w'), ...
        """phi of the rows, some columns at a time: a random map may be too wide to be held at once."""
        ...


class Maker(Protocol):
    """Makes maps for the rows of a stream, which it was given in their order."""

    def map(self, m: int, rank: int, seed: int) -> Map:
        """A map of the budget m d + m rank; what is drawn is drawn by the seed."""
        ...
