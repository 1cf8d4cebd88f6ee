"""What the estimators share: their parameters, and the verbs that do not depend on the kind of target."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nolana.estimators.parameters import kernel_of, settings_of
from nolana.learners.nolana import Nolana

Array = NDArray[np.float64]


class OnlineEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and reading of an estimator that holds a `Nolana` learner in ``_learner``."""

    _learner: Nolana
    n_landmarks: int
    max_iter: int
    shuffle: bool
    random_state: Any

    def _new_learner(self, n_features: int, losses: tuple[str, ...], regression: bool, outputs: int) -> Nolana:
        return Nolana(settings_of(self, n_features, losses, regression), n_features, outputs)

    def _largest(self) -> float:
        """Feature values beyond this are refused."""
        if hasattr(self, "_learner"):
            return self._learner.largest
        return kernel_of(self.kernel, self.degree, self.coef0).largest_value

    def _takes_plain_rows(self, x: Array) -> bool:
        """Whether rows like x can be learned without a look at column names or at what is not there yet."""
        mine = self.__dict__
        return "_learner" in mine and "feature_names_in_" not in mine and x.shape[1] == mine["n_features_in_"]

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Where the user's own kernel or policy runs inside, an error from it undoes the whole call."""
        settings = self._learner.settings
        if not settings.runs_user_code:
            yield
            return
        begun = self._learner.rows > 0
        before = copy.deepcopy(self.__getstate__()) if begun else None
        try:
            yield
        except BaseException:
            self._forget()
            if before is not None:
                self.__setstate__(before)
            raise

    def _forget(self) -> None:
        """Back to before the first row."""
        for name in [n for n in vars(self) if n == "_learner" or (n.endswith("_") and not n.startswith("__"))]:
            delattr(self, name)

    def _epochs(self, rows: int) -> list[NDArray[np.intp]]:
        """The order of the rows in each epoch of fit."""
        rng = check_random_state(self.random_state)
        order = np.arange(rows)
        return [rng.permutation(rows) if self.shuffle else order for _ in range(self.max_iter)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        learner = state.pop("_learner", None)
        if learner is not None:
            with learner.lock:
                state["_learned"] = (learner.state(), learner.outputs)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.pop("_learned", None)
        super().__setstate__(state)
        if learned is not None:
            arrays, outputs = learned
            self._learner = self._make_learner(self.n_features_in_, outputs)
            self._learner.restore(arrays)

    def _make_learner(self, n_features: int, outputs: int) -> Nolana:
        raise NotImplementedError

    def _read(self) -> Nolana:
        check_is_fitted(self)
        return self._learner

    @property
    def n_rows_(self) -> int:
        """Rows learned."""
        return self._read().rows

    @property
    def n_moves_(self) -> int:
        """Landmark moves so far."""
        return self._read().moves

    @property
    def landmarks_(self) -> Array:
        """The landmarks in use, (at most n_landmarks, n_features), in the units of X."""
        learner = self._read()
        with learner.lock:
            return learner.landmarks()

    @property
    def counts_(self) -> Array:
        """Rows counted into each landmark."""
        learner = self._read()
        with learner.lock:
            return learner.counts()

    @property
    def gamma_(self) -> float:
        """The kernel width in use."""
        return self._read().gamma

    @property
    def threshold_(self) -> float:
        """The squared distance from which a row moves its landmark; infinite while the landmarks fill up."""
        return self._read().threshold

    @property
    def memory_bytes_(self) -> int:
        """Bytes of state and scratch."""
        return self._read().memory_bytes

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        return copied


class OnlineModel(OnlineEstimator):
    """What the classifier and the regressor share: all parameters of the map and of the learning on it."""

    def __init__(
        self,
        *,
        n_landmarks: int = 100,
        kernel: Any = "rbf",
        gamma: float | str = "median",
        degree: int = 3,
        coef0: float = 1.0,
        threshold: float | str = "median",
        landmarks: Any = "kmeans",
        initial_landmarks: Any = None,
        novelty: float = 0.03,
        loss: str | None = None,
        optimizer: str = "newton",
        solver: str = "inverse",
        rank: float | None = None,
        power_iterations: int = 2,
        refit: str = "carry",
        refit_penalty: float | None = None,
        learning_rate: float | None = None,
        schedule: str = "constant",
        regularization: float | None = None,
        move_noise: float = 1e-3,
        ridge: float | None = None,
        scale: bool = False,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.threshold = threshold
        self.landmarks = landmarks
        self.initial_landmarks = initial_landmarks
        self.novelty = novelty
        self.loss = loss
        self.optimizer = optimizer
        self.solver = solver
        self.rank = rank
        self.power_iterations = power_iterations
        self.refit = refit
        self.refit_penalty = refit_penalty
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.regularization = regularization
        self.move_noise = move_noise
        self.ridge = ridge
        self.scale = scale
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    @classmethod
    def paper(cls, n_landmarks: int, threshold: float, **parameters: Any) -> Self:
        """The paper to the letter: sgd, the warm-started randomized SVD, rank 0.8 m, its stage two, no ridge."""
        return cls(n_landmarks=n_landmarks, threshold=threshold, **(cls._paper_preset | parameters))

    _paper_preset: ClassVar[dict[str, Any]] = {
        "optimizer": "sgd",
        "solver": "randomized",
        "rank": 0.8,
        "refit": "paper",
        "ridge": 0.0,
    }

    def learn(self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> Array:
        """Score each row, then learn it; returns what each row scored before it was learned."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows; `classes` announces labels that may come."""
        self.learn(X, y, classes=classes, sample_weight=sample_weight)
        return self
