"""What the three estimators of the paper share: landmarks to read, and parameters."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana import engine as numpy_engine
from nolana.engine.experts.landmarks.policies.policy import Proposal
from nolana.errors import SketchWarning
from nolana.estimators.base import OnlineEstimator, RandomState, parameters
from nolana.estimators.edge import Learner
from nolana.estimators.parameters import initial_of, kernel_of, spec_of, width_of
from nolana.learner.landmark import LandmarkLearner, LandmarkOptions
from nolana.learner.rows import Matrix
from nolana.learner.sketched import SKETCH, SketchedLearner, sketched
from nolana.modelfile.specs import Spec

Array = NDArray[np.float64]


class LandmarkPolicy(Protocol):
    """A policy of the user's own."""

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        """Where the landmark nearest to a row moves, or None."""
        ...


@parameters
class LandmarkEstimator(OnlineEstimator):
    """An estimator that holds a `LandmarkLearner`."""

    _learner_class = LandmarkLearner

    n_landmarks: int = 100
    kernel: str | Callable[[Array, Array], Array] = "rbf"
    gamma: float | str = "median"
    degree: int = 3
    coef0: float = 1.0
    threshold: float | str = "median"
    landmarks: str | LandmarkPolicy = "kmeans"
    initial_landmarks: ArrayLike | None = None
    novelty: float = 0.03
    solver: str = "inverse"
    rank: float | None = None
    power_iterations: int = 2
    ridge: float | None = None
    scale: bool = True
    keep_growing: bool = False
    random_state: RandomState = None

    def _spec(self, n_features: int) -> tuple[Spec, LandmarkOptions]:
        """The learner of these parameters; ValueError for invalid ones."""
        raise NotImplementedError

    def _make_learner(self, n_features: int, outputs: int) -> LandmarkLearner:
        spec, options = self._spec(n_features)
        initial = initial_of(self.initial_landmarks, self.n_landmarks, n_features)
        return LandmarkLearner(spec, options, n_features, outputs, initial)

    def _make_learner_for(self, x: Matrix, outputs: int) -> Learner:
        """Sparse rows of more than 1,024 features are sketched, where nolana's own kernel needs products only."""
        spec, options = self._spec(SKETCH)
        exact = self.solver != "inverse" or spec.runs_user_code
        if exact or isinstance(x, np.ndarray) or x.shape[1] <= SKETCH:
            return super()._make_learner_for(x, outputs)
        initial = initial_of(self.initial_landmarks, self.n_landmarks, x.shape[1])
        places = None if initial is None else sketched(initial)
        return SketchedLearner(LandmarkLearner(spec, options, SKETCH, outputs, places), x.shape[1])

    def _accepts(self, learner: Learner) -> bool:
        return super()._accepts(learner.inner if isinstance(learner, SketchedLearner) else learner)

    def _check_parameters(self) -> None:
        n_features = width_of(self.initial_landmarks)
        self._spec(n_features)
        initial_of(self.initial_landmarks, self.n_landmarks, n_features)

    def _largest(self) -> float:
        if "_learner" in self.__dict__:
            return float(self._learner.largest)
        return float(kernel_of(self.kernel, self.degree, self.coef0).build(numpy_engine).largest_value)

    @property
    def n_moves_(self) -> int:
        """Landmark moves so far."""
        return int(self._read().moves)

    @property
    def landmarks_(self) -> Array:
        """The landmarks in use, (at most n_landmarks, n_features), in the units of X; sketches of wide sparse rows."""
        learner = self._read()
        with learner.lock:
            return np.asarray(learner.landmarks())

    @property
    def counts_(self) -> Array:
        """Rows counted into each landmark; with landmarks="weighted" older rows count less."""
        learner = self._read()
        with learner.lock:
            return np.asarray(learner.counts())

    @property
    def gamma_(self) -> float:
        """The kernel width in use."""
        return float(self._read().gamma)

    @property
    def threshold_(self) -> float:
        """The squared distance from which a row moves its landmark; infinite until it is estimated."""
        return float(self._read().threshold)


@parameters
class NolanaModel(LandmarkEstimator):
    """What the classifier and the regressor share: all parameters of the map and of the learning on it."""

    _task: ClassVar[str]

    loss: str | None = None
    optimizer: str = "newton"
    refit: str = "carry"
    refit_penalty: float | None = None
    learning_rate: float | None = None
    schedule: str = "constant"
    regularization: float | None = None
    forgetting: float | None = None
    move_noise: float = 1e-3
    max_iter: int = 1
    shuffle: bool = False

    @classmethod
    def paper(cls, n_landmarks: int, threshold: float | str, **parameters: Any) -> Self:
        """The paper to the letter: sgd, the warm-started randomized SVD, rank 0.8 m, its stage two, no ridge."""
        return cls(n_landmarks=n_landmarks, threshold=threshold, **(cls._paper_preset | parameters))

    _paper_preset: ClassVar[dict[str, Any]] = {
        "optimizer": "sgd",
        "solver": "randomized",
        "rank": 0.8,
        "refit": "paper",
        "ridge": 0.0,
        "scale": False,
    }

    def _spec(self, n_features: int) -> tuple[Spec, LandmarkOptions]:
        return spec_of(self, n_features, self._task)

    def _make_learner_for(self, x: Matrix, outputs: int) -> Learner:
        learner = super()._make_learner_for(x, outputs)
        if isinstance(learner, SketchedLearner):
            warnings.warn(
                f"{type(self).__name__} learns sparse rows of {x.shape[1]:,} features as sketches of {SKETCH:,} sums, "
                "and is less accurate on text than a linear model; for text use StreamClassifier or StreamRegressor",
                SketchWarning,
                stacklevel=2,
            )
        return learner
