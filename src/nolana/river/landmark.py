"""The estimators of the paper for River: the adaptive Nyström method."""

from typing import Any

from nolana import estimators
from nolana.estimators.base import parameters
from nolana.river.classifier import RiverClassifier
from nolana.river.model import RiverModel
from nolana.river.regressor import RiverRegressor


@parameters
class LandmarkModel(RiverModel):
    """The parameters of both: those of the estimators, but for what only ``fit`` uses and landmarks to start from."""

    n_landmarks: int = 100
    kernel: Any = "rbf"
    gamma: float | str = "median"
    degree: int = 3
    coef0: float = 1.0
    threshold: float | str = "median"
    landmarks: Any = "kmeans"
    novelty: float = 0.03
    solver: str = "inverse"
    rank: float | None = None
    power_iterations: int = 2
    ridge: float | None = None
    scale: bool = True
    keep_growing: bool = False
    loss: str | None = None
    optimizer: str = "newton"
    refit: str = "carry"
    refit_penalty: float | None = None
    learning_rate: float | None = None
    schedule: str = "constant"
    regularization: float | None = None
    forgetting: float | None = None
    move_noise: float = 1e-3
    n_slots: int | None = None


@parameters
class NolanaClassifier(RiverClassifier, LandmarkModel):
    """Classify a stream with a kernel model of fixed size whose landmarks follow the data.

    `nolana.NolanaClassifier` for River. It describes the parameters, which have the same names and defaults; those of
    ``fit`` and ``initial_landmarks`` do not exist here.

    Parameters
    ----------
    n_landmarks
        Landmarks m; memory is about 8 (m d + m (m + 1)) bytes.
    n_slots
        Slots for features, as in `nolana.river.StreamClassifier`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from nolana.river import NolanaClassifier
    >>> model = NolanaClassifier(n_landmarks=50)
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> score.get() > 0.88
    True
    """

    class_weight: Any = None

    _estimator_class = estimators.NolanaClassifier


@parameters
class NolanaRegressor(RiverRegressor, LandmarkModel):
    """Predict a number from a stream with a kernel model of fixed size whose landmarks follow the data.

    `nolana.NolanaRegressor` for River, with the parameters of `nolana.river.NolanaClassifier`, ``epsilon`` and
    ``center``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from nolana.river import NolanaRegressor
    >>> model = NolanaRegressor()
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> score.get() < 0.5
    True
    """

    epsilon: float = 0.1
    center: bool = True

    _estimator_class = estimators.NolanaRegressor
