"""Regression on a stream, whatever learner is inside: targets in, predictions around their mean out."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nolana._sklearn import RegressorMixin, check_array, column_or_1d
from nolana.errors import ModelFileError
from nolana.estimators.base import OnlinePredictor
from nolana.estimators.edge import (
    blocks_for,
    check_any_weight,
    check_features,
    check_values,
    check_weights,
    is_plain,
    row_count,
)
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
        self.total = self.weight = 0.0

    @property
    def outputs(self) -> int:
        return 2 if self.linear else 1

    @property
    def mean(self) -> float:
        return self.total / self.weight if self.weight > 0 else 0.0

    def means(self, y: Array, weight: Array | None) -> Array:
        """mu before each row; sums run in the order of the rows, so blocks may be cut anywhere."""
        w = np.ones(len(y)) if weight is None else weight
        totals = np.cumsum(np.concatenate([[self.total], w * y]))
        weights = np.cumsum(np.concatenate([[self.weight], w]))
        self.total, self.weight = float(totals[-1]), float(weights[-1])
        return np.asarray(np.divide(totals[:-1], weights[:-1], out=np.zeros(len(y)), where=weights[:-1] > 0))

    def advance(self, y: float) -> float:
        """mu before one row, which then counts: `means` for a block of one."""
        mean = self.mean
        self.total, self.weight = self.total + y, self.weight + 1
        return mean

    def targets(self, y: Array, means: Array) -> Array:
        return np.column_stack([y, np.ones(len(y))]) if self.linear else np.ascontiguousarray((y - means)[:, None])

    def record(self) -> dict[str, Tree]:
        """Plain data."""
        return {"around": "mean", "linear": self.linear, "total": self.total, "weight": self.weight}

    @staticmethod
    def of_record(node: Node) -> "Centre":
        """A centre from `record`."""
        fields = node.fields("around", "linear", "total", "weight")
        kind = {"mean": Centre, "zero": Uncentred}[fields["around"].text(("mean", "zero"))]
        centre = kind(linear=fields["linear"].flag())
        centre.total, centre.weight = fields["total"].number(), fields["weight"].number(0.0)
        return centre

    def read(self, f: Array, means: Array | float) -> Array:
        return f[:, 0] + means * (1 - f[:, 1]) if self.linear else f[:, 0] + means


class Uncentred(Centre):
    """f = f_y, around 0."""

    @property
    def outputs(self) -> int:
        return 1

    def record(self) -> dict[str, Tree]:
        return super().record() | {"around": "zero"}

    def means(self, y: Array, weight: Array | None) -> Array:
        return np.zeros(len(y))

    def advance(self, y: float) -> float:
        return 0.0

    def targets(self, y: Array, means: Array) -> Array:
        return np.ascontiguousarray(y[:, None])

    def read(self, f: Array, means: Array | float) -> Array:
        return np.ascontiguousarray(f[:, 0])


class OnlineRegressor(RegressorMixin, OnlinePredictor):  # type: ignore[misc]
    """A regressor that learns row by row."""

    _centre: Centre

    def _make_centre(self) -> Centre:
        """How targets are centred."""
        raise NotImplementedError

    # Learning

    def learn(self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> Array:
        """Score each row, then learn it; returns the scores (n,). `classes` has no meaning here."""
        if classes is not None:
            raise ValueError("classes has no meaning for a regressor; leave it None")
        if sample_weight is None:
            scores = self._learn_one(X, y)
            if scores is not None:
                self._after_learning()
                return scores
        return self._learn_weighted(X, y, sample_weight)

    def _learn_weighted(self, X: Any, y: Any, sample_weight: Any) -> Array:
        with self._all_or_nothing() as first:
            x = check_features(self, X, self._largest(), reset=first)
            targets = self._check_targets(y, x.shape[0])
            weights = check_weights(sample_weight, x.shape[0])
            if first:
                self._centre = self._make_centre()
                self._learner = self._make_learner_for(x, self._centre.outputs)
            return self._learn_checked(x, targets, weights)

    def _learn_one(self, x: Any, y: Any) -> Array | None:
        """The fast path: one row of float64 with a number as its target. None where it does not apply."""
        if not is_plain(x) or len(x) != 1 or not self._takes_plain_rows(x):
            return None
        if not (type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (1,)):
            return None
        target = float(y[0])
        if not abs(target) <= LARGEST_TARGET:
            return None
        check_values(x, self._learner.largest)
        with self._learner.lock:
            mean = self._centre.advance(target)
            f = self._learner.learn(x, self._centre.targets(y, np.array([mean])))
            return self._centre.read(f, mean)

    def _check_targets(self, y: Any, rows: int) -> Array:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if type(y) is np.ndarray and y.dtype == np.float64 and y.ndim == 1:
            targets = y
        else:
            array = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name="y")
            if array.dtype.kind in "USM":
                raise ValueError(f"y holds {array.dtype}, but a regression target must be numeric")
            targets = np.asarray(column_or_1d(array, warn=True), dtype=np.float64)
        if len(targets) != rows:
            raise ValueError(f"X has {rows} rows but y has {len(targets)} targets: inconsistent numbers of samples")
        bad = np.flatnonzero(~(np.abs(targets) <= LARGEST_TARGET))
        if len(bad):
            raise ValueError(
                f"y contains NaN, inf or a value beyond {LARGEST_TARGET:g} at row {bad[0]}: "
                f"{targets[bad[0]]}; nothing of this call was learned"
            )
        return targets

    def _learn_checked(self, x: Any, y: Array, weights: Array | None) -> Array:
        scores = np.empty(len(y))
        for rows, part in blocks_for(self._learner, x):
            weight = None if weights is None else weights[rows]
            with self._learner.lock:
                means = self._centre.means(y[rows], weight)
                f = self._learner.learn(part, self._centre.targets(y[rows], means), weight)
                scores[rows] = self._centre.read(f, means)
        return scores

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows `max_iter` times; a refused fit changes nothing."""
        with self._all_or_nothing(replacing=True):
            self._check_parameters()
            self._check_epochs()
            self._forget()
            x = check_features(self, X, self._largest(), reset=True)
            targets = self._check_targets(y, x.shape[0])
            weights = check_weights(sample_weight, x.shape[0])
            check_any_weight(weights)
            self._centre = self._make_centre()
            self._learner = self._make_learner_for(x, self._centre.outputs)
            for order in self._epochs(x.shape[0]):
                self._learn_checked(x[order], targets[order], None if weights is None else weights[order])
            self.n_iter_ = self.max_iter
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

    # Reading

    def scores(self, X: Any) -> Array:
        """What `learn` would return for these rows now, (n,): 0 before the first row; nothing is learned."""
        return self.predict(X) if self.__sklearn_is_fitted__() else np.zeros(row_count(X))

    def predict(self, X: Any) -> Array:
        """The target of each row, (n,)."""
        return np.concatenate(self._read_blocks(X, lambda f: self._centre.read(f, self._centre.mean)))
