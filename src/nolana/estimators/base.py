"""What every estimator on a stream shares, whatever learns inside and whatever is learned."""

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, TypeGuard, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana import modelfile
from nolana.columns import EncodedRows, Schema
from nolana.errors import ModelFileError
from nolana.estimators._sklearn import BaseEstimator, NotFittedError, check_is_fitted, check_random_state
from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.edge import (
    Learner,
    blocks_for,
    check_any_weight,
    check_features,
    check_no_rows,
    check_values,
    check_weights,
    column_count,
    is_empty,
    is_plain,
)
from nolana.estimators.parameters import integer
from nolana.estimators.records import record_of
from nolana.estimators.targets import CheckedRows, LearnedRows, Targets
from nolana.learner.driver import Driver
from nolana.learner.rows import Matrix, MatrixLike, SparseRows
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]
T = TypeVar("T")
RandomState: TypeAlias = int | np.random.RandomState | None


MAY_CHANGE = {"class_weight", "max_iter", "shuffle"}  # parameters that are not of the learner


def same_parameter(first: Any, second: Any) -> bool:
    """Whether two values of a parameter mean the same."""
    if first is second:
        return True
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return bool(first == second)


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(estimator: type[T]) -> type[T]:
    """A keyword-only constructor with the annotated fields of a class and of its bases, as scikit-learn expects."""
    return dataclass(kw_only=True, repr=False, eq=False)(estimator)


class OnlineEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that holds a learner in ``_learner`` from its first row on."""

    _learner: Any  # a Driver with the readers of its kind, or a SketchedLearner
    _learner_class: ClassVar[type]
    _takes_tables: ClassVar[bool] = False  # whether X may have other columns than numbers
    _takes_missing: ClassVar[bool] = False  # whether X may have NaN
    _takes_unlabelled: ClassVar[bool] = False  # whether y may be None
    _schema: Schema  # of the tables that it learned; arrays of numbers have none
    _seeded: ClassVar[bool] = False  # whether the learner draws numbers by random_state, not the shuffles alone
    _on_drift: Callable[[int], object] | None = None  # called for each alarm
    _began_with: dict[str, object]  # parameters that the learner was made of
    max_iter: int | None
    shuffle: bool
    random_state: RandomState

    def _make_learner(self, n_features: int, outputs: int) -> Driver:
        """The learner of these parameters; every invalid one is a ValueError here."""
        raise NotImplementedError

    def _make_learner_for(self, x: Matrix, outputs: int) -> Learner:
        """The learner that begins with these rows, dense or CSR."""
        return self._make_learner(x.shape[1], outputs)

    def _check_parameters(self) -> None:
        """Raise what `_make_learner` would raise, before anything is forgotten."""
        raise NotImplementedError

    def _passes(self, rows: int) -> int:
        """How often `fit` learns so many rows; ValueError where `max_iter` is invalid."""
        return integer("max_iter", self.max_iter, 1)

    def _accepts(self, learner: Any) -> bool:
        """Whether a learner of a file can be this estimator's."""
        return isinstance(learner, self._learner_class)

    def _largest(self) -> float:
        """Feature values beyond this are refused."""
        return float(self.__dict__.get("_learner", self._learner_class).largest)

    def _is_plain_row(self, x: object) -> TypeGuard[Array]:
        """Whether x is one row that needs no look at column names, at a way back, or at what is missing; checked."""
        mine = self.__dict__
        if not is_plain(x) or len(x) != 1 or "_learner" not in mine or x.shape[1] != mine["n_features_in_"]:
            return False
        if "_parameters_were_set" in mine or "_schema" in mine or "feature_names_in_" in mine:
            return False
        if self._learner.runs_user_code or self._learner.sparse:
            return False
        check_values(x, self._learner.largest, nan=self._takes_missing)
        return True

    @contextmanager
    def _all_or_nothing(self, *, replacing: bool = False) -> Iterator[bool]:
        """Transactional: unchanged if the call is refused, or if the user's own kernel or policy fails.

        Yields whether this is the first call. Input is checked before it is learned, so a later call needs a way
        back only where it replaces the model, or where the user's code runs inside.
        """
        first = "_learner" not in self.__dict__
        if not first and not replacing:
            self._check_unchanged()
        user_code = not first and not replacing and self._learner.runs_user_code
        before = self._snapshot() if user_code else dict(self.__dict__)
        learned = self._learner.state() if user_code else None
        try:
            yield first
        except BaseException:
            if first or replacing or user_code:
                self.__dict__.clear()
                self.__dict__.update(before)
            if learned is not None:
                self._learner.restore(learned)
            raise
        if "_learner" in self.__dict__ and (first or replacing):
            self._note_parameters()
        self._after_learning()

    def _after_learning(self) -> None:
        """After each call that learned rows, without the lock; an error raised here leaves what was learned."""
        if self._on_drift is not None and "_learner" in self.__dict__:
            self._report_drift(self._on_drift)

    def _report_drift(self, action: Callable[[int], object]) -> None:
        """Call the user's function for each new alarm of the learner."""

    def __setattr__(self, name: str, value: object) -> None:
        """Note that a parameter was set, which the path for single rows does not look at."""
        if not (name.startswith("_") or name.endswith("_")) and "_learner" in self.__dict__:
            self.__dict__["_parameters_were_set"] = True
        super().__setattr__(name, value)

    def _note_parameters(self) -> None:
        """Store the parameters that the learner was made of; the others may change at any time."""
        may_change = MAY_CHANGE if self._seeded else MAY_CHANGE | {"random_state"}
        parameters = self.get_params(deep=False)
        self._began_with = {name: value for name, value in parameters.items() if name not in may_change}
        self.__dict__.pop("_parameters_were_set", None)

    def _check_unchanged(self) -> None:
        """ValueError where a parameter of the learner was changed since it was made."""
        for name, before in self.__dict__.get("_began_with", {}).items():
            now = getattr(self, name)
            if not same_parameter(now, before):
                raise ValueError(
                    f"{name}={now!r} was {before!r} when this {type(self).__name__} began to learn, and cannot change "
                    f"while it learns. Call fit, which starts again, learn with a new estimator, or set {name} back"
                )
        self.__dict__.pop("_parameters_were_set", None)

    def _snapshot(self) -> dict[str, object]:
        """The attributes as they are now; what changes in place is copied, but for the learner."""
        now = dict(self.__dict__)
        return now | {name: copy.deepcopy(now[name]) for name in ("_targets",) if name in now}

    def __getstate__(self) -> dict[str, object]:
        """Everything at one moment between two blocks, also while another thread learns."""
        state = dict(super().__getstate__())
        if "_learner" in self.__dict__:
            with self._learner.lock:
                state |= self._snapshot()
                state["_learner"] = self._learner.copy()
        return state

    def save(self, path: str | os.PathLike[str], *, extra: Mapping[str, Tree] | None = None) -> None:
        """Write everything to one file, from which `nolana.load` continues bit for bit.

        The file is replaced as a whole: after a failure it is what it was before. ``extra`` are further sections of
        plain data for the same file (see `nolana.modelfile`), which `estimators.loading.load_with_extra` gives back.
        """
        if extra is not None and "estimator" in extra:
            raise ModelFileError("extra: the section 'estimator' is the estimator's own; choose another name")
        modelfile.write(path, {"estimator": record_of(self), **(extra or {})})

    def split(self, k: int) -> list[Self]:
        """k copies whose maps are frozen, to learn apart; `nolana.merge` makes one learner of them again.

        They record this model as their base. It does not change.
        """
        from nolana.estimators.merging import split_estimator  # most programs need none of it

        return split_estimator(self, k)

    def _fitted_record(self) -> dict[str, Tree]:
        """What was fitted beside the learner, as plain data; the caller holds the lock."""
        names, schema = self.__dict__.get("feature_names_in_"), self.__dict__.get("_schema")
        record: dict[str, Tree] = {
            "n_features_in_": int(self.n_features_in_),
            "feature_names_in_": None if names is None else [str(name) for name in names],
            "n_iter_": self.__dict__.get("n_iter_"),
        }
        return record if schema is None else record | {"schema": schema.as_dict()}

    def _restore_fitted(self, node: Node) -> None:
        """Take `_fitted_record` from a file; the learner is there already."""
        width = self._learner.n_features
        if "schema" in node.entries():
            self._schema = self._restored_schema(node["schema"], width)
            width = len(self._schema.columns)
        self.n_features_in_ = node["n_features_in_"].integer(width, width)
        if not node["n_iter_"].is_none:
            self.n_iter_ = node["n_iter_"].integer(1)
        if not node["feature_names_in_"].is_none:
            names = [name.text() for name in node["feature_names_in_"].items()]
            if len(names) != width:
                raise node["feature_names_in_"].wrong(f"{width} names")
            self.feature_names_in_ = np.array(names, dtype=object)

    def _restored_schema(self, node: Node, width: int) -> Schema:
        """The schema of a file, for a learner of so many encoded columns."""
        try:
            schema = Schema.from_dict(node.entries() and cast(dict[str, Any], node.value))
        except ValueError as error:
            raise ModelFileError(f"{node.place}: {error}") from error
        if not self._takes_tables or schema.width != width:
            raise node.wrong(f"the schema of {width} encoded columns")
        return schema

    def _forget(self) -> None:
        """Back to before the first row."""
        own = ("_learner", "_schema", "_targets")
        for name in [n for n in vars(self) if n in own or (n.endswith("_") and not n.startswith("__"))]:
            delattr(self, name)

    def _rows_of_both(self, X: Any, late_X: Any) -> tuple[Any, Any]:
        """Rows of X and of `late_X` that can be alternated; tables are encoded."""
        return X, late_X

    def _epochs(self, rows: int) -> Iterator[NDArray[np.intp] | slice]:
        """The order of the rows in each epoch of fit."""
        rng, self.n_iter_ = check_random_state(self.random_state), self._passes(rows)
        for epoch in range(self.n_iter_):
            self._learner.repeats = epoch > 0
            yield rng.permutation(rows) if self.shuffle else slice(None)
        self._learner.repeats = False

    def __sklearn_is_fitted__(self) -> bool:
        return "_learner" in self.__dict__ and self._learner.rows > 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _seen_classes(self) -> list[Any] | None:
        """The classes in order of appearance, of types that can be compared; None for regression."""
        return None

    @property
    def _is_taught(self) -> bool:
        """Whether there was a row with a label."""
        return "_learner" in self.__dict__ and self._learner.labelled > 0

    def _check_taught(self) -> None:
        """NotFittedError if rows without labels are all there was: nothing can be predicted."""
        check_is_fitted(self)
        if not self._is_taught:
            raise NotFittedError(f"this {type(self).__name__} has learned rows without labels alone; learn some with y")

    def _read_blocks(
        self, X: MatrixLike, read: Callable[[Array], T], score: Callable[[Any], Array] | None = None
    ) -> list[T]:
        """Rows that are not learned, a block at a time: `read` makes of its scores what is wanted, under the lock."""
        blocks: Iterable[Array | SparseRows]
        if self._is_plain_row(X) and self._learner.labelled:
            blocks = (X,)
        else:
            self._check_taught()
            x = check_features(self, X, reset=False, empty=True)
            if not x.shape[0]:
                with self._learner.lock:
                    return [read(np.empty((0, self._learner.outputs)))]
            blocks = (part for _, part in blocks_for(self._learner, x))
        parts = []
        for part in blocks:
            with self._learner.lock:
                parts.append(read((score or self._learner.scores)(part)))
        return parts

    def _read(self) -> Any:
        check_is_fitted(self)
        return self._learner

    @property
    def n_rows_(self) -> int:
        """Rows learned."""
        return int(self._read().rows)

    @property
    def memory_bytes_(self) -> int:
        """Bytes of state and scratch."""
        return int(self._read().memory_bytes)

    def __copy__(self) -> Self:
        """A copy learns on its own."""
        return copy.deepcopy(self)


def alternate_rows(
    X: NDArray[np.generic], late_X: NDArray[np.generic], late_y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.generic], NDArray[np.generic], Array]:
    """Rows, labels and weights for `learn`: a row of `X` of weight 0, then a row of `late_X`, and so on.

    A row of weight 0 is scored and changes nothing, whatever its label is.
    """
    if X.shape != late_X.shape:
        raise ValueError(f"X and late_X must be equally large; got {X.shape} and {late_X.shape}")
    rows: Any
    if isinstance(X, np.ndarray):
        rows = np.stack([X, late_X], axis=1).reshape(-1, X.shape[1])
        if isinstance(X, EncodedRows) and X.schema is not None:
            rows = EncodedRows.of(rows, X.schema)
    else:  # encoded rows with text
        from scipy.sparse import vstack

        rows = vstack([X, late_X], format="csr")[np.arange(2 * X.shape[0]).reshape(2, -1).T.ravel()]
        rows.schema = X.schema
    weights = np.zeros((X.shape[0], 2))
    weights[:, 1] = 1.0 if sample_weight is None else sample_weight
    return rows, np.repeat(late_y, 2, axis=0), weights.ravel()


class OnlinePredictor(OnlineEstimator):
    """An estimator with a target."""

    _targets: Targets

    @property
    def _class_weight(self) -> ClassWeight:
        """The parameter of classifiers that have it."""
        class_weight: ClassWeight = getattr(self, "class_weight", None)
        return class_weight

    def _new_targets(self, columns: int) -> Targets:
        """The kind of targets that a y with this number of columns has."""
        raise NotImplementedError

    def _restored_targets(self, node: Node) -> Targets:
        """The same from what `_fitted_record` wrote to a file; the learner is there already."""
        raise NotImplementedError

    def _fitted_record(self) -> dict[str, Tree]:
        return super()._fitted_record() | self._targets.record()

    def _restore_fitted(self, node: Node) -> None:
        super()._restore_fitted(node)
        self._targets = self._restored_targets(node)

    def _begin(self, x: Matrix, targets: Targets) -> None:
        """Before the first row."""
        self._targets, self._learner = targets, self._make_learner_for(x, targets.outputs)

    def learn(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Score each row, then learn it; returns what each row scored before it was learned.

        A regressor returns (n,) or (n, k) as y; `classes` has no meaning there. A classifier returns (n, classes known
        at the end), by sorted ``classes_``: -inf where a class was not yet known at that row, and -f and f for two
        classes. Without y, which StreamClassifier and StreamRegressor take, the rows have no labels: only what needs
        none learns them (scaling, recent rows), which is what ``novelty`` asks.
        """
        if classes is None and sample_weight is None and self._is_plain_row(X):
            scores = self._targets.learn_one(self._learner, X, y, self._class_weight)
            if scores is not None:
                self._after_learning()
                return scores
        if y is None and self._takes_unlabelled:
            return self._learn_unlabelled(X, classes=classes, sample_weight=sample_weight)
        return self._learn_many(X, y, classes, sample_weight).scores

    def _learn_unlabelled(self, X: MatrixLike, **others: ArrayLike | None) -> Array:
        """Rows without labels; returns what each scored before."""
        for name, value in others.items():
            if value is not None:
                raise ValueError(f"{name} has no meaning for rows without labels; leave it None")
        if is_empty(X):
            return self._learn_many(X, None, None, None).scores
        with self._all_or_nothing() as first:
            x = check_features(self, X, reset=first)
            if first:
                self._begin(x, self._new_targets(1))
            found = []
            for _, part in blocks_for(self._learner, x):
                with self._learner.lock:
                    found.append(self._learner.learn(part, None))
        with self._learner.lock:
            return np.concatenate([self._targets.scores(f, self._class_weight) for f in found])

    def _learn_many(
        self, X: MatrixLike, y: ArrayLike | None, classes: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> LearnedRows:
        """The general path: everything is checked, then everything is learned."""
        with self._all_or_nothing() as first:
            if is_empty(X):
                return self._learn_nothing(X, y, classes, sample_weight, first)
            x = check_features(self, X, reset=first)
            targets = self._new_targets(column_count(y)) if first else self._targets
            announced = targets.check_classes(classes)
            labels = targets.check(y, x.shape[0], announced)
            weights = check_weights(sample_weight, x.shape[0])
            if first:
                self._begin(x, targets)
            return targets.learn(self._learner, CheckedRows(x, labels, announced, weights), self._class_weight)

    def _learn_nothing(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        first: bool,
    ) -> LearnedRows:
        """A block without rows: `classes` are announced, nothing else changes."""
        check_no_rows(y=y, sample_weight=sample_weight)
        targets = self._new_targets(1) if first else self._targets
        announced = targets.check_classes(classes)
        outputs = targets.outputs
        if announced is not None or not first:
            x = check_features(self, X, reset=first, empty=True)
            if first:
                self._begin(x, targets)
            with self._learner.lock:
                if announced is not None:
                    targets.announce(announced)
                outputs = self._learner.outputs
        return LearnedRows(targets.scores(np.empty((0, outputs)), self._class_weight))

    def learn_late(
        self,
        X: NDArray[np.generic],
        late_X: NDArray[np.generic],
        late_y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Score row i of `X`, then learn row i of `late_X`, for i = 0, 1, ...; returns the scores of `X`.

        For labels that come late: ``scores`` and ``learn`` by turns, in one call and at the speed of a block.
        """
        return self._learn_late(X, late_X, late_y, sample_weight).scores[::2]

    def _learn_late(
        self,
        X: NDArray[np.generic],
        late_X: NDArray[np.generic],
        late_y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> LearnedRows:
        rows, labels, weights = alternate_rows(*self._rows_of_both(X, late_X), late_y, sample_weight)
        return self._learn_many(rows, labels, None, weights)

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn rows; `classes` announces labels that may come. y is None for rows without labels."""
        self.learn(X, y, classes=classes, sample_weight=sample_weight)
        return self

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in `max_iter` passes; a refused fit changes nothing."""
        with self._all_or_nothing(replacing=True):
            self._check_parameters()
            self._passes(1)
            self._forget()
            x = check_features(self, X, reset=True)
            targets = self._new_targets(column_count(y))
            labels = targets.check(y, x.shape[0], None)
            weights = check_weights(sample_weight, x.shape[0])
            check_any_weight(weights)
            self._begin(x, targets)
            self._learner.take_any_order()
            for order in self._epochs(x.shape[0]):
                weight = None if weights is None else weights[order]
                rows = CheckedRows(x[order], labels[order], None, weight)
                targets.learn(self._learner, rows, self._class_weight)
        return self
