"""BOGD: kernel gradient descent that removes a random vector when the budget is full."""

from nolana.engine.rivals import bogd
from nolana.estimators.base import parameters
from nolana.estimators.parameters import number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import LossParameters, RivalClassifier, RivalRegressor, SupportParameters
from nolana.research.rivals.method import DECAY, RATE, WIDTH, Method, supports


@parameters
class BOGDParameters(SupportParameters, LossParameters):
    """Parameters of both forms."""

    learning_rate: float | None = None
    regularization: float = 0.01

    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        default = 0.1 if self._regression else 1.0
        rate = default if self.learning_rate is None else self.learning_rate
        return Spec(
            bogd.BOGD,
            self._support(n_features)
            | {
                "loss": self._loss(),
                "rate": number("learning_rate", rate, 0.0, open_low=True),
                "decay": number("regularization", self.regularization, 0.0),
                "cap": 10.0,
                "seed": self._seed(),
            },
        )


class BOGDClassifier(RivalClassifier, BOGDParameters):
    """Bounded online gradient descent: a random vector is removed, the rest is scaled up (Zhao et al. 2012).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; for regression "squared" (default),
        "epsilon_insensitive".
    epsilon, center : of the regressor.
    learning_rate, regularization : eta (None: 1, and 0.1 for regression) and lambda.
    """


class BOGDRegressor(RivalRegressor, BOGDParameters):
    """Bounded online gradient descent for a number; parameters as in `BOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _poor_score = True  # it removes learned vectors at random


BOGD = Method(
    "BOGD",
    "Zhao, Wang, Wu, Jin, Hoi: Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based Online "
    "Learning. ICML 2012",
    BOGDClassifier,
    BOGDRegressor,
    supports,
    (WIDTH, RATE, DECAY),
)
