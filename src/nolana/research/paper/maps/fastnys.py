"""FastNys: pseudo-landmarks made of few seeds by a fast transform, so that many cost little time and memory.

    u_(s,j) = mu + v_s * h_j      seed v_s times, feature by feature, row j of the Hadamard matrix H of +-1
    (x - mu).(u_(s,j) - mu) = (H (v_s * (x - mu)))_j      for all j at once in d log d additions

so the squared distances |x - mu|^2 + |v_s|^2 - 2 (H (v_s * (x - mu)))_j of a row to d pseudo-landmarks take one
transform for each seed, instead of d products of d numbers. d is padded with zeros to a power of two. Then the map is
Nyström's. Seeds minimise the distance of the rows to their nearest pseudo-landmark: assign every row to its nearest
(s, j), then v_s <- mean of (x - mu) * h_j over the rows of s, and again. Of all pairs (s, j) the M with the most rows
are used. Numbers to store: d for mu, d for each seed, M for the pairs, M r directions. How the seeds are learned is our
reading of the idea; the program of the authors may differ.

Si, Hsieh, Dhillon, "Computationally Efficient Nyström Approximation using Fast Transforms", ICML 2016.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from nolana.experts.spectral.refit import inverse_roots
from nolana.experts.spectral.spectrum import Spectrum
from nolana.research.paper.maps import Array, Maker, Map, rbf
from nolana.research.paper.maps.fourier import hadamard_transform

ITERATIONS = 10


def padded(X: Array) -> Array:  # (n, d) -> (n, p)
    """Zero columns up to a power of two."""
    width = 1 << max(0, X.shape[1] - 1).bit_length()
    return np.pad(X, ((0, 0), (0, width - X.shape[1])))


def products(x: Array, seeds: Array) -> Array:  # (n, p), (s, p) -> (n, s p)
    """Inner products with all pseudo-landmarks, one transform for each seed."""
    return np.concatenate([hadamard_transform(x * seed) for seed in seeds], axis=1)


def learned_seeds(x: Array, count: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
    """Seeds (count, p) for centred rows (n, p), and how many rows each pseudo-landmark (count p) stands for."""
    width, signs = x.shape[1], hadamard(x.shape[1]).astype(float)
    seeds = x[rng.permutation(len(x))[:count]]
    for turn in range(ITERATIONS + 1):
        lengths = np.repeat((seeds**2).sum(axis=1), width)
        nearest = (lengths - 2 * products(x, seeds)).argmin(axis=1)
        if turn < ITERATIONS:
            turned, owner = x * signs[nearest % width], nearest // width
            for s in np.unique(owner):
                seeds[s] = turned[owner == s].mean(axis=0)
    return seeds, np.bincount(nearest, minlength=count * width)


class FastNysMap(Map):
    """The Nyström map of rank r over the pseudo-landmarks `chosen` (M,), numbered seed by seed."""

    def __init__(self, mean: Array, seeds: Array, chosen: NDArray[np.intp], rank: int, gamma: float) -> None:
        self.mean, self.seeds, self.chosen, self.gamma = mean, seeds, chosen, gamma
        width = seeds.shape[1]
        shifted = seeds[chosen // width] * hadamard(width).astype(float)[chosen % width]
        self.landmarks = shifted[:, : len(mean)] + mean
        self._lengths = (seeds**2).sum(axis=1)[chosen // width]
        spectrum = Spectrum.of(rbf(shifted, shifted, gamma), rank)
        self._directions = spectrum.vectors * inverse_roots(spectrum.values, 0.0)  # (M, r)

    @property
    def numbers(self) -> int:
        """Numbers to store."""
        return (1 + len(self.seeds)) * len(self.mean) + len(self.chosen) + self._directions.size

    def kernel_rows(self, X: Array) -> Array:  # (n, d) -> (n, M)
        """The kernel against all pseudo-landmarks, by fast transforms."""
        x = padded(X - self.mean)
        values = products(x, self.seeds)[:, self.chosen]
        values *= -2
        values += (x**2).sum(axis=1)[:, None] + self._lengths
        return np.asarray(np.exp(-self.gamma * np.maximum(values, 0.0)))

    def parts(self, X: Array) -> Iterator[Array]:
        yield self.kernel_rows(X) @ self._directions


def size_at(m: int, rank: int, n_features: int) -> tuple[int, int, int]:
    """Seeds, M and r for the memory of m landmarks and their rank, with r/M = rank/m."""
    width = 1 << max(0, n_features - 1).bit_length()

    def size(M: int) -> tuple[int, int, int]:
        return -(-M // width), M, max(1, M * rank // m)

    def numbers(M: int) -> int:
        seeds, _, r = size(M)
        return (1 + seeds) * n_features + M + M * r

    M = 1
    while numbers(M + 1) <= m * n_features + m * rank:
        M += 1
    return size(M)


class FastNys(Maker):
    """Seeds are learned on all rows."""

    def map(self, m: int, rank: int, seed: int) -> FastNysMap:
        count, M, r = size_at(m, rank, self.rows.shape[1])
        mean = self.rows.mean(axis=0)
        seeds, rows = learned_seeds(padded(self.rows - mean), count, np.random.default_rng(seed))
        chosen = np.sort(np.argsort(-rows, kind="stable")[:M])
        return FastNysMap(mean, seeds, chosen, r, self.gamma)
