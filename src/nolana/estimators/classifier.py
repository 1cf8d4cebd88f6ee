"""NolanaClassifier: nonlinear classification of a stream in fixed memory."""

from nolana.engine.learner.losses import CLASSIFICATION
from nolana.estimators.base import parameters
from nolana.estimators.class_weights import WeightedClassifier
from nolana.estimators.model import NolanaModel


@parameters
class NolanaClassifier(WeightedClassifier, NolanaModel):
    """Classify a stream with a kernel model of fixed size whose landmarks follow the data.

    f_o(x) = sum_i alpha_oi k(x, u_i) over m landmarks u_i, learned row by row; two classes share one output,
    more have one each over the same landmarks.

    Sparse rows of more than 1,024 features are learned as sketches of 1,024 sums. m landmarks cannot represent the many
    rare features of text: use `StreamClassifier` for text.

    Parameters
    ----------
    n_landmarks : m; memory is about 8 (m d + m (m + 1)) bytes for ``newton``.
    kernel : "rbf", "laplacian", "polynomial", "cosine", "linear", or a callable ``block(X, Z) -> K``.
    gamma : kernel width, or "median": 1 / median squared distance of the landmarks, re-estimated at
        2, 4, 8, ... rows until they are full.
    degree, coef0 : of the polynomial kernel.
    threshold : squared distance to the nearest landmark from which a row moves it: 0 moves at every row,
        ``inf`` never; "median": the median distance at which landmarks were added, estimated when they are full, or
        at 2, 4, 8, ... rows from 4 m rows on.
    landmarks : how they follow the rows: "kmeans" (the paper), "weighted" (k-means whose steps depend on the number
        of recent rows of a landmark), "expiring" (a landmark not nearest to any of 20 m rows goes to a new place),
        "window" (new rows replace the oldest, at most 5 % of the rows), "fixed", or an object with ``propose``.
    initial_landmarks : (m, d) array to start from; otherwise the first rows that are new enough.
    novelty : share of k(x, x) that a row must add to what the landmarks explain to become one; relaxed by
        m / rows where places are still free after m rows.
    loss : "squared_hinge", "logistic", "squared" or (sgd only) "hinge"; None: squared_hinge for newton,
        hinge for sgd.
    optimizer : "newton" (second order, no learning rate) or "sgd".
    solver : "inverse" (one product per landmark move), or the paper's "exact", "rank2", "randomized".
    rank : of the decomposition, a whole number or a fraction of m; not with "inverse".
    power_iterations : of "randomized".
    refit : what becomes of the weights when a landmark moves: "carry", "paper" or "none".
    refit_penalty : theta of ``refit="paper"``; None: 1e-3.
    learning_rate, schedule : of sgd; schedules are "constant", "sqrt", "inverse".
    regularization : lambda for sgd; noise over prior variance for newton. None: 0 for sgd, 0.05 for newton; then, and
        with sgd, sample weights count relative to their running mean. A newton model of given regularization takes
        them as they are: a weight divides the noise of its row.
    forgetting : lambda of newton: what was learned counts lambda times as much after each row, and the model falls back
        to its prior; None: 0.99999, 1.0: never.
    move_noise : process noise that newton adds for every landmark move.
    ridge : added to the diagonal of the landmarks' kernel matrix, relative to its mean; None: 1e-3.
    scale : scale the features robustly online, as `StreamClassifier` does; gamma and threshold are then for scaled
        features.
    keep_growing : False: a scaled feature of a stream (``learn``, ``partial_fit``) that grows without bound, such as a
        row number or a time, counts a tenth in distances, with a `nolana.errors.GrowthWarning`. Rows of ``fit`` may be
        sorted, so there every feature counts. True: every feature counts always.
    class_weight : dict from class to weight, or "balanced": rows of rare classes count more, by running counts.
        Probabilities of the logistic loss are then divided by the weights, so that they are those of the rows; those of
        the other losses are calibrated, but the predicted class stays the most probable one.
    max_iter, shuffle : epochs of ``fit`` and whether each is shuffled.
    random_state : of the shuffles.

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

    _task = CLASSIFICATION
