"""Regression on a stream, whatever learner is inside: targets in, predictions around their mean out."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.errors import ModelFileError
from nolana.estimators._sklearn import RegressorMixin, check_array, column_or_1d
from nolana.estimators.base import OnlinePredictor
from nolana.estimators.edge import (
    blocks_for,
    check_any_weight,
    check_features,
    check_no_rows,
    check_values,
    check_weights,
    is_empty,
    is_plain,
    row_count,
)
from nolana.learner.rows import Matrix, MatrixLike
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]

LARGEST_TARGET = 1e100


class Centre:
    """The running mean mu of the targets, and how the model is read around it.

    A kernel model without intercept falls to 0 away from its landmarks; around the mean it falls to the mean.
    For the squared loss everything learned is linear in the targets, so a second output that learns the
    constant 1 makes the centring exact for whatever mu is now: f = f_y + mu (1 - f_1) is the model of the
    targets y - mu. For other losses the targets y - mu are learned with the mu of their row.
    """

    def __init__(self, linear: bool) -> None:
        self.linear = linear
        self.n_targets = 1
        self.total: float | Array = 0.0  # (k,) for k > 1 targets
        self.weight = 0.0

    def for_targets(self, count: int) -> "Centre":
        """The same for so many targets."""
        self.n_targets, self.total = count, 0.0 if count == 1 else np.zeros(count)
        return self

    @property
    def outputs(self) -> int:
        return self.n_targets + 1 if self.linear else self.n_targets

    @property
    def mean(self) -> float | Array:
        return self.total / self.weight if self.weight > 0 else 0.0

    def means(self, y: Array, weight: Array | None) -> Array:  # (n,) or (n, k) -> the same
        """mu before each row; sums run in the order of the rows, so blocks may be cut anywhere."""
        w = np.ones(len(y)) if weight is None else weight
        totals = np.cumsum(np.concatenate([np.asarray(self.total)[None], (w * y.T).T]), axis=0)
        weights = np.cumsum(np.concatenate([[self.weight], w]))
        self.total, self.weight = float(totals[-1]) if self.n_targets == 1 else totals[-1].copy(), float(weights[-1])
        before = np.divide(totals[:-1].T, weights[:-1], out=np.zeros(y.T.shape), where=weights[:-1] > 0)
        return np.asarray(before.T)

    def advance(self, y: float) -> float | Array:
        """mu before one row of one target, which then counts: `means` for a block of one."""
        mean = self.mean
        self.total, self.weight = self.total + y, self.weight + 1
        return mean

    def targets(self, y: Array, means: Array) -> Array:  # -> (n, outputs)
        if self.linear:
            return np.column_stack([y, np.ones(len(y))])
        return np.ascontiguousarray((y - means).reshape(len(y), -1))

    def record(self) -> dict[str, Tree]:
        """Plain data."""
        total = self.total if isinstance(self.total, float) else self.total.tolist()
        return {"around": "mean", "linear": self.linear, "total": total, "weight": self.weight}

    @staticmethod
    def of_record(node: Node) -> "Centre":
        """A centre from `record`."""
        fields = node.fields("around", "linear", "total", "weight")
        kind = {"mean": Centre, "zero": Uncentred}[fields["around"].text(("mean", "zero"))]
        centre = kind(linear=fields["linear"].flag())
        if isinstance(fields["total"].value, list):
            totals = [total.number() for total in fields["total"].items()]
            if len(totals) < 2:
                raise fields["total"].wrong("a number, or one for each of several targets")
            centre.for_targets(len(totals)).total = np.array(totals)
        else:
            centre.total = fields["total"].number()
        centre.weight = fields["weight"].number(0.0)
        return centre

    def read(self, f: Array, means: Array | float) -> Array:  # (n, outputs) -> (n,) or (n, k)
        own = f[:, 0] if self.n_targets == 1 else f[:, : self.n_targets]
        if not self.linear:
            return own + means
        return own + means * (1 - (f[:, 1] if self.n_targets == 1 else f[:, self.n_targets :]))


class Uncentred(Centre):
    """f = f_y, around 0."""

    @property
    def outputs(self) -> int:
        return self.n_targets

    def record(self) -> dict[str, Tree]:
        return super().record() | {"around": "zero"}

    def means(self, y: Array, weight: Array | None) -> Array:
        return np.zeros(y.shape)

    def advance(self, y: float) -> float | Array:
        return 0.0

    def targets(self, y: Array, means: Array) -> Array:
        return np.ascontiguousarray(y.reshape(len(y), -1))

    def read(self, f: Array, means: Array | float) -> Array:
        return np.ascontiguousarray(f[:, 0] if self.n_targets == 1 else f)


class OnlineRegressor(RegressorMixin, OnlinePredictor):  # type: ignore[misc]
    """A regressor that learns row by row; y is (n,), or (n, k) for k targets."""

    _centre: Centre
    _several_targets: ClassVar[bool] = True

    def _make_centre(self) -> Centre:
        """How targets are centred."""
        raise NotImplementedError

    # Learning

    def learn(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Score each row, then learn it; returns the scores, (n,) or (n, k) as y. `classes` has no meaning here.

        Without y the rows have no targets: only what needs none learns them (scaling, recent rows), which is what
        ``novelty`` asks.
        """
        if classes is not None:
            raise ValueError("classes has no meaning for a regressor; leave it None")
        if sample_weight is None:
            scores = self._learn_one(X, y)
            if scores is not None:
                self._after_learning()
                return scores
        if y is None and self._takes_unlabelled:
            found = self._learn_unlabelled(X, sample_weight=sample_weight)
            if not found:
                return self._learn_nothing(X, (), None)
            with self._learner.lock:
                return np.concatenate([self._centre.read(f, self._centre.mean) for f in found])
        return self._learn_weighted(X, y, sample_weight)

    def _begin_unlabelled(self, x: Matrix) -> None:
        self._begin(x, np.zeros(1))

    def _learn_weighted(self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Array:
        if is_empty(X):
            return self._learn_nothing(X, y, sample_weight)
        with self._all_or_nothing() as first:
            x = check_features(self, X, self._largest(), reset=first)
            targets = self._check_targets(y, x.shape[0], None if first else self._centre.n_targets)
            weights = check_weights(sample_weight, x.shape[0])
            if first:
                self._begin(x, targets)
            return self._learn_checked(x, targets, weights)

    def _learn_nothing(self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Array:
        """A block without rows: scores (0,) or (0, k), and nothing changes."""
        check_no_rows(y=y, sample_weight=sample_weight)
        if "_learner" not in self.__dict__:
            return np.empty(0)
        self._check_unchanged()
        check_features(self, X, self._largest(), reset=False, empty=True)
        return np.empty(0 if self._centre.n_targets == 1 else (0, self._centre.n_targets))

    def _begin(self, x: Matrix, targets: Array) -> None:
        """Before the first row."""
        self._centre = self._make_centre().for_targets(targets[0].size)
        self._learner = self._make_learner_for(x, self._centre.outputs)

    def _learn_one(self, x: MatrixLike, y: ArrayLike | None) -> Array | None:
        """The fast path: one row of float64 with a number as its target. None where it does not apply."""
        if not is_plain(x) or len(x) != 1 or not self._takes_plain_rows(x):
            return None
        if not (type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (1,)) or self._centre.n_targets > 1:
            return None
        target = float(y[0])
        if not abs(target) <= LARGEST_TARGET:
            return None
        check_values(x, self._learner.largest, nan=self._takes_missing)
        with self._learner.lock:
            mean = self._centre.advance(target)
            f = self._learner.learn(x, self._centre.targets(y, np.array([mean])))
            return self._centre.read(f, mean)

    def _check_targets(self, y: ArrayLike | None, rows: int, count: int | None = None) -> Array:
        """Finite targets (n,) or (n, k); `count` is k where it is known."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if type(y) is np.ndarray and y.dtype == np.float64 and y.ndim == 1:
            targets = y
        else:
            array = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name="y")
            if array.dtype.kind in "USM":
                raise ValueError(f"y holds {array.dtype}, but a regression target must be numeric")
            if array.ndim != 2 or array.shape[1] == 1:
                array = column_or_1d(array, warn=True)
            targets = np.ascontiguousarray(array, dtype=np.float64)
        if len(targets) != rows:
            raise ValueError(f"X has {rows} rows but y has {len(targets)} targets: inconsistent numbers of samples")
        found = 1 if targets.ndim == 1 else targets.shape[1]
        if found > 1 and not self._several_targets:
            raise ValueError(
                f"y has {found} targets for each row; {type(self).__name__} learns one. Use "
                f"sklearn.multioutput.MultiOutputRegressor({type(self).__name__}())"
            )
        if count is not None and found != count:
            raise ValueError(f"y has {found} targets for each row, but this model has learned {count}")
        bad = np.argwhere(~(np.abs(targets) <= LARGEST_TARGET))
        if len(bad):
            place = f"row {bad[0][0]}" + (f", column {bad[0][1]}" if found > 1 else "")
            raise ValueError(
                f"y contains NaN, inf or a value beyond {LARGEST_TARGET:g} at {place}: "
                f"{targets[tuple(bad[0])]}; nothing of this call was learned"
            )
        return targets

    def _learn_checked(self, x: Matrix, y: Array, weights: Array | None) -> Array:
        scores = np.empty(y.shape)
        for rows, part in blocks_for(self._learner, x):
            weight = None if weights is None else weights[rows]
            with self._learner.lock:
                means = self._centre.means(y[rows], weight)
                f = self._learner.learn(part, self._centre.targets(y[rows], means), weight)
                scores[rows] = self._centre.read(f, means)
        return scores

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in `max_iter` passes; a refused fit changes nothing."""
        with self._all_or_nothing(replacing=True):
            self._check_parameters()
            self._passes(1)
            self._forget()
            x = check_features(self, X, self._largest(), reset=True)
            targets = self._check_targets(y, x.shape[0])
            weights = check_weights(sample_weight, x.shape[0])
            check_any_weight(weights)
            self._begin(x, targets)
            self._learner.take_any_order()
            for order in self._epochs(x.shape[0]):
                self._learn_checked(x[order], targets[order], None if weights is None else weights[order])
        return self

    # Files

    def _fitted_record(self) -> dict[str, Tree]:
        return super()._fitted_record() | {"centre": self._centre.record()}

    def _restore_fitted(self, node: Node) -> None:
        super()._restore_fitted(node)
        self._centre = Centre.of_record(node["centre"])
        if self._centre.outputs != self._learner.outputs:
            raise ModelFileError(
                f"{node.place}: centring wants {self._centre.outputs} outputs, the learner has {self._learner.outputs}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags

    # Reading

    def scores(self, X: MatrixLike) -> Array:
        """What `learn` would return for these rows now, (n,): 0 before the first row; nothing is learned."""
        return self.predict(X) if self._is_taught else np.zeros(row_count(X))

    def predict(self, X: MatrixLike) -> Array:
        """The target of each row, (n,), or (n, k) if k targets were learned."""
        f = self._score_one(X)
        if f is not None:
            return self._centre.read(f, self._centre.mean)
        return np.concatenate(self._read_blocks(X, lambda f: self._centre.read(f, self._centre.mean)))
