"""RRF: random features whose kernel widths are learned too."""

from dataclasses import replace

from nolana.engine.rivals import rrf
from nolana.estimators.base import parameters
from nolana.estimators.parameters import number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import FourierParameters, RivalClassifier, RivalRegressor
from nolana.research.rivals.method import RATE, WIDTH, Method, projections
from nolana.research.tuning import Axis


@parameters
class RRFParameters(FourierParameters):
    """Parameters of both forms."""

    learning_rate: float | None = None
    width_rate: float = 1e-4
    regularization: float = 0.0

    _width = 2.0
    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        count = self._components()
        draws = self._draws(count, n_features + 2)
        rate = (0.2 if self._regression else 2.0) / count if self.learning_rate is None else self.learning_rate
        return Spec(
            rrf.RRF,
            {
                "features": n_features,
                "projections": draws[:, :n_features].copy(),
                "loss": self._loss(),
                "rate": number("learning_rate", rate, 0.0, open_low=True),
                "width_rate": number("width_rate", self.width_rate, 0.0),
                "decay": number("regularization", self.regularization, 0.0),
                "start": 0.01 * draws[:, n_features:].T.reshape(-1).copy(),
            },
        )


class RRFClassifier(RivalClassifier, RRFParameters):
    """Reparameterised random features: the widths of the kernel are learned too (Nguyen et al. 2017).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_components : D, the number of projections; there are 2 D features.
    gamma : the initial width.
    loss, epsilon, center, regularization, max_iter, shuffle : as in `FOGDClassifier`.
    learning_rate : of the weights; None: 2/D, and 0.2/D for regression (the 2 D features have length sqrt(D)).
    width_rate : of the logarithms of the widths.
    random_state : draws the projections and the initial weights.
    """


class RRFRegressor(RivalRegressor, RRFParameters):
    """Reparameterised random features for a number; parameters as in `RRFClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


RRF = Method(
    "RRF",
    "Nguyen, Le, Bui, Phung: Large-scale Online Kernel Learning with Random Feature Reparameterization. IJCAI 2017",
    RRFClassifier,
    RRFRegressor,
    projections,
    # The features have length sqrt(D), so the rate is in units of 1/D.
    (WIDTH, replace(RATE, unit=lambda facts: 1 / facts.n_components), Axis("width_rate", 1e-6, 1e-2)),
    in_paper=True,
)
