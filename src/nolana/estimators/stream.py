"""The default estimators: no hyperparameters to tune, in a fixed number of bytes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.columns import Schema
from nolana.columns.infer import FROM_DTYPE, ChosenCategories, ChosenColumns, check_chosen, column_list
from nolana.engine.learner.lags import MOST as MOST_LAG
from nolana.engine.learner.losses import CLASSIFICATION, REGRESSION
from nolana.errors import OptionError, Remedy, Setting
from nolana.estimators._sklearn import check_is_fitted, check_random_state
from nolana.estimators.answers import Answers
from nolana.estimators.base import RandomState, parameters
from nolana.estimators.calibration import sigmoid, softmax
from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.classification import OnlineClassifier
from nolana.estimators.edge import (
    Learner,
    check_features,
    encoded_pair,
    is_empty,
    is_wide_and_sparse,
)
from nolana.estimators.labels import aligned
from nolana.estimators.multilabel import SeveralLabels
from nolana.estimators.one_label import OneLabel
from nolana.estimators.parameters import integer, number, sets_for
from nolana.estimators.regression import Centre, OnlineRegressor, Uncentred
from nolana.experts import Effects, Expert
from nolana.learner.driver import Driver
from nolana.learner.memory import memory_bytes
from nolana.learner.rows import Matrix, MatrixLike, MomentRows
from nolana.learner.stream import StreamLearner, StreamOptions, stream_learner
from nolana.learner.targets import TargetsLearner, targets_learner

Array = NDArray[np.float64]

TWO_PASSES = 20_000  # rows up to which fit learns twice: 0.3 point on average for less than a second


@parameters
class StreamModel(Answers):
    """What the classifier and the regressor share."""

    memory: int | str = "512KB"
    experts: Sequence[Expert] | None = None
    categorical_features: ChosenCategories = FROM_DTYPE
    text_features: ChosenColumns = None
    lag: int | None = None
    group: str | int | None = None
    max_iter: int | None = None
    shuffle: bool = True
    random_state: RandomState = None

    _takes_tables = True
    _takes_missing = True
    _takes_unlabelled = True
    _learner_class = StreamLearner
    _seeded = True
    _task: ClassVar[str]

    def _options(
        self, seed: int, n_features: int, sparse: bool = False, targets: int = 1, schema: Schema | None = None
    ) -> StreamOptions:
        self._check_group()
        memory = memory_bytes(self.memory)
        categories = [] if schema is None or schema.sparse else schema.categories
        lag = 0 if self.lag is None else integer("lag", self.lag, 1, MOST_LAG)
        group = self._group_column(schema)
        options = StreamOptions(memory, [], self._task == REGRESSION, seed, categories, lag, group, conformal=True)
        if lag and sparse:
            what = "needs dense rows, of numbers and categories: X has text, or is sparse and wider than 256 columns"
            raise OptionError("lag", self.lag, what)
        sets = sets_for(self.experts, memory // targets, options.width(n_features), sparse, bool(categories))
        return replace(options, experts=sets)  # type: ignore[arg-type]

    def _group_column(self, schema: Schema | None) -> int:
        """The encoded column that names the series of a row; -1: there is one series."""
        if self.group is None or schema is None:
            return -1
        names = schema.names
        at = (
            names.index(self.group)
            if self.group in names
            else self.group
            if isinstance(self.group, int | np.integer)
            else -1
        )
        if not 0 <= at < len(names):
            raise OptionError("group", self.group, f"is no column of the rows; they have {column_list(names)}")
        if schema.columns[at].kind != "category":  # of encoded rows: in a table the group is a category
            effect = "where the rows are read, as in nolana.sources.open, takes its values as categories"
            remedy = Remedy("categorical_features", [self.group], effect)
            raise OptionError("group", self.group, "is not a column of categories of the rows", remedies=[remedy])
        return int(schema.places[at].start)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _make_learner(self, n_features: int, outputs: int, sparse: bool = False) -> Driver:
        """Several outputs are targets or labels with a learner each."""
        options = self._options(self._seed(), n_features, sparse, outputs, self.__dict__.get("_schema"))
        return (stream_learner if outputs == 1 else targets_learner)(options, n_features, outputs)

    def _accepts(self, learner: Learner) -> bool:
        if isinstance(learner, TargetsLearner):
            return learner.task == self._task
        return isinstance(learner, StreamLearner)

    def _make_learner_for(self, x: Matrix, outputs: int) -> Driver:
        return self._make_learner(x.shape[1], outputs, is_wide_and_sparse(x))

    def _check_group(self) -> None:
        if self.group is not None and (
            isinstance(self.group, bool) or not isinstance(self.group, str | int | np.integer)
        ):
            raise OptionError("group", self.group, "is invalid; expected the name or the index of a column")
        if self.group is not None and self.lag is None:
            remedy = Remedy("lag", 1, "uses the last target of the same series")
            raise OptionError("group", self.group, "needs a lag", remedies=[remedy])

    def _check_parameters(self) -> None:
        check_chosen("categorical_features", self.categorical_features)
        check_chosen("text_features", self.text_features)
        if self.lag is not None and self.max_iter not in (None, 1):
            what = "does not fit {lag}: rows in the order of time are learned once"
            raise OptionError("max_iter", self.max_iter, what, facts={"lag": Setting("lag", self.lag)})
        sets = self.experts if isinstance(self.experts, list | tuple) else []
        if sets and all(isinstance(each, Effects) for each in sets):
            memory_bytes(self.memory)  # the rest is checked with the categories of the rows
        else:
            stream_learner(self._options(0, 1), 1, 1)

    def _learn_unlabelled(self, X: MatrixLike, **others: ArrayLike | None) -> Array:
        if self.lag is not None:
            what = "needs the label of each row: rows without labels would have to be skipped when it is counted"
            raise OptionError("lag", self.lag, what, hint="learn such rows into a model without a lag")
        return super()._learn_unlabelled(X, **others)

    def _rows_of_both(self, X: Any, late_X: Any) -> tuple[Any, Any]:
        return encoded_pair(self, X, late_X)

    def _passes(self, rows: int) -> int:
        """None: two passes over few rows, in which the stack learns in the first only; a stream has one.

        In the second pass the experts know the rows: a stack that learned there would trust them too much.
        """
        if self.max_iter is not None or self.lag is not None:
            return super()._passes(rows) if self.max_iter is not None else 1
        return 2 if self.shuffle and rows <= TWO_PASSES else 1

    def _epochs(self, rows: int) -> Iterator[NDArray[np.intp] | slice]:
        if self.lag is None:
            yield from super()._epochs(rows)
        else:  # in the order of time
            self.n_iter_ = self._passes(rows)
            yield slice(None)

    def at_moment(self, X: MatrixLike) -> Any:
        """X with what is known now, for labels that come late: `predict` it, and `learn` it when its labels are known.

        With a lag a prediction depends on the last known targets. Rows that are learned later are then learned with
        those that their prediction saw. X itself without a lag, and before the first row.
        """
        if isinstance(X, MomentRows):
            raise ValueError("these rows have a moment already; pass rows.X")
        if self.lag is None or not self.__sklearn_is_fitted__() or not isinstance(self._learner, StreamLearner):
            return X
        x = check_features(self, X, reset=False)
        assert isinstance(x, np.ndarray)
        with self._learner.lock:
            return MomentRows(X, self._learner.moments(x))

    @property
    def schema_(self) -> Schema:
        """What each column is learned as; ``schema_.describe()`` has a line for each."""
        check_is_fitted(self)
        return self.__dict__.get("_schema") or Schema.of_numbers(self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        tags.input_tags.categorical = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        if not self.__sklearn_is_fitted__():
            return text
        sizes = ", ".join(f"{size:,} {name}" for name, size in self.sizes_.items())
        return f"{text}  # {self.n_rows_:,} rows learned; {sizes}; {self.memory_bytes_:,} bytes"


@parameters
class StreamClassifier(OnlineClassifier, StreamModel):
    """Classify a stream with a nonlinear model of fixed size that tracks drift; no tuning.

    A linear model, landmarks, bins and recent neighbours, with experts that converge and experts that track drift, are
    combined by a small regression on their scores (a stack). Features are scaled robustly inside. y (n, k) of 0 and 1,
    k >= 2, is multi-label classification: each label has a learner of its own, and they share the memory.

    Parameters
    ----------
    memory : int or str, default="512KB"
        Bytes of state and scratch, never exceeded: a number, or a string such as "64KB" or "2MB"; 32KB to 1GB.
    experts : list of Expert, default=None
        The experts (`nolana.experts`). None: linear, landmarks, bins, neighbours and trees; with
        categorical columns also effects.
    class_weight : dict or "balanced", default=None
        Weights by class; "balanced": 1 / share of the class, by running counts. The prediction is the class of the
        largest weight times probability; scores carry the weights, so their argmax is it. What is learned, the ranking
        of rows and ``predict_proba`` do not depend on the weights. Rows of a class of weight 0 are not learned.
        ``sample_weight`` counts in what is learned, capped at 10 times its mean.
    categorical_features : "from_dtype", list of str, int or bool, or None, default="from_dtype"
        The categories among the columns of X. "from_dtype": columns of strings and categories of a frame (pandas,
        Polars, Arrow), of a list of dicts or of an array of objects, as in ``HistGradientBoostingClassifier``; integers
        are numbers unless the name of their column says id (``user_id``, ``itemId``). Or their names, their indices, or
        a mask; None: there are none. Categories are told apart by the bytes of their strings: white space, case and
        Unicode form count. 5, 5.0 and "5" are one category.
    text_features : list of str, int or bool, default=None
        Columns of text whose words are learned: names, indices or a mask. Rows are then sparse, all columns hashed.
    lag : int, default=None
        The label of a row is known when the row ``lag`` later is predicted, 1 to 2,048: the learner then also learns
        from the last known label and whether it had been predicted. None: labels of other rows are no input, and a
        prediction depends on the row and the model alone. Rows come in the order of time, and ``fit`` learns them in
        that order, once. ``predict`` assumes that each of its rows comes ``lag`` rows after the last learned one: all
        of them see the same last labels. Rows of weight 0 are scored alone; their label is not known later.
    group : str or int, default=None
        The column, by name or index, that names the series of a row (user, sensor, store): ``lag`` counts rows of the
        same series. It is learned as a category. The last labels are in a hash table that takes at most half of the
        memory; the series that was not learned for longest is forgotten first. Needs ``lag``.
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
        The classes that were announced or seen, sorted; of several labels the numbers of the columns of y.
    multilabel_ : bool
        Whether rows have several labels.
    experts_ : list of dict
        For each expert its name, weight in the stack, score over the last 1,000 rows or so, and bytes.
    drift_ : list of int
        Rows (from 0) at which the drift alarm was raised, the last 100 of them.
    changes_ : list of dict
        For each alarm of ``drift_`` its row, the score before and after, features that moved, features whose relevance
        changed, and rates of classes that changed. ``complete`` when 256 to 511 more rows were learned.
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
    schema_ : nolana.columns.Schema
        What each column of X is learned as.

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
    >>> model.predict_set(X[:3], level=0.99).shape  # which classes are possible
    (3, 2)

    References
    ----------
    Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation" (the landmarks).
    Wolpert, "Stacked generalization", Neural Networks 5, 1992 (the stack).
    Gibbs, Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021 (the label sets).
    """

    class_weight: ClassWeight = None

    _task = CLASSIFICATION
    _scores_log_odds = True
    _several_labels = True

    def probabilities(self, scores: Array) -> Array:
        """What `scores` (n, classes), as `learn` returns them, mean by themselves as probabilities: their softmax.

        0 for a class that was not known. Rows where none was known are all 0. ``predict_proba`` and ``learn_proba``
        also know how many rows were learned, begin uniform, and do not depend on ``class_weight``, as scores do.
        """
        several = isinstance(self.__dict__.get("_targets"), SeveralLabels)
        return sigmoid(scores) if several else softmax(scores)

    @property
    def multilabel_(self) -> bool:
        """Whether rows have several labels."""
        return isinstance(self._read(), TargetsLearner)

    def _score_reader(self) -> Callable[[Array], Array]:
        classes, one = self.classes_, isinstance(self._targets, OneLabel)

        def read(f: Array) -> Array:
            scores = self._targets.scores(f, self.class_weight, 0.0)
            scores = scores[:, np.searchsorted(self.classes_, classes)]
            return scores[:, 1:] if one and len(classes) == 2 else scores

        return read

    def predict_set(self, X: MatrixLike, level: float = 0.9) -> NDArray[np.bool_]:
        """Which classes are possible, (n, classes): sets that hold the label of a row with the frequency ``level``.

        A set has every class that is probable enough, and always the most probable one. How probable is enough follows
        the rows that were learned, so that the frequency holds while the stream drifts; it is higher if the most
        probable class alone is right more often than ``level``. ``class_weight`` does not matter here.
        """
        share = number("level", level, 0.0, 1.0, open_low=True, open_high=True)

        def read(f: Array) -> tuple[NDArray[np.generic], Array]:
            learner, targets = self._learner, self._targets
            if isinstance(learner, TargetsLearner) or isinstance(targets, SeveralLabels):
                raise ValueError(
                    "label sets are for rows of one label; predict_proba has the probability of each label"
                )
            least = learner.set_threshold(share)
            if least is None:
                raise ValueError("this model is of a version before 0.3, without label sets: learn with a new one")
            p = softmax(targets.labels.by_column(f, -np.inf))
            return self.classes_, np.asarray((p >= least) | (p == p.max(axis=1, keepdims=True)), dtype=np.float64)

        return aligned(self._read_blocks(X, read), 0.0)[1] > 0


@parameters
class StreamRegressor(OnlineRegressor, StreamModel):
    """Regression on a stream with a nonlinear model of fixed size that tracks drift; no tuning.

    With targets y (n, k) each column has a learner of its own, and they share the memory.

    Parameters
    ----------
    memory : int or str, default="512KB"
        Bytes of state and scratch, never exceeded: a number, or a string such as "64KB" or "2MB"; 32KB to 1GB.
    experts : list of Expert, default=None
        The experts (`nolana.experts`). None: linear, landmarks, bins, neighbours and trees; with
        categorical columns also effects.
    categorical_features : "from_dtype", list of str, int or bool, or None, default="from_dtype"
        The categories among the columns of X. "from_dtype": columns of strings and categories of a frame (pandas,
        Polars, Arrow), of a list of dicts or of an array of objects, as in ``HistGradientBoostingClassifier``; integers
        are numbers unless the name of their column says id (``user_id``, ``itemId``). Or their names, their indices, or
        a mask; None: there are none. Categories are told apart by the bytes of their strings: white space, case and
        Unicode form count. 5, 5.0 and "5" are one category.
    text_features : list of str, int or bool, default=None
        Columns of text whose words are learned: names, indices or a mask. Rows are then sparse, all columns hashed.
    lag : int, default=None
        The target of a row is known when the row ``lag`` later is predicted, 1 to 2,048: the learner then also learns
        from the last known target, its change, its running mean and its season. None: targets of other rows are no
        input, and a prediction depends on the row and the model alone. Rows come in the order of time, and ``fit``
        learns them in that order, once. ``predict`` assumes that each of its rows comes ``lag`` rows after the last
        learned one: all of them see the same last targets. Rows of weight 0 are scored alone; their target is not known
        later.
    group : str or int, default=None
        The column, by name or index, that names the series of a row (user, sensor, store): ``lag`` counts rows of the
        same series. It is learned as a category. The last targets are in a hash table that takes at most half of the
        memory; the series that was not learned for longest is forgotten first. Needs ``lag``.
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
    changes_ : list of dict
        For each alarm of ``drift_`` its row, the score before and after, features that moved, features whose relevance
        changed, and the mean of the target. ``complete`` when 256 to 511 more rows were learned.
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
    schema_ : nolana.columns.Schema
        What each column of X is learned as.

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

    _task = REGRESSION

    def _make_centre(self) -> Centre:
        return Uncentred(linear=False)

    @overload
    def predict(self, X: MatrixLike, interval: None = None) -> Array: ...

    @overload
    def predict(self, X: MatrixLike, interval: float) -> tuple[Array, Array, Array]: ...

    def predict(self, X: MatrixLike, interval: float | None = None) -> Array | tuple[Array, Array, Array]:
        """The target of each row, (n,) or (n, k); with ``interval=0.9`` also bounds that cover 90 % of the targets.

        Returns y, or (y, low, high). Bounds are as wide as the errors on rows like this one that come next: wider if
        the experts disagree or if errors are larger at such targets. Rows further ahead of a series in time order have
        larger errors.
        """
        if interval is None:
            return super().predict(X)
        level = number("interval", interval, 0.0, 1.0, open_low=True, open_high=True)
        if is_empty(X):
            y = half = super().predict(X)
        else:
            parts = self._read_blocks(X, lambda f: f, lambda x: self._learner.intervals(x, level))
            y, half = (self._targets.read(each, 0.0) for each in np.hsplit(np.concatenate(parts), 2))
        return y, y - half, y + half
