"""What a map and the maker of maps can do, and the error of a map: |G - Gbar|_F / |G|_F over some rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dsyrk

from nolana.research.paper.harness.experiment import Array
from nolana.research.paper.harness.gram import rbf

__all__ = ["Array", "FeatureMap", "Maker", "Map", "relative_error"]

BLOCK = 250  # rows of G at a time


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


class Maker(ABC):
    """Makes maps for the rows of a stream, in their order."""

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    @abstractmethod
    def map(self, m: int, rank: int, seed: int) -> Map:
        """A map with the budget m d + m rank; `seed` is for its random draws."""


def relative_error(phi: Map, X: Array, gamma: float) -> float:
    """The error on rows X (n, d). Memory: 8 n^2 bytes for Gbar; G is computed in blocks of rows."""
    n = len(X)
    approximate = phi.gram(X)
    wrong = total = 0.0
    for start in range(0, n, BLOCK):
        rows = X[start : start + BLOCK]
        exact = rbf(rows, X[: start + len(rows)], gamma)
        off = exact - approximate[start : start + len(rows), : start + len(rows)]
        wrong += symmetric_sum(off**2, start)
        total += symmetric_sum(exact**2, start)
    return float(np.sqrt(wrong / total))


def symmetric_sum(rows: Array, start: int) -> float:
    """What rows from `start` on add to the sum over a symmetric matrix, computed from its lower half."""
    return float(2 * np.tril(rows, start).sum() - np.trace(rows, start))
