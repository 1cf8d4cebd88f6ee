"""The protocols of a map and of the object that makes maps, and the kernel matrix of a map with features."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dsyrk

from nolana.research.paper.harness.experiment import Array

__all__ = ["Array", "FeatureMap", "Maker", "Map"]


class Map(Protocol):
    """An approximation of the kernel."""

    def parts(self, X: Array) -> Iterator[Array]:  # (n, d) -> (n, w), (n, w'), ...
        """Features of the rows, some columns at a time, since a random map may be too wide for memory."""
        ...

    def gram(self, X: Array) -> Array:  # (n, d) -> (n, n)
        """The approximate kernel matrix of the rows; only its lower half is set."""
        ...


class FeatureMap(ABC):
    """A map whose kernel is the inner product of its features: Gbar = sum of part part'."""

    @abstractmethod
    def parts(self, X: Array) -> Iterator[Array]:
        """Features of the rows, some columns at a time."""

    def gram(self, X: Array) -> Array:
        """The lower half of Gbar."""
        total = np.zeros((len(X), len(X)), order="F")
        for part in self.parts(X):
            total = dsyrk(1.0, np.ascontiguousarray(part).T, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)
        return total


class Maker(Protocol):
    """Makes maps for the rows of a stream; its constructor takes the rows in their order, and gamma."""

    def map(self, m: int, rank: int, seed: int) -> Map:
        """A map with the budget m d + m rank; `seed` is for its random draws."""
        ...
