"""The default estimators for River: no hyperparameters to tune, in a fixed number of bytes."""

from typing import Any

from nolana import estimators
from nolana.columns.infer import FROM_DTYPE
from nolana.estimators.base import parameters
from nolana.river.classifier import RiverClassifier
from nolana.river.model import RiverModel
from nolana.river.regressor import RiverRegressor


@parameters
class StreamModel(RiverModel):
    """The parameters of both."""

    memory: int | str = "512KB"
    experts: Any = None
    categorical_features: Any = FROM_DTYPE
    text_features: Any = None
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

    class_weight: Any = None

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
