"""NOGD: gradient descent on a Nyström map whose landmarks never move."""

from collections.abc import Callable

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.policies import Fixed
from nolana.engine.experts.sgd import SGD
from nolana.estimators.base import parameters
from nolana.estimators.parameters import flag, gamma_of, integer, kernel_of, rank_of
from nolana.learner.driver import learner_spec
from nolana.learner.landmark import LandmarkLearner, LandmarkOptions
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import Array, RivalClassifier, RivalRegressor, StepParameters
from nolana.research.rivals.method import RATE, WIDTH, Budget, Method

RIDGE = 1e-6  # until the landmarks are full; the map of rank r has none


@parameters
class _NOGDParameters(StepParameters):
    n_landmarks: int = 100
    rank: float = 0.8
    kernel: str | Callable[[Array, Array], Array] = "rbf"
    gamma: float | str = "median"
    degree: int = 3
    coef0: float = 1.0
    learning_rate: float = 0.2

    _learner_class = LandmarkLearner

    def _spec(self, n_features: int) -> Spec:
        map = {
            "features": n_features,
            "capacity": integer("n_landmarks", self.n_landmarks, 1),
            "kernel": kernel_of(self.kernel, self.degree, self.coef0),
            "policy": Spec(Fixed, {"novelty": 0.0}),
        }
        return learner_spec(Spec(LandmarkMap, map), Spec(SGD, self._steps() | {"power": 0.0, "decay": self._decay()}))

    def _options(self) -> LandmarkOptions:
        rank = rank_of(self.rank, integer("n_landmarks", self.n_landmarks, 1))
        return LandmarkOptions(gamma_of(self.gamma), np.inf, RIDGE, scale=False, rank=rank)

    def _make_unscaled(self, n_features: int, outputs: int) -> LandmarkLearner:
        return LandmarkLearner(self._spec(n_features), self._options(), n_features, outputs)

    def _check_parameters(self) -> None:
        self._spec(1)
        self._options()
        flag("scale", self.scale)

    def _largest(self) -> float:
        return float(kernel_of(self.kernel, self.degree, self.coef0).build(numpy_engine).largest_value)


class NOGDClassifier(RivalClassifier, _NOGDParameters):
    """Nyström online gradient descent: the first m rows stay the landmarks (Lu et al. 2016).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_landmarks, rank : m, and the rank of the map as an integer or a fraction of m.
    kernel, gamma, degree, coef0 : as in `nolana.NolanaClassifier`.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; for regression "squared" (default),
        "epsilon_insensitive".
    epsilon, center : of the regressor.
    learning_rate, regularization : eta and lambda.
    scale : whether features are scaled robustly online, as in `nolana.StreamClassifier`; gamma is then for scaled rows.
    max_iter, shuffle, random_state : of ``fit``.
    """


class NOGDRegressor(RivalRegressor, _NOGDParameters):
    """Nyström online gradient descent for regression; parameters as in `NOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


def _sizes(budget: Budget) -> dict[str, float]:
    """The budget itself: m landmarks and a map of rank r."""
    return {"n_landmarks": budget.n_landmarks, "rank": budget.rank}


NOGD = Method(
    "NOGD",
    "Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning. JMLR 2016",
    NOGDClassifier,
    NOGDRegressor,
    _sizes,
    (WIDTH, RATE),
    in_paper=True,
)
