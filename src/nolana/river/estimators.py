"""The estimators for River: labels or numbers in, labels, probabilities or numbers out.

`StreamClassifier` and `StreamRegressor` need no tuning; `NolanaClassifier` and `NolanaRegressor` are the adaptive
Nyström method of the paper.
"""

from collections.abc import Callable, Sequence

import numpy as np
from river import base

from nolana import estimators
from nolana.columns.infer import FROM_DTYPE, ChosenCategories, ChosenColumns
from nolana.estimators.base import parameters
from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.labels import check_labels
from nolana.estimators.model import LandmarkPolicy
from nolana.estimators.regression import LARGEST_TARGET
from nolana.experts import Expert
from nolana.learner.rows import Matrix
from nolana.river.frames import Frame, Series, frame_like, series_like
from nolana.river.model import RiverModel, Target
from nolana.river.slots import Array, Features


class RiverClassifier(RiverModel, base.MiniBatchClassifier):
    """A classifier of nolana in River's form."""

    @property
    def _multiclass(self) -> bool:
        return True

    def _learn_rows(self, rows: Matrix, targets: list[Target], weights: list[float] | None) -> None:
        self._model.learn(rows, targets, sample_weight=weights)

    def _check_targets(self, targets: list[Target]) -> None:
        known = None if self._estimator is None else self._estimator.classes_
        labels = set(check_labels(targets, len(targets), known).tolist())
        if self._estimator is not None:
            new = labels - set(self._estimator.classes_.tolist())
            if new and len(self._estimator.classes_) + len(new) > 2:
                self._estimator._learner.check_outputs(len(self._estimator.classes_) + len(new))

    def predict_one(self, x: Features, **kwargs: object) -> Target:
        """The most likely label; None before the first row.

        Parameters
        ----------
        x
            Features: a dict, as in `learn_one`.
        """
        return self._model.predict(self._row(x)).item() if self._ready else None

    def predict_proba_one(self, x: Features, **kwargs: object) -> dict[Target, float]:
        """The probability of each label seen so far; empty before the first row.

        Parameters
        ----------
        x
            Features: a dict, as in `learn_one`.
        """
        if not self._ready:
            return {}
        [probabilities] = self._model.predict_proba(self._row(x)).tolist()
        return dict(zip(self._model.classes_.tolist(), probabilities, strict=True))

    def predict_many(self, X: Frame) -> Series:
        """The most likely label of each row of a frame, as a series; None before the first row was learned.

        Parameters
        ----------
        X
            A frame whose columns are features.
        """
        if not self._ready or not len(X):
            return series_like(X, [None] * len(X))
        return series_like(X, self._model.predict(self._rows(X)).tolist())

    def predict_proba_many(self, X: Frame) -> Frame:
        """The probability of each label for each row of a frame, as a frame; no column before the first row.

        Parameters
        ----------
        X
            A frame whose columns are features.
        """
        if not self._ready:
            return frame_like(X, [], np.zeros((len(X), 0)))
        labels = self._model.classes_.tolist()
        if not len(X):
            return frame_like(X, labels, np.zeros((0, len(labels))))
        return frame_like(X, labels, self._model.predict_proba(self._rows(X)))


class RiverRegressor(RiverModel, base.MiniBatchRegressor):
    """A regressor of nolana in River's form."""

    def _learn_rows(self, rows: Matrix, targets: list[Target], weights: list[float] | None) -> None:
        self._check_targets(targets)
        self._model.learn(rows, np.array(targets, dtype=np.float64), sample_weight=weights)

    def _check_targets(self, targets: list[Target]) -> None:
        for row, target in enumerate(targets):
            try:
                legal = bool(abs(target) <= LARGEST_TARGET)  # False for NaN
            except (TypeError, ValueError):
                legal = False
            if not legal:
                raise ValueError(f"y is {target!r} at row {row}; expected a finite number. No row was learned")

    def predict_one(self, x: Features, **kwargs: object) -> float:
        """The predicted target; 0 before the first row.

        Parameters
        ----------
        x
            Features: a dict, as in `learn_one`.
        """
        return 0.0 if not self._ready else float(self._model.predict(self._row(x))[0])

    def predict_many(self, X: Frame) -> Series:
        """The predicted target of each row of a frame, as a series.

        Parameters
        ----------
        X
            A frame whose columns are features.
        """
        if not self._ready or not len(X):
            return series_like(X, [0.0] * len(X))
        return series_like(X, self._model.predict(self._rows(X)).tolist())


@parameters
class StreamModel(RiverModel):
    """The parameters of both."""

    memory: int | str = "512KB"
    experts: Sequence[Expert] | None = None
    categorical_features: ChosenCategories = FROM_DTYPE
    text_features: ChosenColumns = None
    n_slots: int | None = None
    seed: int | None = None


@parameters
class StreamClassifier(RiverClassifier, StreamModel):
    """Classify a stream with a nonlinear model of fixed size that tracks concept drift, without tuning.

    `nolana.StreamClassifier` for River. Features are numbers, strings, booleans and dates, are scaled inside, and may
    appear and vanish; labels are strings, integers or booleans, and new ones may appear at any row.

    Parameters
    ----------
    memory
        Bytes of the learner, never exceeded: a number, or text such as "64KB" or "2MB"; 32KB to 1GB.
    experts
        List of expert sets (`nolana.experts`); None: linear, landmarks, bins, neighbours and trees; with categories
        also effects.
    categorical_features
        "from_dtype": features whose first values are strings are categories. Or a list of names; None: there are none.
    text_features
        List of names of features whose words are learned. Rows are then sparse, all features hashed.
    class_weight
        Dict from label to weight, or "balanced": rows of rare labels count more, by running counts.
    n_slots
        Slots for features. None: as many as the first 64 rows have features, and a quarter more. Features without a
        slot share some; more than 1,024 are learned as sparse rows.
    seed
        Seed of the random grids.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from nolana.river import StreamClassifier
    >>> model = StreamClassifier(seed=42)
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> score.get() > 0.88
    True
    """

    class_weight: ClassWeight = None

    _estimator_class = estimators.StreamClassifier


@parameters
class StreamRegressor(RiverRegressor, StreamModel):
    """Predict a number from a stream with a nonlinear model of fixed size that tracks concept drift, without tuning.

    `nolana.StreamRegressor` for River. The parameters are those of `StreamClassifier`, but for ``class_weight``.

    Parameters
    ----------
    memory
        Bytes of the learner, never exceeded.
    experts
        List of expert sets (`nolana.experts`).
    categorical_features
        "from_dtype": features whose first values are strings are categories. Or a list of names; None: there are none.
    text_features
        List of names of features whose words are learned. Rows are then sparse, all features hashed.
    n_slots
        Slots for features.
    seed
        Seed of the random grids.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from nolana.river import StreamRegressor
    >>> model = StreamRegressor(seed=42)
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> score.get() < 0.5
    True
    """

    _estimator_class = estimators.StreamRegressor


@parameters
class LandmarkModel(RiverModel):
    """The parameters of both: those of the estimators, but for what only ``fit`` uses and landmarks to start from."""

    n_landmarks: int = 100
    kernel: str | Callable[[Array, Array], Array] = "rbf"
    gamma: float | str = "median"
    degree: int = 3
    coef0: float = 1.0
    threshold: float | str = "median"
    landmarks: str | LandmarkPolicy = "kmeans"
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

    class_weight: ClassWeight = None

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
