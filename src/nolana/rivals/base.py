"""What the rivals' estimators share; the verbs are those of `NolanaClassifier` and `NolanaRegressor`."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nolana import losses
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.classification import StreamClassifier
from nolana.estimators.parameters import choice, integer, number
from nolana.estimators.regression import Centre, StreamRegressor, Uncentred
from nolana.learners.rival import Part, RivalLearner

Array = NDArray[np.float64]


class RivalParameters(OnlineEstimator):
    """An estimator whose learner is described by a part."""

    _learner_class: ClassVar[type] = RivalLearner

    gamma: Any
    random_state: Any
    _regression = False
    _width = 1.0  # gamma="variance" is this over the mean squared distance of two rows
    _poor_score = False  # whether one pass over a few hundred rows is too little for it

    def _part(self, n_features: int) -> Part:
        """The algorithm with these parameters; what makes no sense is a ValueError."""
        raise NotImplementedError

    def _make_learner(self, n_features: int, outputs: int) -> Any:
        return RivalLearner(self._part(n_features), n_features, outputs, self._gamma(), self._width)

    def _check_parameters(self) -> None:
        self._part(1)
        self._gamma()

    def _largest(self) -> float:
        return RivalLearner.largest

    def _gamma(self) -> float | None:
        """None where the width is taken from the data."""
        gamma = getattr(self, "gamma", 1.0)
        if isinstance(gamma, str):
            choice("gamma", gamma, ("variance",))
            return None
        return number("gamma", gamma, 0.0, 1e100, open_low=True)

    def _loss(self, default: str, to_regress: str = "squared") -> Part:
        """The loss asked for, or the default of the method."""
        name = getattr(self, "loss", None) or (to_regress if self._regression else default)
        choice("loss", name, losses.REGRESSION if self._regression else losses.CLASSIFICATION)
        arguments = {"epsilon": self._epsilon()} if name == "epsilon_insensitive" else {}
        return Part(losses.CLASSES[name], arguments)

    def _epsilon(self) -> float:
        return number("epsilon", getattr(self, "epsilon", 0.1), 0.0)

    def _draws(self, *shape: int) -> Array:
        """Standard normal draws of this estimator's random_state."""
        return np.asarray(check_random_state(self.random_state).standard_normal(shape))

    @property
    def gamma_(self) -> float:
        """The kernel width in use."""
        return float(self._read().gamma)

    @property
    def n_supports_(self) -> int:
        """Support vectors or landmarks in use; 0 where the method has none."""
        learner = self._read()
        with learner.lock:
            state = learner.state()
            return len(state.get("supports", state.get("landmarks", ())))


class RivalClassifier(StreamClassifier, RivalParameters):
    """A rival that classifies."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags


class RivalRegressor(StreamRegressor, RivalParameters):
    """A rival that predicts a number, around the running mean of the targets unless ``center=False``."""

    center: bool
    _regression = True

    def _make_centre(self) -> Centre:
        return (Centre if self.center else Uncentred)(linear=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_score
        return tags


class WithoutWeights:
    """For methods that define no sample weights: they are refused, and not part of fit."""

    def learn(self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> Array:
        """Score each row, then learn it; returns what each row scored before it was learned."""
        if sample_weight is not None:
            raise ValueError(f"sample_weight: {type(self).__name__} defines no weights for rows; leave it None")
        return np.asarray(super().learn(X, y, classes=classes))  # type: ignore[misc]

    def fit(self, X: Any, y: Any) -> Any:
        """Forget everything, then learn the rows `max_iter` times."""
        return super().fit(X, y)  # type: ignore[misc]

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Learn rows; `classes` announces labels that may come."""
        return super().partial_fit(X, y, classes=classes)  # type: ignore[misc]


def budget_numbers(n_landmarks: int, n_features: int, rank: float) -> int:
    """The paper's budget m d + m r, in numbers."""
    r = rank if isinstance(rank, int) else math.floor(rank * n_landmarks + 1e-9)
    return n_landmarks * n_features + n_landmarks * int(r)


def components(value: Any) -> int:
    """A number of random features."""
    return integer("n_components", value, 1)
