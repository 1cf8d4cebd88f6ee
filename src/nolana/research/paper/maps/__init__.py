"""Kernel maps to compare the online one with: those of the rivals, and those that use all rows at once.

Each approximates k(x, z) = exp(-gamma |x - z|^2), most of them by phi(x).phi(z). Each has its formula and citation. The
error of a map is |G - Gbar|_F / |G|_F over some rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from nolana.metrics.label_index import Labels

Array = NDArray[np.float64]

BLOCK = 250  # rows of G at a time


def rbf(X: Array, Z: Array, gamma: float) -> Array:  # (n, d), (m, d) -> (n, m)
    """exp(-gamma |x - z|^2), by |x|^2 + |z|^2 - 2 x.z: one matrix product instead of (n, m, d) differences."""
    values = X @ Z.T
    values *= -2
    values += np.einsum("ij,ij->i", X, X)[:, None]
    values += np.einsum("ij,ij->i", Z, Z)
    np.maximum(values, 0.0, out=values)
    values *= -gamma
    return np.exp(values, out=values)


class Map(ABC):
    """An approximation of the kernel, by default by the inner product of features: Gbar = sum of part part'."""

    @abstractmethod
    def parts(self, X: Array) -> Iterator[Array]:  # (n, d) -> (n, w), (n, w'), ...
        """Features of the rows, some columns at a time, since a random map may be too wide for memory."""

    def gram(self, X: Array) -> Array:  # (n, d) -> (n, n)
        """The approximate kernel matrix of the rows; only its lower half is set."""
        total = np.zeros((len(X), len(X)), order="F")
        for part in self.parts(X):
            total = dsyrk(1.0, np.ascontiguousarray(part).T, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)
        return total


class Maker(ABC):
    """Makes maps for the rows of a stream, in their order."""

    def __init__(self, X: Array, gamma: float, y: Labels | None = None) -> None:
        self.rows, self.gamma, self.y = X, gamma, y

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
        wrong += _symmetric_sum(off**2, start)
        total += _symmetric_sum(exact**2, start)
    return float(np.sqrt(wrong / total))


def _symmetric_sum(rows: Array, start: int) -> float:
    """What rows from `start` on add to the sum over a symmetric matrix, computed from its lower half."""
    return float(2 * np.tril(rows, start).sum() - np.trace(rows, start))
