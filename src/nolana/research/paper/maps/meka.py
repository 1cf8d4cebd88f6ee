"""MEKA: the rows in c clusters, a small basis for each, and links between the bases.

    G ~ W L W' ,   W = W_1 (+) ... (+) W_c ,   W_s = phi_s(rows of cluster s)   (n_s, q)
    L_ss = I ,     L_st = argmin |G_st - W_s L W_t'|_F = W_s^+ G_st (W_t^+)'    on sampled rows of s and t

phi_s is the Nyström map of rank q over p rows drawn from cluster s. A new row belongs to the cluster of the nearest
centre. W L W' has the rank c q, while a row has q features only; it need not be positive semidefinite. Numbers to
store: c d centres, c p d landmarks, c p q directions, q^2 for each pair of clusters.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", ICML 2014.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nolana.research.paper.maps import Array, Maker, Map, rbf
from nolana.research.paper.maps.nystroem import Nystroem, cluster

CLUSTERS = 5
# With 2 rows for each of the q features the links fit the sampled entries and little else: on 6,000 rows of covtype at
# m = 100 the error was 0.11, with 10 rows it is 0.06.
SAMPLED = 10  # rows of a cluster to fit its links on, for each of its q features
CUTOFF = 1e-3  # of the largest singular value of W_s: smaller ones only amplify what the bases cannot explain


class MekaMap(Map):
    """Blocks on the diagonal, and links (c q, c q) between them."""

    def __init__(self, centres: Array, blocks: Sequence[Nystroem], links: Array) -> None:
        self.centres, self.blocks, self.links = centres, blocks, links
        self.starts = np.cumsum([0, *(block.rank for block in blocks)])

    @property
    def numbers(self) -> int:
        """Numbers to store; each pair of clusters has its link once."""
        ranks = np.array([block.rank for block in self.blocks])
        between = (int(ranks.sum()) ** 2 - int((ranks**2).sum())) // 2
        return self.centres.size + sum(block.numbers for block in self.blocks) + between

    def clusters(self, X: Array) -> NDArray[np.intp]:
        """The nearest centre of every row."""
        distances = (self.centres**2).sum(axis=1) - 2 * X @ self.centres.T
        return np.asarray(distances.argmin(axis=1))

    def parts(self, X: Array) -> Iterator[Array]:
        """W: a row is zero outside the columns of its cluster."""
        features, clusters = np.zeros((len(X), self.starts[-1])), self.clusters(X)
        for s, block in enumerate(self.blocks):
            mine = clusters == s
            features[mine, self.starts[s] : self.starts[s + 1]] = block.features(X[mine])
        yield features

    def gram(self, X: Array) -> Array:
        """W L W'."""
        (features,) = self.parts(X)
        return np.asarray(features @ self.links @ features.T)


def links_of(blocks: Sequence[Nystroem], samples: Sequence[Array], gamma: float) -> Array:
    """L by least squares on sampled rows of each cluster."""
    solvers = [np.linalg.pinv(block.features(rows), rcond=CUTOFF) for block, rows in zip(blocks, samples, strict=True)]
    starts = np.cumsum([0, *(block.rank for block in blocks)])
    links = np.eye(starts[-1])
    for s in range(len(blocks)):
        for t in range(s):
            link = solvers[s] @ rbf(samples[s], samples[t], gamma) @ solvers[t].T
            links[starts[s] : starts[s + 1], starts[t] : starts[t + 1]] = link
            links[starts[t] : starts[t + 1], starts[s] : starts[s + 1]] = link.T
    return links


def size_at(m: int, rank: int, n_features: int, clusters: int = CLUSTERS) -> tuple[int, int]:
    """p and q for the memory of m landmarks and their rank, with q/p = rank/m; at least one of each."""

    def numbers(p: int, q: int) -> int:
        return clusters * (n_features + p * n_features + p * q) + clusters * (clusters - 1) // 2 * q * q

    p = 1
    while numbers(p + 1, max(1, (p + 1) * rank // m)) <= m * n_features + m * rank:
        p += 1
    return p, max(1, p * rank // m)


class Meka(Maker):
    """Clusters of all rows by k-means."""

    def map(self, m: int, rank: int, seed: int) -> MekaMap:
        return self.sized(*size_at(m, rank, self.rows.shape[1]), CLUSTERS, seed)

    def sized(self, p: int, q: int, clusters: int, seed: int) -> MekaMap:
        """p landmarks and q features in each cluster; fewer in a cluster with fewer rows."""
        means = cluster(self.rows, clusters, seed)
        rng = np.random.default_rng(seed)
        blocks, samples = [], []
        for s in range(clusters):
            mine = self.rows[rng.permutation(np.flatnonzero(means.labels_ == s))]
            blocks.append(Nystroem(mine[:p], min(q, len(mine)), self.gamma))
            samples.append(rng.permutation(mine)[: SAMPLED * q])
        return MekaMap(means.cluster_centers_, blocks, links_of(blocks, samples, self.gamma))
