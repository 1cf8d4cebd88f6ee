"""Regression on a stream, whatever learner is inside: targets in, predictions around their mean out."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.errors import ModelFileError
from nolana.estimators._sklearn import RegressorMixin, check_array, column_or_1d
from nolana.estimators.base import OnlinePredictor
from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.edge import Learner, row_count
from nolana.estimators.targets import CheckedRows, LearnedRows, Targets
from nolana.learner.merge import Alignment
from nolana.learner.rows import MatrixLike
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

if TYPE_CHECKING:
    from sklearn.utils import Tags

Array = NDArray[np.float64]

LARGEST_TARGET = 1e100


class Centre(Targets):
    """The running mean mu of the targets, and how the model is read around it.

    A kernel model without intercept falls to 0 away from its landmarks; around the mean it falls to the mean.
    For the squared loss everything learned is linear in the targets, so a second output that learns the
    constant 1 makes the centring exact for whatever mu is now: f = f_y + mu (1 - f_1) is the model of the
    targets y - mu. For other losses the targets y - mu are learned with the mu of their row.
    """

    around = "mean"

    def __init__(self, linear: bool) -> None:
        self.linear = linear
        self.n_targets = 1
        self.total: float | Array = 0.0  # (k,) for k > 1 targets
        self.weight = 0.0

    def for_targets(self, count: int) -> Self:
        """The same for so many targets."""
        self.n_targets, self.total = count, 0.0 if count == 1 else np.zeros(count)
        return self

    @property
    def outputs(self) -> int:
        return self.n_targets + self.linear

    @property
    def mean(self) -> float | Array:
        return self.total / self.weight if self.weight > 0 else 0.0

    def check_classes(self, classes: ArrayLike | None) -> None:
        if classes is not None:
            raise ValueError("classes has no meaning for a regressor; leave it None")

    def announce(self, labels: NDArray[np.generic]) -> None:
        """There are no labels."""

    def check(self, y: ArrayLike | None, rows: int, announced: NDArray[np.generic] | None = None) -> Array:
        """Finite targets (n,) or (n, k)."""
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
        if found != self.n_targets:
            raise ValueError(f"y has {found} targets for each row, but this model has learned {self.n_targets}")
        bad = np.argwhere(~(np.abs(targets) <= LARGEST_TARGET))
        if len(bad):
            place = f"row {bad[0][0]}" + (f", column {bad[0][1]}" if found > 1 else "")
            raise ValueError(
                f"y contains NaN, inf or a value beyond {LARGEST_TARGET:g} at {place}: "
                f"{targets[tuple(bad[0])]}; nothing of this call was learned"
            )
        return targets

    def learn(self, learner: Learner, rows: CheckedRows, class_weight: ClassWeight) -> LearnedRows:
        targets, scores = np.asarray(rows.y, dtype=np.float64), np.empty(rows.y.shape)
        for block, x, weight in rows.blocks(learner):
            with learner.lock:
                means = self.means(targets[block], weight)
                f = learner.learn(x, self.targets(targets[block], means), weight)
                scores[block] = self.read(f, means)
        return LearnedRows(scores)

    def learn_one(self, learner: Learner, x: Array, y: object, class_weight: ClassWeight) -> Array | None:
        """The fast path is for one target, a float64."""
        if not (type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (1,)) or self.n_targets > 1:
            return None
        target = float(y[0])
        if not abs(target) <= LARGEST_TARGET:
            return None
        with learner.lock:
            mean = self.advance(target)
            f = learner.learn(x, self.targets(y, np.array([mean])))
            return self.read(f, mean)

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

    def read(self, f: Array, means: Array | float) -> Array:  # (n, outputs) -> (n,) or (n, k)
        own = f[:, 0] if self.n_targets == 1 else f[:, : self.n_targets]
        if not self.linear:
            return own + means
        return own + means * (1 - (f[:, 1] if self.n_targets == 1 else f[:, self.n_targets :]))

    def scores(self, f: Array, class_weight: ClassWeight = None) -> Array:
        return self.read(f, self.mean)

    def merged(self, learner: Learner, parts: Sequence[Self], rows: list[int]) -> tuple[Self, list[Alignment]]:
        """The sums of the targets add up."""
        result = copy.copy(self)
        result.weight = self.weight + sum(part.weight - self.weight for part in parts)
        total = self.total + sum(part.total - self.total for part in parts)
        result.total = total if isinstance(total, np.ndarray) else float(total)
        return result, [Alignment()] * (1 + len(parts))

    def record(self) -> dict[str, Tree]:
        total = self.total if isinstance(self.total, float) else self.total.tolist()
        return {"centre": {"around": self.around, "linear": self.linear, "total": total, "weight": self.weight}}

    @staticmethod
    def of_record(node: Node) -> "Centre":
        """A centre from the entry of `record`."""
        fields = node.fields("around", "linear", "total", "weight")
        kind = {each.around: each for each in (Centre, Uncentred)}[fields["around"].text(("mean", "zero"))]
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


class Uncentred(Centre):
    """f = f_y, around 0."""

    around = "zero"

    @property
    def outputs(self) -> int:
        return self.n_targets

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

    _targets: Centre
    _several_targets: ClassVar[bool] = True

    def _make_centre(self) -> Centre:
        """How targets are centred."""
        raise NotImplementedError

    def _new_targets(self, columns: int) -> Centre:
        if columns > 1 and not self._several_targets:
            raise ValueError(
                f"y has {columns} targets for each row; {type(self).__name__} learns one. Use "
                f"sklearn.multioutput.MultiOutputRegressor({type(self).__name__}())"
            )
        return self._make_centre().for_targets(columns)

    def _restored_targets(self, node: Node) -> Centre:
        centre = Centre.of_record(node["centre"])
        if centre.outputs != self._learner.outputs:
            raise ModelFileError(
                f"{node.place}: centring wants {centre.outputs} outputs, the learner has {self._learner.outputs}"
            )
        return centre

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags

    def scores(self, X: MatrixLike) -> Array:
        """What `learn` would return for these rows now, (n,): 0 before the first row; nothing is learned."""
        return self.predict(X) if self._is_taught else np.zeros(row_count(X))

    def predict(self, X: MatrixLike) -> Array:
        """The target of each row, (n,), or (n, k) if k targets were learned."""
        blocks = self._read_blocks(X, lambda f: self._targets.scores(f))
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
