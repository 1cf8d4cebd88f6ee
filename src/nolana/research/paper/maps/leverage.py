"""Leverage-score Nyström: rows drawn in proportion to l_i = |row i of U_k|^2, U_k the k leading eigenvectors of G.

A row that is important for the leading eigenvectors is drawn more often. k is the rank of the map. The eigenvectors
of all n rows come from subspace iteration, Q <- orthonormal basis of G Q, which does not store G: O(n^2 k) time,
O(n k) memory.

Gittens, Mahoney, "Revisiting the Nyström Method for Improved Large-Scale Machine Learning", ICML 2013.
"""

import numpy as np

from nolana.research.paper.harness.gram import rbf
from nolana.research.paper.maps.nystroem import Nystroem
from nolana.research.paper.maps.protocol import Array, Maker

__all__ = ["Leverage", "leading_eigenvectors"]

ITERATIONS = 3
SPARE = 20  # directions beyond the requested ones
START = 0  # seed of the first basis
BLOCK = 500  # rows of G at a time


class Leverage(Maker):
    """Landmarks are drawn by leverage scores, which do not depend on the draw and are computed once."""

    def __init__(self, X: Array, gamma: float) -> None:
        super().__init__(X, gamma)
        self._vectors = np.zeros((len(X), 0))

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        """The map of a sample; call it with the largest rank first, so that the scores are computed once."""
        scores = self.scores(rank)
        # Every row has a positive chance; otherwise fewer than m rows might be left to draw.
        chances = np.maximum(scores, np.finfo(float).eps)
        chosen = np.random.default_rng(seed).choice(len(self.rows), m, replace=False, p=chances / chances.sum())
        return Nystroem(self.rows[chosen], rank, self.gamma)

    def scores(self, rank: int) -> Array:
        """l_i of every row; they sum to the rank."""
        if self._vectors.shape[1] < rank:
            self._vectors = leading_eigenvectors(self.rows, self.gamma, rank)
        return np.asarray((self._vectors[:, :rank] ** 2).sum(axis=1))


def leading_eigenvectors(X: Array, gamma: float, rank: int) -> Array:  # (n, d) -> (n, rank)
    """Eigenvectors of G for its largest eigenvalues, in descending order."""
    width = min(len(X), rank + SPARE)
    basis = np.random.default_rng(START).normal(size=(len(X), width))
    for _ in range(ITERATIONS):
        basis = np.linalg.qr(product(X, gamma, basis))[0]
    _, rotation = np.linalg.eigh(basis.T @ product(X, gamma, basis))
    return np.ascontiguousarray((basis @ rotation)[:, ::-1][:, :rank])


def product(X: Array, gamma: float, basis: Array) -> Array:
    """G times the basis, some rows of G at a time."""
    starts = range(0, len(X), BLOCK)
    return np.concatenate([rbf(X[i : i + BLOCK], X, gamma) @ basis for i in starts])
