"""What the estimators of all rivals share; their verbs are those of `NolanaClassifier` and `NolanaRegressor`."""

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana import engine as numpy_engine
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.learner.losses import CLASSIFICATION, REGRESSION
from nolana.estimators._sklearn import check_random_state
from nolana.estimators.base import OnlineEstimator, RandomState, parameters
from nolana.estimators.classification import OnlineClassifier
from nolana.estimators.parameters import choice, flag, integer, kernel_of, loss_of, number
from nolana.estimators.regression import Centre, OnlineRegressor, Uncentred
from nolana.learner.driver import Driver
from nolana.learner.rows import MatrixLike
from nolana.learner.scaled import ScaledLearner
from nolana.learner.warmup import WarmupLearner, WarmupOptions
from nolana.modelfile.specs import Spec, labels

if TYPE_CHECKING:
    from sklearn.utils import Tags

Array = NDArray[np.float64]

FIRST_CAPACITY = 64  # support vectors that a method without a budget allocates at the start


@parameters
class RivalParameters(OnlineEstimator):
    """Parameters of every rival, and the learner that they describe.

    ``scale=True`` scales the features robustly online, as `nolana.StreamClassifier` does; kernel widths then are for
    scaled features.
    """

    gamma: float | str = "variance"
    scale: bool = False
    max_iter: int = 1
    shuffle: bool = False
    random_state: RandomState = None

    _learner_class: ClassVar[type] = WarmupLearner
    _task: ClassVar[str] = CLASSIFICATION
    _width = 1.0  # gamma="variance" is this over the mean squared distance of two rows
    _poor_score = False  # whether one pass over a few hundred rows is too short for a good score

    def _spec(self, n_features: int) -> Spec:
        """The algorithm with these parameters; ValueError for invalid ones."""
        raise NotImplementedError

    def _make_learner(self, n_features: int, outputs: int) -> Driver:
        learner = self._make_unscaled(n_features, outputs)
        return ScaledLearner(learner) if flag("scale", self.scale) else learner

    def _make_unscaled(self, n_features: int, outputs: int) -> Driver:
        options = WarmupOptions(self._gamma(), self._width)
        return WarmupLearner(self._spec(n_features), options, n_features, outputs)

    def _accepts(self, learner: Driver) -> bool:
        if isinstance(learner, ScaledLearner):
            return self.scale and super()._accepts(learner.inner)
        return not self.scale and super()._accepts(learner)

    def _check_parameters(self) -> None:
        self._spec(1)
        self._gamma()
        flag("scale", self.scale)

    def _largest(self) -> float:
        return WarmupLearner.largest

    def _gamma(self) -> float | None:
        """None if the width is estimated from the data."""
        if isinstance(self.gamma, str):
            choice("gamma", self.gamma, ("variance",))
            return None
        return number("gamma", self.gamma, 0.0, 1e100, open_low=True)

    def _draws(self, *shape: int) -> Array:
        """Standard normal draws of this estimator's random_state."""
        return np.asarray(check_random_state(self.random_state).standard_normal(shape))

    def _seed(self) -> int:
        """A seed of this estimator's random_state, for a learner that draws by itself."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def gamma_(self) -> float:
        """The kernel width in use."""
        return float(self._read().gamma)

    @property
    def n_supports_(self) -> int:
        """Support vectors or landmarks in use; 0 for a method without them."""
        learner = self._read()
        with learner.lock:
            state = learner.state()
            return len(state.get("supports", state.get("landmarks", ())))


@parameters
class LossParameters(RivalParameters):
    """Parameters of a method with a choice of losses."""

    loss: str | None = None
    epsilon: float = 0.1
    center: bool = True

    _default_loss = "hinge"

    def _loss(self) -> Spec:
        return loss_of(self.loss or self._default_loss, self._task, self.epsilon)


@parameters
class StepParameters(LossParameters):
    """Parameters of gradient steps: w <- w - eta (slope of the loss + lambda w)."""

    learning_rate: float | None = None
    regularization: float = 0.0

    def _steps(self, default_rate: float | None = None) -> dict[str, object]:
        """Loss and eta; the default rate is for ``learning_rate=None``."""
        rate = default_rate if self.learning_rate is None else self.learning_rate
        return {"loss": self._loss(), "rate": number("learning_rate", rate, 0.0, open_low=True)}

    def _decay(self) -> float:
        return number("regularization", self.regularization, 0.0)


@parameters
class KernelParameters(RivalParameters):
    """Parameters of a method with a kernel of the user's choice: f = sum_i alpha_i k(x_i, .)."""

    kernel: str = "rbf"
    degree: int = 3
    coef0: float = 1.0

    _width = 4.0  # few vectors, each for its own neighbourhood, need a narrow kernel

    def _largest(self) -> float:
        return float(self._kernel().build(numpy_engine).largest_value)

    def _kernel(self) -> Spec:
        choice("kernel", self.kernel, labels(Kernel))
        return kernel_of(self.kernel, self.degree, self.coef0)


@parameters
class SupportParameters(KernelParameters):
    """Parameters of a method on a support set of limited size."""

    budget: int = 100

    def _support(self, n_features: int) -> dict[str, object]:
        """The arguments that all of these learners take."""
        return {"features": n_features, "budget": integer("budget", self.budget, 1), "kernel": self._kernel()}


class RivalClassifier(OnlineClassifier, RivalParameters):
    """A rival that classifies."""

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags


class RivalRegressor(OnlineRegressor, RivalParameters):
    """A rival for regression, around the running mean of the targets unless ``center=False``."""

    center: bool
    _task = REGRESSION
    _default_loss = "squared"

    def _make_centre(self) -> Centre:
        return (Centre if self.center else Uncentred)(linear=False)

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_score
        return tags


class WithoutWeights:
    """For methods that define no sample weights: they are rejected, and not arguments of ``fit``."""

    def learn(
        self, X: MatrixLike, y: ArrayLike, *, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Score each row, then learn it; returns what each row scored before it was learned."""
        self._refuse_weights(sample_weight)
        return np.asarray(super().learn(X, y, classes=classes))  # type: ignore[misc]

    def learn_proba(
        self, X: MatrixLike, y: ArrayLike, *, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """`learn` that also returns the probabilities of each row before it was learned."""
        self._refuse_weights(sample_weight)
        scores, probabilities = super().learn_proba(X, y, classes=classes)  # type: ignore[misc]
        return scores, probabilities

    def _refuse_weights(self, sample_weight: ArrayLike | None) -> None:
        if sample_weight is not None:
            raise ValueError(f"sample_weight: {type(self).__name__} defines no weights for rows; leave it None")

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Forget everything, then learn the rows `max_iter` times."""
        super().fit(X, y)  # type: ignore[misc]
        return self

    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn rows; `classes` announces labels that may follow."""
        super().partial_fit(X, y, classes=classes)  # type: ignore[misc]
        return self
