"""The protocols of a map and of the object that makes maps."""

from collections.abc import Iterator
from typing import Protocol

from nolana.paper.harness.experiment import Array

__all__ = ["Array", "Maker", "Map"]


class Map(Protocol):
    """phi: rows to features whose inner products approximate the kernel."""

    def parts(self, X: Array) -> Iterator[Array]:  # (n, d) -> (n, w), (n, w'), ...
        """phi of the rows, some columns at a time, since a random map may be too wide for memory."""
        ...


class Maker(Protocol):
    """Makes maps for the rows of a stream; its constructor takes the rows in their order, and gamma."""

    def map(self, m: int, rank: int, seed: int) -> Map:
        """A map with the budget m d + m rank; `seed` is for its random draws."""
        ...
