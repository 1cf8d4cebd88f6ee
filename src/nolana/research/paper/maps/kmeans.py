"""k-means Nyström: landmarks are the centroids of all rows.

Zhang, Tsang, Kwok, "Improved Nyström Low-Rank Approximation and Error Analysis", ICML 2008.
"""

from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from nolana.research.paper.maps.nystroem import Nystroem
from nolana.research.paper.maps.protocol import Array

__all__ = ["Centroids"]

ITERATIONS = 20  # of Lloyd's algorithm; more change the error only in the third digit


class Centroids:
    """Landmarks are centroids."""

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        """The map of the centroids from one start."""
        with threadpool_limits(1):  # the same order of sums for any number of cores
            clusters = KMeans(m, n_init=1, max_iter=ITERATIONS, random_state=seed).fit(self.rows)
        return Nystroem(clusters.cluster_centers_, rank, self.gamma)
