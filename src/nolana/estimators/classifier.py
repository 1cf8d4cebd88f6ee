"""NolanaClassifier: nonlinear classification of a stream in fixed memory."""

from nolana.engine.learner.losses import CLASSIFICATION
from nolana.estimators.base import parameters
from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.classification import OnlineClassifier
from nolana.estimators.model import NolanaModel


@parameters
class NolanaClassifier(OnlineClassifier, NolanaModel):
    """Classify a stream with a kernel model of fixed size whose landmarks follow the data.

    f_o(x) = sum_i alpha_oi k(x, u_i) over m landmarks u_i, learned row by row; two classes share one output,
    more have one each over the same landmarks.

    Sparse rows of more than 1,024 features are learned as sketches of 1,024 sums. m landmarks cannot represent the many
    rare features of text: use `StreamClassifier` for text.

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
        "squared_hinge", "logistic", "squared" or, with sgd only, "hinge". None: "squared_hinge" for newton, "hinge" for
        sgd.
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
        Lambda for sgd; noise over prior variance for newton. None: 0 for sgd, 0.05 for newton; then, and with sgd,
        sample weights count relative to their running mean. With a value, newton takes them as they are: a weight
        divides the noise of its row.
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
    class_weight : dict or "balanced", default=None
        Weights by class; "balanced": rows of rare classes count more, by running counts. Probabilities of the logistic
        loss are then divided by the weights, so that they are those of the rows; those of the other losses are
        calibrated, but the predicted class stays the most probable one.
    max_iter : int, default=1
        Epochs of ``fit``.
    shuffle : bool, default=False
        Whether ``fit`` shuffles the rows of each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that were announced or seen, sorted.
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
    >>> from nolana import NolanaClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    >>> model = NolanaClassifier(n_landmarks=50)
    >>> scores = model.learn(X, y)  # what each row scored before it was learned
    >>> bool((model.classes_[np.nanargmax(scores[1:], axis=1)] == y[1:]).mean() > 0.95)
    True

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
    """

    class_weight: ClassWeight = None

    _task = CLASSIFICATION
