"""The default estimators: nothing to tune, in a fixed number of bytes."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from nolana.estimators._sklearn import check_random_state
from nolana.estimators.base import OnlineEstimator, RandomState, parameters
from nolana.estimators.calibration import softmax
from nolana.estimators.class_weights import WeightedClassifier
from nolana.estimators.edge import Learner, is_wide_and_sparse
from nolana.estimators.parameters import number, sets_for
from nolana.estimators.regression import Centre, OnlineRegressor, Uncentred
from nolana.experts import Expert
from nolana.learner.driver import Driver
from nolana.learner.memory import memory_bytes
from nolana.learner.rows import Matrix, MatrixLike
from nolana.learner.stream import StreamLearner, StreamOptions, stream_learner
from nolana.learner.targets import TargetsLearner, targets_learner

Array = NDArray[np.float64]

TWO_PASSES = 20_000  # rows up to which fit learns twice: 0.3 point on average for less than a second


@parameters
class StreamModel(OnlineEstimator):
    """What the classifier and the regressor share."""

    memory: int | str = "512KB"
    experts: Sequence[Expert] | None = None
    max_iter: int | None = None
    shuffle: bool = True
    random_state: RandomState = None

    _learner_class = StreamLearner
    _seeded = True
    _number: ClassVar[bool]

    def _options(self, seed: int, n_features: int, sparse: bool = False, targets: int = 1) -> StreamOptions:
        memory = memory_bytes(self.memory)
        sets = sets_for(self.experts, memory // targets, n_features, sparse)
        return StreamOptions(memory, sets, self._number, seed)  # type: ignore[arg-type]

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _make_learner(self, n_features: int, outputs: int, sparse: bool = False) -> Driver:
        return stream_learner(self._options(self._seed(), n_features, sparse), n_features, outputs)

    def _make_learner_for(self, x: Matrix, outputs: int) -> Driver:
        return self._make_learner(x.shape[1], outputs, is_wide_and_sparse(x))

    def _check_parameters(self) -> None:
        stream_learner(self._options(0, 1), 1, 1)

    def _passes(self, rows: int) -> int:
        """None: two passes over few rows, in which the stack learns in the first only; a stream has one.

        In the second pass the experts know the rows: a stack that learned there would trust them too much.
        """
        if self.max_iter is not None:
            return super()._passes(rows)
        return 2 if self.shuffle and rows <= TWO_PASSES else 1

    def _largest(self) -> float:
        return StreamLearner.largest

    @property
    def on_drift(self) -> Callable[[int], object] | None:
        """Called with the number of each row that raises the drift alarm, after the call that learned it."""
        return self.__dict__.get("_on_drift")

    @on_drift.setter
    def on_drift(self, action: Callable[[int], object] | None) -> None:
        if action is not None and not callable(action):
            raise ValueError(f"on_drift={action!r} is not callable")
        if "_learner" in self.__dict__:
            with self._learner.lock:
                self._learner.take_alarms()  # earlier alarms are not reported
        self._on_drift = action

    def _after_learning(self) -> None:
        """Call the user's function for each new alarm."""
        action = self.on_drift
        if action is None or "_learner" not in self.__dict__:  # a block without rows came first
            return
        with self._learner.lock:
            rows = self._learner.take_alarms()
        for row in rows:
            action(row)

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """A record for each expert: name, weight in the stack, score over the last 1,000 rows or so, bytes."""
        learner = self._read()
        with learner.lock:
            return list(learner.expert_records())

    @property
    def drift_(self) -> list[int]:
        """The rows (from 0) at which the drift alarm was raised, the last 100 of them."""
        learner = self._read()
        with learner.lock:
            return list(learner.alarms)

    @property
    def relevance_(self) -> Array:
        """The relevance of each feature for the predictions, 1 on average (d,)."""
        learner = self._read()
        with learner.lock:
            return np.asarray(learner.relevance())

    @property
    def sizes_(self) -> dict[str, int]:
        """Sizes for the memory budget: landmarks, grids, slots of the hash table, recent rows."""
        return dict(self._read().sizes())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        if not self.__sklearn_is_fitted__():
            return text
        sizes = ", ".join(f"{size:,} {name}" for name, size in self.sizes_.items())
        return f"{text}  # {self.n_rows_:,} rows learned; {sizes}; {self.memory_bytes_:,} bytes"


@parameters
class StreamClassifier(WeightedClassifier, StreamModel):
    """Classify a stream with a nonlinear model of fixed size that tracks drift; no tuning.

    A linear model, landmarks, bins and recent neighbours, with experts that converge and experts that track drift, are
    combined by a small regression on their scores (a stack). Features are scaled robustly inside.

    Parameters
    ----------
    memory : int or str, default="512KB"
        Bytes of state and scratch, never exceeded: a number, or a string such as "64KB" or "2MB"; 32KB to 1GB.
    experts : list of Expert, default=None
        The experts (`nolana.experts`). None: linear, landmarks, bins and neighbours.
    class_weight : dict or "balanced", default=None
        Weights by class; "balanced": 1 / share of the class, by running counts. The prediction is the class of the
        largest weight times probability; scores carry the weights, so their argmax is it. What is learned, the ranking
        of rows and ``predict_proba`` do not depend on the weights. Rows of a class of weight 0 are not learned.
        ``sample_weight`` counts in what is learned, capped at 10 times its mean.
    max_iter : int, default=None
        Passes of ``fit`` over the rows. None: 2 up to 20,000 rows, else 1; 1 without ``shuffle``. From the second pass
        on the stack and the intervals learn nothing, because their experts have seen the rows. ``learn`` and
        ``partial_fit`` learn each row once.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows in each pass. False for rows in the order of a stream; ``learn`` and
        ``partial_fit`` never shuffle.
    random_state : int, RandomState instance or None, default=None
        Seed of the random grids and of the shuffles.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that were announced or seen, sorted.
    experts_ : list of dict
        For each expert its name, weight in the stack, score over the last 1,000 rows or so, and bytes.
    drift_ : list of int
        Rows (from 0) at which the drift alarm was raised, the last 100 of them.
    on_drift : callable or None
        Called with the number of each row that raises the drift alarm, after the call that learned it.
    relevance_ : ndarray of shape (n_features_in_,)
        Relevance of each feature for the predictions, 1 on average.
    sizes_ : dict
        Sizes for the memory budget: landmarks, grids, slots of the hash table, recent rows.
    n_rows_ : int
        Rows learned.
    n_iter_ : int
        Passes of the last ``fit``.
    memory_bytes_ : int
        Bytes of state and scratch.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    >>> model = StreamClassifier(random_state=0)
    >>> scores = model.learn(X, y)  # what each row scored before it was learned
    >>> bool((model.classes_[np.nanargmax(scores[1000:], axis=1)] == y[1000:]).mean() > 0.95)
    True
    >>> model.predict_proba(X[:3]).shape
    (3, 2)

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation" (the landmarks).
    Wolpert, "Stacked generalization", Neural Networks 5, 1992 (the stack).
    """

    _number = False
    _scores_log_odds = True

    def probabilities(self, scores: Array) -> Array:
        """What `scores` (n, classes), as `learn` returns them, mean by themselves as probabilities: their softmax.

        0 for a class that was not known. Rows where none was known are all 0. ``predict_proba`` and ``learn_proba``
        also know how many rows were learned, begin uniform, and do not depend on ``class_weight``, as scores do.
        """
        return softmax(scores)


@parameters
class StreamRegressor(OnlineRegressor, StreamModel):
    """Regression on a stream with a nonlinear model of fixed size that tracks drift; no tuning.

    With targets y (n, k) each column has a learner of its own, and they share the memory.

    Parameters
    ----------
    memory : int or str, default="512KB"
        Bytes of state and scratch, never exceeded: a number, or a string such as "64KB" or "2MB"; 32KB to 1GB.
    experts : list of Expert, default=None
        The experts (`nolana.experts`). None: linear, landmarks, bins and neighbours.
    max_iter : int, default=None
        Passes of ``fit`` over the rows. None: 2 up to 20,000 rows, else 1; 1 without ``shuffle``. From the second pass
        on the stack and the intervals learn nothing, because their experts have seen the rows. ``learn`` and
        ``partial_fit`` learn each row once.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows in each pass. False for rows in the order of a stream; ``learn`` and
        ``partial_fit`` never shuffle.
    random_state : int, RandomState instance or None, default=None
        Seed of the random grids and of the shuffles.

    Attributes
    ----------
    experts_ : list of dict
        For each expert its name, weight in the stack, score over the last 1,000 rows or so, and bytes.
    drift_ : list of int
        Rows (from 0) at which the drift alarm was raised, the last 100 of them.
    on_drift : callable or None
        Called with the number of each row that raises the drift alarm, after the call that learned it.
    relevance_ : ndarray of shape (n_features_in_,)
        Relevance of each feature for the predictions, 1 on average.
    sizes_ : dict
        Sizes for the memory budget: landmarks, grids, slots of the hash table, recent rows.
    n_rows_ : int
        Rows learned.
    n_iter_ : int
        Passes of the last ``fit``.
    memory_bytes_ : int
        Bytes of state and scratch.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (3000, 1))
    >>> y = 10 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=3000)
    >>> model = StreamRegressor(random_state=0)
    >>> scores = model.learn(X, y)
    >>> bool(np.sqrt(np.mean((scores[1000:] - y[1000:]) ** 2)) < 0.12)
    True
    >>> prediction, low, high = model.predict(X[:3], interval=0.9)

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation" (the landmarks).
    Wolpert, "Stacked generalization", Neural Networks 5, 1992 (the stack).
    """

    _number = True

    def _make_centre(self) -> Centre:
        return Uncentred(linear=False)

    def _make_learner(self, n_features: int, outputs: int, sparse: bool = False) -> Driver:
        if outputs == 1:
            return super()._make_learner(n_features, outputs, sparse)
        return targets_learner(self._options(self._seed(), n_features, sparse, outputs), n_features, outputs)

    def _accepts(self, learner: Learner) -> bool:
        return isinstance(learner, StreamLearner | TargetsLearner)

    @overload
    def predict(self, X: MatrixLike, interval: None = None) -> Array: ...

    @overload
    def predict(self, X: MatrixLike, interval: float) -> tuple[Array, Array, Array]: ...

    def predict(self, X: MatrixLike, interval: float | None = None) -> Array | tuple[Array, Array, Array]:
        """The target of each row, (n,) or (n, k); with ``interval=0.9`` also bounds that cover 90 % of the targets.

        Returns y, or (y, low, high). Bounds are as wide as the errors on rows that come next: rows further ahead of a
        series in time order have larger errors.
        """
        if interval is None:
            return super().predict(X)
        level = number("interval", interval, 0.0, 1.0, open_low=True)
        if level >= 1:
            raise ValueError(f"interval={interval!r} is out of range: less than 1")
        y = super().predict(X)
        with self._learner.lock:
            half = self._learner.half_width(level)
        return y, y - half, y + half
