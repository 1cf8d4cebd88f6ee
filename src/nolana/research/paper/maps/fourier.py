"""Maps of random Fourier features: phi(x) = [cos(u'x), sin(u'x)]/sqrt(D) for D projections u.

FOGD's map draws u_j ~ N(0, 2 gamma I). The mean of phi(x).phi(z) over the draws is k = exp(-gamma |x - z|^2), its
variance (1 - k^2)^2/(2 D).

Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.
Lu, Hoi, Wang, Zhao, Liu, "Large Scale Online Kernel Learning", JMLR 2016.

The projections of Fastfood are products of diagonal and Hadamard matrices, V = S H G P H B sqrt(2 gamma / d): B random
signs, P a permutation, G ~ N(0, 1) and S on the diagonals, S_ii = (a draw of chi with d degrees)/|G|_F, H the Hadamard
matrix of +-1, d padded with zeros to a power of two. Rows of V have the lengths of normal vectors, directions that look
like theirs, and V x costs O(d log d). One such block gives d projections; blocks are stacked.

Le, Sarlós, Smola, "Fastfood: Approximating Kernel Expansions in Loglinear Time", ICML 2013.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolana.research.paper.maps import Array, Maker, Map
from nolana.research.rivals import at_equal_budget

AT_ONCE = 512  # projections


def _projections_at(m: int, rank: int, n_features: int) -> int:
    """D at the budget of m landmarks and rank r: (m d + m r)/d."""
    return int(at_equal_budget("FOGD", n_landmarks=m, n_features=n_features, rank=rank).n_components)


def _cosines_and_sines(angles: Array, projections: int) -> Array:  # (n, w) -> (n, 2w)
    """[cos, sin]/sqrt(D) for some of the D projections."""
    return np.asarray(np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(projections))


class FourierMap(Map):
    """Random Fourier features, D by d draws."""

    def __init__(self, draws: Array) -> None:
        self.draws = draws

    def parts(self, X: Array) -> Iterator[Array]:
        for start in range(0, len(self.draws), AT_ONCE):
            yield _cosines_and_sines(X @ self.draws[start : start + AT_ONCE].T, len(self.draws))


class Fourier(Maker):
    """As many projections as the budget allows; of the rows only the width is used."""

    def map(self, m: int, rank: int, seed: int) -> FourierMap:
        n_features = self.rows.shape[1]
        size = (_projections_at(m, rank, n_features), n_features)
        return FourierMap(np.sqrt(2 * self.gamma) * np.random.default_rng(seed).normal(size=size))


def hadamard_transform(x: Array) -> Array:  # (n, d) -> (n, d), d a power of two
    """H x for every row, by d log d additions."""
    n, d = x.shape
    width = 1
    while width < d:
        pairs = x.reshape(n, d // (2 * width), 2, width)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(n, d)
        width *= 2
    return x


@dataclass(frozen=True)
class _Block:
    """The diagonals of one block, each (d,)."""

    signs: Array
    order: NDArray[np.intp]
    normal: Array
    lengths: Array

    @classmethod
    def drawn(cls, d: int, rng: np.random.Generator) -> "_Block":
        """A new block."""
        normal = rng.normal(size=d)
        lengths = np.sqrt(rng.chisquare(d, size=d)) / np.linalg.norm(normal)
        return cls(rng.choice([-1.0, 1.0], size=d), rng.permutation(d), normal, lengths)

    def projections(self, x: Array) -> Array:  # (n, d) -> (n, d)
        """S H G P H B x / sqrt(d)."""
        mixed = hadamard_transform(x * self.signs)[:, self.order] * self.normal
        return np.asarray(hadamard_transform(mixed) * (self.lengths / np.sqrt(x.shape[1])))


class FastfoodMap(Map):
    """Stacked blocks, truncated to D projections."""

    def __init__(self, n_features: int, projections: int, gamma: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.padded = 1 << max(1, (n_features - 1).bit_length())
        self.projections, self.gamma = projections, gamma
        self.blocks = [_Block.drawn(self.padded, rng) for _ in range(-(-projections // self.padded))]

    def parts(self, X: Array) -> Iterator[Array]:
        x = np.sqrt(2 * self.gamma) * np.pad(X, ((0, 0), (0, self.padded - X.shape[1])))
        together = max(1, AT_ONCE // self.padded)
        for start in range(0, len(self.blocks), together):
            angles = np.concatenate([b.projections(x) for b in self.blocks[start : start + together]], axis=1)
            yield _cosines_and_sines(angles[:, : self.projections - start * self.padded], self.projections)


class Fastfood(Maker):
    """As many projections as FOGD, in a fraction of the memory."""

    def map(self, m: int, rank: int, seed: int) -> FastfoodMap:
        n_features = self.rows.shape[1]
        return FastfoodMap(n_features, _projections_at(m, rank, n_features), self.gamma, seed)
