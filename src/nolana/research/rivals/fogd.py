"""FOGD: online gradient descent on random Fourier features."""

from nolana.engine.experts.fourier_map import FourierMap
from nolana.engine.experts.sgd import SGD
from nolana.estimators.base import parameters
from nolana.estimators.parameters import POWERS, choice, number
from nolana.learner.driver import learner_spec
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import FourierParameters, RivalClassifier, RivalRegressor
from nolana.research.rivals.method import RATE, WIDTH, Method, projections

# The authors' rates are for features without the factor 1/sqrt(D); with it they are multiplied by D.
CLASSIFICATION_RATE, REGRESSION_RATE = 2e-3, 6e-4


@parameters
class FOGDParameters(FourierParameters):
    """Parameters of both forms."""

    learning_rate: float | None = None
    schedule: str = "constant"
    regularization: float = 0.0

    _width = 2.0
    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        count = self._components()
        default = count * (REGRESSION_RATE if self._regression else CLASSIFICATION_RATE)
        rate = default if self.learning_rate is None else self.learning_rate
        map = Spec(FourierMap, {"projections": self._draws(count, n_features)})
        head = {
            "loss": self._loss(),
            "rate": number("learning_rate", rate, 0.0, open_low=True),
            "power": POWERS[choice("schedule", self.schedule, POWERS)],
            "decay": number("regularization", self.regularization, 0.0),
        }
        return learner_spec(map, Spec(SGD, head))


class FOGDClassifier(RivalClassifier, FOGDParameters):
    """Fourier online gradient descent: gradient steps on random Fourier features (Lu et al. 2016).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_components : D, the number of projections; there are 2 D features.
    gamma : of exp(-gamma |x-x'|^2); "variance": 2 (DualSGD and Doubly SGD: 1) over the mean squared distance
        of the first rows.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; for regression "squared" (default),
        "epsilon_insensitive".
    epsilon, center : of the regressor.
    learning_rate : None: the authors' 2e-3 (regression: 6e-4) times D.
    schedule, regularization : as in `nolana.NolanaClassifier` with sgd.
    scale : whether features are scaled robustly online, as in `nolana.StreamClassifier`; gamma is then for scaled rows.
    max_iter, shuffle, random_state : of ``fit``; random_state also draws the projections.
    """


class FOGDRegressor(RivalRegressor, FOGDParameters):
    """Fourier online gradient descent for a number; parameters as in `FOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


FOGD = Method(
    "FOGD",
    "Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning. JMLR 2016",
    FOGDClassifier,
    FOGDRegressor,
    projections,
    (WIDTH, RATE),
    in_paper=True,
)
