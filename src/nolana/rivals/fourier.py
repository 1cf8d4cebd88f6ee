"""The rivals on random Fourier features: FOGD, RRF, DualSGD, Doubly SGD."""

from typing import Any

from sklearn.utils import check_random_state

from nolana.estimators.parameters import choice, integer, number
from nolana.learners.rival import Part
from nolana.rivals.base import RivalClassifier, RivalParameters, RivalRegressor, components
from nolana.schedules import POWERS

# The authors' rates are for features without the factor 1/sqrt(D); with it they are multiplied by D.
FOGD_RATES = {"classification": 2e-3, "regression": 6e-4}


class FOGDParameters(RivalParameters):
    """Parameters of both forms."""

    _width = 2.0

    def __init__(
        self,
        *,
        n_components: int = 200,
        gamma: float | str = "variance",
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        learning_rate: float | None = None,
        schedule: str = "constant",
        regularization: float = 0.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.loss = loss
        self.epsilon = epsilon
        self.center = center
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.regularization = regularization
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _part(self, n_features: int) -> Part:
        count = components(self.n_components)
        default = count * FOGD_RATES["regression" if self._regression else "classification"]
        rate = default if self.learning_rate is None else self.learning_rate
        return Part(
            "FOGD",
            {
                "features": n_features,
                "projections": self._draws(count, n_features),
                "loss": self._loss("hinge"),
                "rate": number("learning_rate", rate, 0.0, open_low=True),
                "power": POWERS[choice("schedule", self.schedule, POWERS)],
                "decay": number("regularization", self.regularization, 0.0),
            },
        )


class FOGDClassifier(RivalClassifier, FOGDParameters):
    """Fourier online gradient descent: gradient steps on random Fourier features (Lu et al. 2016).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_components : D, the number of projections; there are 2 D features.
    gamma : of exp(-gamma |x-x'|^2); "variance": 2 (DualSGD and Doubly SGD: 1) over the mean squared distance
        of the first rows.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; "squared", "epsilon_insensitive" to regress.
    epsilon, center : of the regressor.
    learning_rate : None: the authors' 2e-3 (6e-4 to regress) times D.
    schedule, regularization : as in `nolana.NolanaClassifier` with sgd.
    max_iter, shuffle, random_state : of ``fit``; random_state also draws the projections.
    """


class FOGDRegressor(RivalRegressor, FOGDParameters):
    """Fourier online gradient descent for a number; parameters as in `FOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


class RRFParameters(RivalParameters):
    """Parameters of both forms."""

    _width = 2.0

    def __init__(
        self,
        *,
        n_components: int = 200,
        gamma: float | str = "variance",
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        learning_rate: float | None = None,
        width_rate: float = 1e-4,
        regularization: float = 0.0,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.loss = loss
        self.epsilon = epsilon
        self.center = center
        self.learning_rate = learning_rate
        self.width_rate = width_rate
        self.regularization = regularization
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _part(self, n_features: int) -> Part:
        count = components(self.n_components)
        draws = self._draws(count, n_features + 2)
        rate = (0.2 if self._regression else 2.0) / count if self.learning_rate is None else self.learning_rate
        return Part(
            "RRF",
            {
                "features": n_features,
                "projections": draws[:, :n_features].copy(),
                "loss": self._loss("hinge"),
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
    gamma : where the widths start.
    loss, epsilon, center, regularization, max_iter, shuffle : as in `FOGDClassifier`.
    learning_rate : of the weights; None: 2/D, and 0.2/D to regress (the 2 D features have length sqrt(D)).
    width_rate : of the logarithms of the widths.
    random_state : draws the projections and the first weights.
    """


class RRFRegressor(RivalRegressor, RRFParameters):
    """Reparameterised random features for a number; parameters as in `RRFClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


class DualSGDParameters(RivalParameters):
    """Parameters of both forms."""

    def __init__(
        self,
        *,
        budget: int = 100,
        merged: int = 20,
        n_components: int = 200,
        gamma: float | str = "variance",
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        regularization: float | None = None,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.merged = merged
        self.n_components = n_components
        self.gamma = gamma
        self.loss = loss
        self.epsilon = epsilon
        self.center = center
        self.regularization = regularization
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _part(self, n_features: int) -> Part:
        budget, merged = integer("budget", self.budget, 1), integer("merged", self.merged, 1)
        if merged > budget:
            raise ValueError(f"merged={merged} does not go with budget={budget}: at most all of them can be merged")
        default = 0.2 if self._regression else 1e-3
        regularization = default if self.regularization is None else self.regularization
        return Part(
            "DualSGD",
            {
                "features": n_features,
                "budget": budget,
                "merged": merged,
                "projections": self._draws(components(self.n_components), n_features),
                "kernel": Part("RBF"),
                "loss": self._loss("hinge"),
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
    regularization : lambda; the step at row t is 1/(lambda t). None: 1e-3, and 0.2 to
        regress, below which the first steps overshoot.
    """


class DualSGDRegressor(RivalRegressor, DualSGDParameters):
    """Dual space gradient descent for a number; parameters as in `DualSGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _poor_score = True  # steps of 1/(lambda t) take long to settle for the squared loss


class DoublySGDParameters(RivalParameters):
    """Parameters of both forms."""

    def __init__(
        self,
        *,
        n_components: int = 200,
        gamma: float | str = "variance",
        loss: str | None = None,
        epsilon: float = 0.1,
        center: bool = True,
        learning_rate: float = 20.0,
        regularization: float = 0.05,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.loss = loss
        self.epsilon = epsilon
        self.center = center
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _part(self, n_features: int) -> Part:
        return Part(
            "DoublySGD",
            {
                "features": n_features,
                "budget": components(self.n_components),
                "loss": self._loss("logistic", "epsilon_insensitive"),
                "rate": number("learning_rate", self.learning_rate, 0.0, open_low=True),
                "decay": number("regularization", self.regularization, 0.0),
                "seed": int(check_random_state(self.random_state).randint(2**31 - 1)),
            },
        )


class DoublySGDClassifier(RivalClassifier, DoublySGDParameters):
    """Doubly stochastic gradients: every row brings its own random feature (Dai et al. 2014).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    n_components : features kept at most; then steps go round over them.
    gamma, epsilon, center, max_iter, shuffle : as in `FOGDClassifier`.
    loss : "logistic" by default, "epsilon_insensitive" to regress (its steps theta/t overshoot with the squared loss).
    learning_rate, regularization : theta and nu; the step at row t is theta/t.
    random_state : the seed of the features.
    """


class DoublySGDRegressor(RivalRegressor, DoublySGDParameters):
    """Doubly stochastic gradients for a number; parameters as in `DoublySGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _poor_score = True  # every row adds one random feature
