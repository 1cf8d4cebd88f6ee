"""Doubly SGD: every row adds its own random feature."""

from nolana.engine.rivals import doubly_sgd
from nolana.estimators.base import parameters
from nolana.estimators.parameters import number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import FourierParameters, RivalClassifier, RivalRegressor
from nolana.research.rivals.method import DECAY, WIDTH, Method, projections
from nolana.research.tuning import Axis


@parameters
class DoublySGDParameters(FourierParameters):
    """Parameters of both forms."""

    learning_rate: float = 20.0
    regularization: float = 0.05

    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        return Spec(
            doubly_sgd.DoublySGD,
            {
                "features": n_features,
                "budget": self._components(),
                "loss": self._loss("logistic", "epsilon_insensitive"),
                "rate": number("learning_rate", self.learning_rate, 0.0, open_low=True),
                "decay": number("regularization", self.regularization, 0.0),
                "seed": self._seed(),
            },
        )


class DoublySGDClassifier(RivalClassifier, DoublySGDParameters):
    """Doubly stochastic gradients: every row adds its own random feature (Dai et al. 2014).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_components : the most features that are stored; after that many rows the steps reuse them in turn.
    gamma, epsilon, center, max_iter, shuffle : as in `FOGDClassifier`.
    loss : "logistic" by default, "epsilon_insensitive" for regression (its steps theta/t overshoot with the squared
        loss).
    learning_rate, regularization : theta and nu; the step at row t is theta/t.
    random_state : the seed of the features.
    """


class DoublySGDRegressor(RivalRegressor, DoublySGDParameters):
    """Doubly stochastic gradients for a number; parameters as in `DoublySGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _poor_score = True  # every row adds one random feature


DOUBLY_SGD = Method(
    "DoublySGD",
    "Dai, Xie, He, Liang, Raj, Balcan, Song: Scalable Kernel Methods via Doubly Stochastic Gradients. NIPS 2014",
    DoublySGDClassifier,
    DoublySGDRegressor,
    projections,
    (WIDTH, Axis("learning_rate", 0.1, 1000.0), DECAY),
)
