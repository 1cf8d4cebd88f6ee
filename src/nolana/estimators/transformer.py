"""OnlineNystroem: the adaptive Nyström map alone, as a transformer."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolana.engine.experts.sgd import SGD
from nolana.engine.learner.losses import Squared
from nolana.errors import ModelFileError
from nolana.estimators._sklearn import ClassNamePrefixFeaturesOutMixin, TransformerMixin, check_is_fitted
from nolana.estimators.base import parameters
from nolana.estimators.edge import blocks, check_features, dense
from nolana.estimators.model import LandmarkEstimator
from nolana.estimators.parameters import (
    LARGEST_RIDGE,
    SMALLEST_RIDGE,
    SOLVERS,
    choice,
    integer,
    map_of,
    options_of,
    rank_of,
    ridge_of,
)
from nolana.experts.spectral.refit import inverse_roots
from nolana.experts.spectral.spectrum import Spectrum
from nolana.learner.driver import learner_spec
from nolana.learner.landmark import LandmarkOptions
from nolana.learner.rows import MatrixLike
from nolana.modelfile.node import Node
from nolana.modelfile.specs import Spec
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


@parameters
class OnlineNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LandmarkEstimator):  # type: ignore[misc]
    """Map rows to features whose inner products approximate a kernel, with landmarks that follow the stream.

    phi(x) = (S + delta)^(-1/2) U' k_x over m landmarks, E ~ U S U' their kernel matrix.

    Parameters
    ----------
    n_landmarks : int, default=100
        The number m of landmarks.
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "polynomial", "cosine", "linear", or a callable ``block(X, Z) -> K``.
    gamma : float or "median", default="median"
        Kernel width. "median": 1 / median squared distance of the landmarks, re-estimated at 2, 4, 8, ... rows until
        they are full.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    threshold : float or "median", default=0.0
        Squared distance to the nearest landmark from which a row moves it. With 0 every row moves its nearest landmark:
        a map loses nothing by a move, and the means of all rows are nearer to the kernel than those of the far rows. A
        learner pays for moves, so there the default is "median".
    landmarks : str or object, default="kmeans"
        How landmarks follow the rows: "kmeans" (the paper), "weighted" (k-means whose steps depend on the number of
        recent rows of a landmark), "expiring" (a landmark not nearest to any of 20 m rows goes to a new place),
        "window" (new rows replace the oldest, at most 5 % of the rows), "fixed", or an object with ``propose``.
    initial_landmarks : array-like of shape (n_landmarks, n_features), default=None
        Landmarks to start from. None: the first rows that are new enough.
    novelty : float, default=0.03
        Share of k(x, x) that a row must add to what the landmarks explain to become one; relaxed by m / rows if places
        are still free after m rows.
    solver : {"inverse", "exact", "rank2", "randomized"}, default="inverse"
        "exact", "rank2" and "randomized" update the decomposition at every move, as the paper does; "inverse" moves the
        landmarks alone and decomposes when features are asked for.
    rank : int or float, default=None
        Width of the features, or a fraction of m. None: m.
    power_iterations : int, default=2
        Iterations of ``solver="randomized"``.
    ridge : float, default=None
        Delta relative to the mean of k(u, u). None: 1e-3; 0 is the plain Nyström map.
    scale : bool, default=True
        Scale the features robustly online, as `StreamClassifier` does; gamma and threshold are then for scaled
        features.
    keep_growing : bool, default=False
        False: a scaled feature of a stream (``learn``, ``partial_fit``) that grows without bound, such as a row number
        or a time, counts a tenth in distances, with a `nolana.errors.GrowthWarning`. Rows of ``fit`` may be sorted, so
        there every feature counts. True: every feature counts always.
    random_state : int, RandomState instance or None, default=None
        Has no effect.

    Attributes
    ----------
    landmarks_ : ndarray of shape (at most n_landmarks, n_features)
        The landmarks in use, in the units of X; sketches of wide sparse rows.
    counts_ : ndarray of shape (landmarks in use,)
        Rows counted into each landmark; with ``landmarks="weighted"`` older rows count less.
    gamma_ : float
        The kernel width in use.
    threshold_ : float
        The squared distance from which a row moves its landmark; infinite until it is estimated.
    n_moves_ : int
        Landmark moves so far.
    n_rows_ : int
        Rows learned.
    memory_bytes_ : int
        Bytes of state and scratch.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import OnlineNystroem
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> map = OnlineNystroem(n_landmarks=40).partial_fit(X)
    >>> map.transform(X).shape
    (500, 40)
    >>> map.approximation_error(X) < 0.2
    True

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation" (OANA).
    """

    threshold: float | str = 0.0

    def _spec(self, n_features: int) -> tuple[Spec, LandmarkOptions]:
        solver, ridge = choice("solver", self.solver, SOLVERS), self._ridge()
        map = map_of(self, n_features, solver, self._width(), "carry", 0.0)
        # There are no outputs, so no step is ever taken.
        head = Spec(SGD, {"loss": Spec(Squared), "rate": 1.0, "power": 0.0, "decay": 0.0})
        return learner_spec(map, head), options_of(self, max(ridge, SMALLEST_RIDGE) if solver == "inverse" else ridge)

    def _ridge(self) -> float:
        return ridge_of(self.ridge)

    def _width(self) -> int:
        n_landmarks = integer("n_landmarks", self.n_landmarks, 1)
        return n_landmarks if self.rank is None else rank_of(self.rank, n_landmarks)

    def partial_fit(self, X: MatrixLike, y: object = None) -> Self:
        """Let the landmarks follow these rows; y is ignored."""
        return self._follow(X, any_order=False)

    def _follow(self, X: MatrixLike, any_order: bool) -> Self:
        with self._all_or_nothing() as first:
            x = check_features(self, X, reset=first)
            if first:
                self._learner = self._make_learner(x.shape[1], 0)
                if any_order:
                    self._learner.take_any_order()
                self._n_features_out, self._delta = self._width(), self._ridge()
            for rows in blocks(x):
                part = dense(x, rows)
                with self._learner.lock:
                    self._learner.learn(part, np.zeros((len(part), 0)))
        return self

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Forget everything, then learn the rows once; a refused fit changes nothing."""
        with self._all_or_nothing(replacing=True):
            self._check_parameters()
            self._forget()
            return self._follow(X, any_order=True)

    def _fitted_record(self) -> dict[str, Tree]:
        return super()._fitted_record() | {"width": self._n_features_out, "delta": self._delta}

    def _restore_fitted(self, node: Node) -> None:
        super()._restore_fitted(node)
        learner = self._learner
        narrowest, widest = (learner.rank, learner.rank) if learner.decomposed else (1, learner.capacity)
        self._n_features_out = node["width"].integer(narrowest, widest)
        self._delta = node["delta"].number(0.0, LARGEST_RIDGE)
        if self._learner.outputs:
            raise ModelFileError(f"{node.place}: a map has no outputs, the learner has {self._learner.outputs}")

    def transform(self, X: MatrixLike) -> Array:
        """phi of each row, (n, rank), zero columns while the landmarks fill up."""
        check_is_fitted(self)
        x = check_features(self, X, reset=False)
        with self._learner.lock:
            spectrum, roots = self._decomposition()
            values = np.concatenate([self._learner.kernel_rows(dense(x, rows)) for rows in blocks(x)])
        phi = np.zeros((x.shape[0], self._n_features_out))
        # One product for each row: what a row maps to must not depend on the rows beside it.
        directions = np.ascontiguousarray((spectrum.vectors * roots).T)
        for i, k in enumerate(values):
            phi[i, : len(roots)] = directions @ k
        return phi

    def _decomposition(self) -> tuple[Spectrum, Array]:
        """The map now: spectrum, and (S + delta)^(-1/2)."""
        spectrum = self._learner.spectrum(self._n_features_out)
        return spectrum, inverse_roots(spectrum.values, self._delta * self._learner.mean_diagonal())

    def approximation_error(self, X: MatrixLike) -> float:
        """``|G - Phi Phi'|_F / |G|_F`` for the kernel matrix G of these rows; O(n^2) time, O(n) memory at a time."""
        phi = self.transform(X)
        x = check_features(self, X, reset=False)
        learner = self._learner
        seen = learner.features(dense(x, slice(0, x.shape[0])))
        kernel, gamma = learner.kernel, learner.gamma
        wrong = total = 0.0
        for i, row in enumerate(seen):
            exact = kernel.gram(row[None], seen, gamma)[0]
            wrong += float(((exact - phi @ phi[i]) ** 2).sum())
            total += float((exact**2).sum())
        return float(np.sqrt(wrong / total)) if total > 0 else 0.0
