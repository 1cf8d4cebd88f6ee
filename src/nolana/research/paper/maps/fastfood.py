"""Fastfood: Fourier features whose projections are products of diagonal and Hadamard matrices.

V = S H G P H B sqrt(2 gamma / d): B random signs, P a permutation, G ~ N(0, 1) and S on the diagonals,
S_ii = (a draw of chi with d degrees)/|G|_F, H the Hadamard matrix of +-1, d padded with zeros to a power of two. Rows
of V have the lengths of normal vectors, directions that look like theirs, and V x costs O(d log d). One such block
gives d projections; blocks are stacked.

Le, Sarlós, Smola, "Fastfood: Approximating Kernel Expansions in Loglinear Time", ICML 2013.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolana.research.paper.maps.fourier import AT_ONCE, cosines_and_sines, projections_at
from nolana.research.paper.maps.protocol import Array, FeatureMap, Maker

__all__ = ["Fastfood", "FastfoodMap", "hadamard_transform"]


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
class Block:
    """The diagonals of one block, each (d,)."""

    signs: Array
    order: NDArray[np.intp]
    normal: Array
    lengths: Array

    @classmethod
    def drawn(cls, d: int, rng: np.random.Generator) -> "Block":
        """A new block."""
        normal = rng.normal(size=d)
        lengths = np.sqrt(rng.chisquare(d, size=d)) / np.linalg.norm(normal)
        return cls(rng.choice([-1.0, 1.0], size=d), rng.permutation(d), normal, lengths)

    def projections(self, x: Array) -> Array:  # (n, d) -> (n, d)
        """S H G P H B x / sqrt(d)."""
        mixed = hadamard_transform(x * self.signs)[:, self.order] * self.normal
        return np.asarray(hadamard_transform(mixed) * (self.lengths / np.sqrt(x.shape[1])))


class FastfoodMap(FeatureMap):
    """Stacked blocks, truncated to D projections."""

    def __init__(self, n_features: int, projections: int, gamma: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.padded = 1 << max(1, (n_features - 1).bit_length())
        self.projections, self.gamma = projections, gamma
        self.blocks = [Block.drawn(self.padded, rng) for _ in range(-(-projections // self.padded))]

    def parts(self, X: Array) -> Iterator[Array]:
        x = np.sqrt(2 * self.gamma) * np.pad(X, ((0, 0), (0, self.padded - X.shape[1])))
        together = max(1, AT_ONCE // self.padded)
        for start in range(0, len(self.blocks), together):
            angles = np.concatenate([b.projections(x) for b in self.blocks[start : start + together]], axis=1)
            yield cosines_and_sines(angles[:, : self.projections - start * self.padded], self.projections)


class Fastfood(Maker):
    """As many projections as FOGD, in a fraction of the memory."""

    def map(self, m: int, rank: int, seed: int) -> FastfoodMap:
        n_features = self.rows.shape[1]
        return FastfoodMap(n_features, projections_at(m, rank, n_features), self.gamma, seed)
