"""DualSGD: a support set whose least important vectors move into random Fourier features."""

from nolana.engine.experts.landmarks.kernels import RBF
from nolana.engine.rivals import dual_sgd
from nolana.estimators.base import parameters
from nolana.estimators.parameters import integer, number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import FourierParameters, RivalClassifier, RivalRegressor
from nolana.research.rivals.method import PENALTY, WIDTH, Budget, Method
from nolana.research.tuning import Choice


@parameters
class DualSGDParameters(FourierParameters):
    """Parameters of both forms."""

    budget: int = 100
    merged: int = 20
    regularization: float | None = None

    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        budget, merged = integer("budget", self.budget, 1), integer("merged", self.merged, 1)
        if merged > budget:
            raise ValueError(
                f"merged={merged} is more than budget={budget}: at most all support vectors can be merged; choose "
                f"merged={budget} or less"
            )
        default = 0.2 if self._regression else 1e-3
        regularization = default if self.regularization is None else self.regularization
        return Spec(
            dual_sgd.DualSGD,
            {
                "features": n_features,
                "budget": budget,
                "merged": merged,
                "projections": self._draws(self._components(), n_features),
                "kernel": Spec(RBF),
                "loss": self._loss(),
                "regularization": number("regularization", regularization, 0.0, open_low=True),
            },
        )


class DualSGDClassifier(RivalClassifier, DualSGDParameters):
    """Dual space gradient descent: a support set whose least vectors move into Fourier features (Le et al. 2016).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    budget, merged : support vectors, and how many of them are merged when the set is full.
    n_components : D, the number of projections of the Fourier part.
    gamma, loss, epsilon, center, max_iter, shuffle, random_state : as in `FOGDClassifier`.
    regularization : lambda; the step at row t is 1/(lambda t). None: 1e-3, and 0.2 for
        regression, below which the first steps overshoot.
    """


class DualSGDRegressor(RivalRegressor, DualSGDParameters):
    """Dual space gradient descent for a number; parameters as in `DualSGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _poor_score = True  # steps of 1/(lambda t) take long to settle for the squared loss


def sizes(budget: Budget) -> dict[str, float]:
    """m support vectors, and m r / d projections for those that are merged."""
    rest = budget.numbers - budget.n_landmarks * budget.n_features
    return {
        "budget": budget.n_landmarks,
        "merged": max(1, budget.n_landmarks // 5),
        "n_components": max(1, rest // budget.n_features),
    }


DUAL_SGD = Method(
    "DualSGD",
    "Le, Nguyen, Nguyen, Phung: Dual Space Gradient Descent for Online Learning. NIPS 2016",
    DualSGDClassifier,
    DualSGDRegressor,
    sizes,
    (WIDTH, PENALTY),
    # Steps of 1/(lambda t) overshoot with the squared loss.
    (Choice("loss", ("epsilon_insensitive",)),),
    in_paper=True,
)
