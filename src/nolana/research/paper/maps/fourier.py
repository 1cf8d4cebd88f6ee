"""FOGD's map: random Fourier features phi(x) = [cos(u'x), sin(u'x)]/sqrt(D), u_j ~ N(0, 2 gamma I), D projections.

The mean of phi(x).phi(z) over the draws is k = exp(-gamma |x - z|^2), its variance (1 - k^2)^2/(2 D).

Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.
Lu, Hoi, Wang, Zhao, Liu, "Large Scale Online Kernel Learning", JMLR 2016.
"""

from collections.abc import Iterator

import numpy as np

from nolana.research.paper.maps.protocol import Array, FeatureMap, Maker
from nolana.research.rivals import at_equal_budget

__all__ = ["Fourier", "FourierMap", "cosines_and_sines", "projections_at"]

AT_ONCE = 512  # projections


def projections_at(m: int, rank: int, n_features: int) -> int:
    """D at the budget of m landmarks and rank r: (m d + m r)/d."""
    return int(at_equal_budget("FOGD", n_landmarks=m, n_features=n_features, rank=rank).n_components)


def cosines_and_sines(angles: Array, projections: int) -> Array:  # (n, w) -> (n, 2w)
    """[cos, sin]/sqrt(D) for some of the D projections."""
    return np.asarray(np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(projections))


class FourierMap(FeatureMap):
    """Random Fourier features, D by d draws."""

    def __init__(self, draws: Array) -> None:
        self.draws = draws

    def parts(self, X: Array) -> Iterator[Array]:
        for start in range(0, len(self.draws), AT_ONCE):
            yield cosines_and_sines(X @ self.draws[start : start + AT_ONCE].T, len(self.draws))


class Fourier(Maker):
    """As many projections as the budget allows; of the rows only the width is used."""

    def map(self, m: int, rank: int, seed: int) -> FourierMap:
        n_features = self.rows.shape[1]
        size = (projections_at(m, rank, n_features), n_features)
        return FourierMap(np.sqrt(2 * self.gamma) * np.random.default_rng(seed).normal(size=size))
