"""NOGD: gradient descent on a Nyström map whose landmarks never move."""

from typing import Any

import numpy as np

from nolana.estimators.parameters import gamma_of, integer, kernel_of, number, rank_of
from nolana.kernels import KernelChoice
from nolana.learners import nogd
from nolana.learners.nolana import GradientSteps, Settings
from nolana.rivals.base import LossParameters, RivalClassifier, RivalRegressor, parameters
from nolana.rivals.method import RATE, WIDTH, Budget, Method

RIDGE = 1e-6  # until the landmarks are full; the map of rank r has none


@parameters
class NOGDParameters(LossParameters):
    """Parameters of both forms."""

    n_landmarks: int = 100
    rank: float = 0.8
    kernel: Any = "rbf"
    gamma: float | str = "median"
    degree: int = 3
    coef0: float = 1.0
    learning_rate: float = 0.2
    regularization: float = 0.0

    _learner_class = nogd.NOGD

    def _settings(self) -> Settings:
        loss = self.loss or ("squared" if self._regression else "hinge")
        self._loss()
        kernel: KernelChoice = kernel_of(self.kernel, self.degree, self.coef0)
        steps = GradientSteps(
            loss,
            number("learning_rate", self.learning_rate, 0.0, open_low=True),
            0.0,
            number("regularization", self.regularization, 0.0),
        )
        return Settings(
            n_landmarks=integer("n_landmarks", self.n_landmarks, 1),
            kernel=kernel,
            gamma=gamma_of(self.gamma),
            threshold=np.inf,
            policy="fixed",
            initial_landmarks=None,
            steps=steps,
            decomposition=None,
            refit="carry",
            refit_penalty=0.0,
            ridge=RIDGE,
            scale=False,
            novelty=0.0,
            epsilon=self._epsilon(),
        )

    def _make_learner(self, n_features: int, outputs: int) -> nogd.NOGD:
        settings = self._settings()
        return nogd.NOGD(settings, n_features, outputs, rank_of(self.rank, settings.n_landmarks))

    def _check_parameters(self) -> None:
        rank_of(self.rank, self._settings().n_landmarks)

    def _largest(self) -> float:
        return kernel_of(self.kernel, self.degree, self.coef0).largest_value


class NOGDClassifier(RivalClassifier, NOGDParameters):
    """Nyström online gradient descent: the first m rows stay the landmarks (Lu et al. 2016).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_landmarks, rank : m, and the rank of the map as a whole number or a fraction of m.
    kernel, gamma, degree, coef0 : as in `nolana.NolanaClassifier`.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; for regression "squared" (default),
        "epsilon_insensitive".
    epsilon, center : of the regressor.
    learning_rate, regularization : eta and lambda.
    max_iter, shuffle, random_state : of ``fit``.
    """


class NOGDRegressor(RivalRegressor, NOGDParameters):
    """Nyström online gradient descent for a number; parameters as in `NOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


def sizes(budget: Budget) -> dict[str, Any]:
    """The budget itself: m landmarks and a map of rank r."""
    return {"n_landmarks": budget.n_landmarks, "rank": budget.rank}


NOGD = Method(
    "NOGD",
    "Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning. JMLR 2016",
    NOGDClassifier,
    NOGDRegressor,
    sizes,
    (WIDTH, RATE),
    in_paper=True,
)
