"""Gradient descent on random Fourier features: FOGD, RRF, Doubly SGD and DualSGD.

FOGD draws its projections once, RRF also learns their widths, Doubly SGD draws a feature for every row, and DualSGD has
a support set whose least important vectors move into random features.
"""

from dataclasses import replace

from nolana.engine.experts.fourier_map import FourierMap
from nolana.engine.experts.landmarks.kernels import RBF
from nolana.engine.experts.sgd import SGD
from nolana.engine.rivals import doubly_sgd, dual_sgd, rrf
from nolana.estimators.base import parameters
from nolana.estimators.parameters import POWERS, choice, integer, number
from nolana.learner.driver import learner_spec
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import LossParameters, RivalClassifier, RivalRegressor, StepParameters
from nolana.research.rivals.method import DECAY, PENALTY, RATE, WIDTH, Budget, Method, projections
from nolana.research.tuning import Axis, Choice


@parameters
class FourierParameters(LossParameters):
    """Parameters of a method on random Fourier features."""

    n_components: int = 200

    _seeded = True

    def _components(self) -> int:
        return integer("n_components", self.n_components, 1)


@parameters
class _FOGDParameters(FourierParameters, StepParameters):
    schedule: str = "constant"

    _width = 2.0
    # The authors' rates are for features without the factor 1/sqrt(D); with it they are multiplied by D.
    _authors_rate = 2e-3

    def _spec(self, n_features: int) -> Spec:
        count = self._components()
        map = Spec(FourierMap, {"projections": self._draws(count, n_features)})
        power = POWERS[choice("schedule", self.schedule, POWERS)]
        head = self._steps(count * self._authors_rate) | {"power": power, "decay": self._decay()}
        return learner_spec(map, Spec(SGD, head))


class FOGDClassifier(RivalClassifier, _FOGDParameters):
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


class FOGDRegressor(RivalRegressor, _FOGDParameters):
    """Fourier online gradient descent for regression; parameters as in `FOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _authors_rate = 6e-4


FOGD = Method(
    "FOGD",
    "Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning. JMLR 2016",
    FOGDClassifier,
    FOGDRegressor,
    projections,
    (WIDTH, RATE),
    in_paper=True,
)


@parameters
class _RRFParameters(FourierParameters, StepParameters):
    width_rate: float = 1e-4

    _width = 2.0
    _default_rate = 2.0  # over D

    def _spec(self, n_features: int) -> Spec:
        count = self._components()
        draws = self._draws(count, n_features + 2)
        map = {"features": n_features, "projections": draws[:, :n_features].copy()}
        rates = {"width_rate": number("width_rate", self.width_rate, 0.0), "decay": self._decay()}
        start = {"start": 0.01 * draws[:, n_features:].T.reshape(-1).copy()}
        return Spec(rrf.RRF, map | self._steps(self._default_rate / count) | rates | start)


class RRFClassifier(RivalClassifier, _RRFParameters):
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


class RRFRegressor(RivalRegressor, _RRFParameters):
    """Reparameterised random features for regression; parameters as in `RRFClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _default_rate = 0.2


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


@parameters
class _DoublySGDParameters(FourierParameters, StepParameters):
    learning_rate: float = 20.0
    regularization: float = 0.05

    _default_loss = "logistic"

    def _spec(self, n_features: int) -> Spec:
        steps = self._steps() | {"decay": self._decay(), "seed": self._seed()}
        return Spec(doubly_sgd.DoublySGD, {"features": n_features, "budget": self._components()} | steps)


class DoublySGDClassifier(RivalClassifier, _DoublySGDParameters):
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


class DoublySGDRegressor(RivalRegressor, _DoublySGDParameters):
    """Doubly stochastic gradients for regression; parameters as in `DoublySGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _default_loss = "epsilon_insensitive"
    _poor_score = True  # every row adds one random feature


DOUBLY_SGD = Method(
    "DoublySGD",
    "Dai, Xie, He, Liang, Raj, Balcan, Song: Scalable Kernel Methods via Doubly Stochastic Gradients. NIPS 2014",
    DoublySGDClassifier,
    DoublySGDRegressor,
    projections,
    (WIDTH, Axis("learning_rate", 0.1, 1000.0), DECAY),
)


@parameters
class _DualSGDParameters(FourierParameters):
    budget: int = 100
    merged: int = 20
    regularization: float | None = None

    _default_regularization = 1e-3

    def _spec(self, n_features: int) -> Spec:
        budget, merged = integer("budget", self.budget, 1), integer("merged", self.merged, 1)
        if merged > budget:
            raise ValueError(
                f"merged={merged} is more than budget={budget}: at most all support vectors can be merged; choose "
                f"merged={budget} or less"
            )
        regularization = self._default_regularization if self.regularization is None else self.regularization
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


class DualSGDClassifier(RivalClassifier, _DualSGDParameters):
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


class DualSGDRegressor(RivalRegressor, _DualSGDParameters):
    """Dual space gradient descent for regression; parameters as in `DualSGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _default_regularization = 0.2
    _poor_score = True  # steps of 1/(lambda t) take long to settle for the squared loss


def _sizes_of_dual_sgd(budget: Budget) -> dict[str, float]:
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
    _sizes_of_dual_sgd,
    (WIDTH, PENALTY),
    # Steps of 1/(lambda t) overshoot with the squared loss.
    (Choice("loss", ("epsilon_insensitive",)),),
    in_paper=True,
)
