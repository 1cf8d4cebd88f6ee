"""NolanaRegressor: nonlinear regression on a stream in fixed memory."""

from typing import Any, ClassVar

from nolana.engine.learner.losses import REGRESSION
from nolana.estimators.base import parameters
from nolana.estimators.model import NolanaModel
from nolana.estimators.parameters import width_of
from nolana.estimators.regression import Centre, OnlineRegressor, Uncentred


@parameters
class NolanaRegressor(OnlineRegressor, NolanaModel):
    """Predict a number from a stream with a kernel model of fixed size whose landmarks follow the data.

    f(x) = mu + sum_i alpha_i k(x, u_i) over m landmarks u_i, mu the running mean of the targets. Several targets, y of
    shape (n, k), have weights of their own over the same landmarks.

    For text use `StreamRegressor`; the reason is that of `NolanaClassifier`.

    Parameters
    ----------
    n_landmarks : int, default=100
        The number m of landmarks; memory is about 8 (m d + m (m + 1)) bytes for ``optimizer="newton"``.
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "polynomial", "cosine", "linear", or a callable ``block(X, Z) -> K``.
    gamma : float or "median", default="median"
        Kernel width. "median": 1 / median squared distance of the landmarks, re-estimated at 2, 4, 8, ... rows until
        they are full.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    threshold : float or "median", default="median"
        Squared distance to the nearest landmark from which a row moves it: 0 moves at every row, ``inf`` never.
        "median": the median distance at which landmarks were added, estimated when they are full, or at 2, 4, 8, ...
        rows from 4 m rows on.
    landmarks : str or object, default="kmeans"
        How landmarks follow the rows: "kmeans" (the paper), "weighted" (k-means whose steps depend on the number of
        recent rows of a landmark), "expiring" (a landmark not nearest to any of 20 m rows goes to a new place),
        "window" (new rows replace the oldest, at most 5 % of the rows), "fixed", or an object with ``propose``.
    initial_landmarks : array-like of shape (n_landmarks, n_features), default=None
        Landmarks to start from. None: the first rows that are new enough.
    novelty : float, default=0.03
        Share of k(x, x) that a row must add to what the landmarks explain to become one; relaxed by m / rows if places
        are still free after m rows.
    loss : str, default=None
        "squared", "huber" (targets with outliers) or, with sgd only, "epsilon_insensitive". None: "squared".
    optimizer : {"newton", "sgd"}, default="newton"
        "newton" is second order and has no learning rate.
    solver : {"inverse", "exact", "rank2", "randomized"}, default="inverse"
        "inverse" needs one product for each landmark move; the others are those of the paper.
    rank : int or float, default=None
        Rank of the decomposition, or a fraction of m; not with ``solver="inverse"``.
    power_iterations : int, default=2
        Iterations of ``solver="randomized"``.
    refit : {"carry", "paper", "none"}, default="carry"
        What becomes of the weights when a landmark moves.
    refit_penalty : float, default=None
        Theta of ``refit="paper"``. None: 1e-3.
    learning_rate : float, default=None
        Step size of sgd. None: that of the loss.
    schedule : {"constant", "sqrt", "inverse"}, default="constant"
        Learning rate of sgd over time: constant, 1/sqrt(t) or 1/t.
    regularization : float, default=None
        Lambda for sgd; noise over prior variance for newton. None: 0 for sgd; newton estimates the noise of the targets
        from the stream. Then, and with sgd, sample weights count relative to their running mean. With a value, newton
        takes them as they are: a weight divides the noise of its row.
    forgetting : float, default=None
        Forgetting factor of newton, for each row: the model falls back to its prior. None: 0.99999; 1.0: never.
    move_noise : float, default=1e-3
        Process noise that newton adds for every landmark move.
    ridge : float, default=None
        Added to the diagonal of the landmarks' kernel matrix, relative to its mean. None: 1e-3.
    scale : bool, default=True
        Scale the features robustly online, as `StreamClassifier` does; gamma and threshold are then for scaled
        features.
    keep_growing : bool, default=False
        False: a scaled feature of a stream (``learn``, ``partial_fit``) that grows without bound, such as a row number
        or a time, counts a tenth in distances, with a `nolana.errors.GrowthWarning`. Rows of ``fit`` may be sorted, so
        there every feature counts. True: every feature counts always.
    epsilon : float, default=0.1
        Half the width of the band without loss of "epsilon_insensitive", in units of y.
    center : bool, default=True
        Predict around the running mean of y. False: around 0, so that newton with fixed landmarks is plain ridge
        regression on k_x.
    max_iter : int, default=1
        Epochs of ``fit``.
    shuffle : bool, default=False
        Whether ``fit`` shuffles the rows of each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles.

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
    n_iter_ : int
        Passes of the last ``fit``.
    memory_bytes_ : int
        Bytes of state and scratch.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import NolanaRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = 10 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=2000)
    >>> model = NolanaRegressor(n_landmarks=20)
    >>> scores = model.learn(X, y)
    >>> bool(np.sqrt(np.mean((scores[1000:] - y[1000:]) ** 2)) < 0.12)
    True

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
    """

    epsilon: float = 0.1
    center: bool = True

    _paper_preset: ClassVar[dict[str, Any]] = NolanaModel._paper_preset | {"center": False}

    _task = REGRESSION

    def _make_centre(self) -> Centre:
        spec, options = self._spec(width_of(self.initial_landmarks))
        if options.number:  # the learner standardises the targets
            return Uncentred(linear=False)
        head = spec.arguments["experts"][0].arguments["head"]
        return (Centre if self.center else Uncentred)(linear=head.arguments["loss"].kind.linear)
