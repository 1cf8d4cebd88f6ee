"""Ensemble Nyström: the mean of p uniform Nyström approximations, G ~ (1/p) sum_e G_e.

phi(x) = [phi_1(x), ..., phi_p(x)]/sqrt(p), each phi_e over m rows of its own: p times the budget of one. The weights
are uniform; the authors' other weights need G on further rows.

Kumar, Mohri, Talwalkar, "Ensemble Nyström Method", NIPS 2009.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from nolana.research.paper.maps.nystroem import Nystroem
from nolana.research.paper.maps.protocol import Array, FeatureMap

__all__ = ["EXPERTS", "Ensemble", "Mean"]

EXPERTS = 4


class Mean(FeatureMap):
    """The mean of the kernels of several maps."""

    def __init__(self, maps: Sequence[Nystroem]) -> None:
        self.maps = maps

    def parts(self, X: Array) -> Iterator[Array]:
        """One part for each of the maps."""
        for one in self.maps:
            yield one.features(X) / np.sqrt(len(self.maps))


class Ensemble:
    """Each expert has its own sample of the rows; samples do not overlap if there are enough rows."""

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    def map(self, m: int, rank: int, seed: int) -> Mean:
        """The mean of `EXPERTS` maps."""
        order = np.random.default_rng(seed).permutation(len(self.rows))
        samples = [order[np.arange(e * m, (e + 1) * m) % len(order)] for e in range(EXPERTS)]
        return Mean([Nystroem(self.rows[sample], rank, self.gamma) for sample in samples])
