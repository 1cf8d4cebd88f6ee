"""The Nyström map of fixed landmarks: phi(x) = S^(-1/2) U' k_x with the leading eigenpairs E ~ U S U'.

Its landmarks are rows, centroids, or what one pass of the online learner makes of them.

Williams, Seeger, "Using the Nyström Method to Speed Up Kernel Machines", NIPS 2001.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from nolana import OnlineNystroem
from nolana.experts.spectral.refit import inverse_roots
from nolana.experts.spectral.spectrum import Spectrum
from nolana.metrics.label_index import Labels
from nolana.research.paper.maps import Array, Maker, Map, rbf

EXPERTS = 4  # of an ensemble
ITERATIONS = 20  # of Lloyd's algorithm; more change the error only in the third digit

# Of the subspace iteration for leverage scores.
TURNS = 3
SPARE = 20  # directions beyond the requested ones
START = 0  # seed of the first basis
BLOCK = 500  # rows of G at a time


class Nystroem(Map):
    """A map of rank r over landmarks (m, d); with r = m it reproduces E exactly."""

    def __init__(self, landmarks: Array, rank: int, gamma: float) -> None:
        self.landmarks, self.gamma = landmarks, gamma
        spectrum = Spectrum.of(rbf(landmarks, landmarks, gamma), rank)
        self._directions = spectrum.vectors * inverse_roots(spectrum.values, 0.0)  # (m, r)

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self._directions.shape[1])

    @property
    def numbers(self) -> int:
        """Numbers to store: landmarks and directions."""
        return self.landmarks.size + self._directions.size

    def features(self, X: Array) -> Array:
        """phi of the rows (n, r)."""
        return np.asarray(rbf(X, self.landmarks, self.gamma) @ self._directions)

    def parts(self, X: Array) -> Iterator[Array]:
        yield self.features(X)


class FirstRows(Maker):
    """NOGD's map: landmarks are the first rows of the stream, and never change.

    Lu, Hoi, Wang, Zhao, Liu, "Large Scale Online Kernel Learning", JMLR 2016.
    """

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        return Nystroem(self.rows[:m], rank, self.gamma)


class Uniform(Maker):
    """Landmarks are drawn without replacement from all rows, all with the same probability."""

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        chosen = np.random.default_rng(seed).choice(len(self.rows), m, replace=False)
        return Nystroem(self.rows[chosen], rank, self.gamma)


class Centroids(Maker):
    """Landmarks are the centroids of all rows by k-means, from one start.

    Zhang, Tsang, Kwok, "Improved Nyström Low-Rank Approximation and Error Analysis", ICML 2008.
    """

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        return Nystroem(cluster(self.rows, m, seed).cluster_centers_, rank, self.gamma)


def cluster(X: Array, count: int, seed: int) -> KMeans:
    """The clusters of rows, from one start."""
    with threadpool_limits(1):  # the same order of sums for any number of cores
        return KMeans(count, n_init=1, max_iter=ITERATIONS, random_state=seed).fit(X)


class Leverage(Maker):
    """Landmarks are rows drawn in proportion to l_i = |row i of U_k|^2, U_k the k leading eigenvectors of G.

    A row that is important for the leading eigenvectors is drawn more often. k is the rank of the map. The eigenvectors
    of all n rows come from subspace iteration, Q <- orthonormal basis of G Q, which does not store G: O(n^2 k) time,
    O(n k) memory. The scores do not depend on the draw and are computed once.

    Gittens, Mahoney, "Revisiting the Nyström Method for Improved Large-Scale Machine Learning", ICML 2013.
    """

    def __init__(self, X: Array, gamma: float, y: Labels | None = None) -> None:
        super().__init__(X, gamma, y)
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
            self._vectors = _leading_eigenvectors(self.rows, self.gamma, rank)
        return np.asarray((self._vectors[:, :rank] ** 2).sum(axis=1))


def _leading_eigenvectors(X: Array, gamma: float, rank: int) -> Array:  # (n, d) -> (n, rank)
    """Eigenvectors of G for its largest eigenvalues, in descending order."""
    width = min(len(X), rank + SPARE)
    basis = np.random.default_rng(START).normal(size=(len(X), width))
    for _ in range(TURNS):
        basis = np.linalg.qr(_product(X, gamma, basis))[0]
    _, rotation = np.linalg.eigh(basis.T @ _product(X, gamma, basis))
    return np.ascontiguousarray((basis @ rotation)[:, ::-1][:, :rank])


def _product(X: Array, gamma: float, basis: Array) -> Array:
    """G times the basis, some rows of G at a time."""
    starts = range(0, len(X), BLOCK)
    return np.concatenate([rbf(X[i : i + BLOCK], X, gamma) @ basis for i in starts])


class Mean(Map):
    """The mean of the kernels of several maps."""

    def __init__(self, maps: Sequence[Nystroem]) -> None:
        self.maps = maps

    def parts(self, X: Array) -> Iterator[Array]:
        for one in self.maps:
            yield one.features(X) / np.sqrt(len(self.maps))


class Ensemble(Maker):
    """The mean of p uniform Nyström approximations, G ~ (1/p) sum_e G_e.

    phi(x) = [phi_1(x), ..., phi_p(x)]/sqrt(p), each phi_e over m rows of its own: p times the budget of one. Samples do
    not overlap if there are enough rows. The weights are uniform; the authors' other weights need G on further rows.

    Kumar, Mohri, Talwalkar, "Ensemble Nyström Method", NIPS 2009.
    """

    def map(self, m: int, rank: int, seed: int) -> Mean:
        order = np.random.default_rng(seed).permutation(len(self.rows))
        samples = [order[np.arange(e * m, (e + 1) * m) % len(order)] for e in range(EXPERTS)]
        return Mean([Nystroem(self.rows[sample], rank, self.gamma) for sample in samples])


class Moving(Maker):
    """OANA after one pass: landmarks start at the first m rows and move towards the means of their nearest rows.

    u_q <- (N_q u_q + x)/(N_q + 1) for the nearest landmark q of every row x at least epsilon away from it; here epsilon
    is 0, so every row moves its landmark.

    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
    """

    threshold: float | str = 0.0

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        online = OnlineNystroem(
            n_landmarks=m,
            gamma=self.gamma,
            threshold=self.threshold,
            initial_landmarks=self.start(m),
            scale=False,
            random_state=seed,
        )
        return Nystroem(online.partial_fit(self.rows).landmarks_, rank, self.gamma)

    def start(self, m: int) -> Array | None:
        """The initial landmarks."""
        return self.rows[:m]


class Median(Moving):
    """Epsilon is the median distance of a first landmark to its nearest neighbour: closer rows move no landmark."""

    threshold = "median"


class Default(Moving):
    """The defaults of `OnlineNystroem`, unscaled: epsilon = 0, and the first rows that differ enough are landmarks."""

    def start(self, m: int) -> Array | None:
        return None
