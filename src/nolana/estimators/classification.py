"""Classification of a stream, whatever learner is inside: labels in, scores by column out."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.engine.learner.losses import Loss
from nolana.errors import ModelFileError
from nolana.estimators._sklearn import ClassifierMixin, available_if
from nolana.estimators.base import OnlinePredictor, alternate_rows
from nolana.estimators.calibration import OnlineCalibration, from_uniform_start, log_odds_of, softmax
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
from nolana.estimators.labels import Labels, aligned, check_labels
from nolana.learner.rows import Matrix, MatrixLike, SparseRows
from nolana.modelfile.node import Node
from nolana.modelfile.specs import labels
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


def is_probabilistic(estimator: "OnlineClassifier") -> bool:
    """Whether the learner or its loss makes scores log-odds."""
    loss = labels(Loss).get(str(getattr(estimator, "loss", None)))
    return bool(estimator._scores_log_odds or (loss is not None and loss.probabilistic))


FAST_CLASSES = 32  # up to so many the targets of single rows are cached


@dataclass(frozen=True)
class LearnedRows:
    """Rows as they were before they were learned, by column."""

    scores: Array  # (n, classes), -inf where a class had no output
    log_odds: Array  # (n, classes), calibrated; the scores themselves where these are log-odds
    before: Array  # (n,), rows learned before
    shift: Array | None = None  # (n, classes), log weights of the classes that the model has learned with the odds
    new: tuple[tuple[int, int], ...] = ()  # column and first row of classes that were neither announced nor seen

    def known(self) -> NDArray[np.bool_]:  # (n, classes)
        """Whether a class was announced before the row, or came with a row before it."""
        known = np.ones(self.scores.shape, dtype=bool)
        nothing = int(np.searchsorted(self.before, 1.0))  # rows of a model that has learned nothing
        for column, first in self.new:
            known[: max(first + 1, nothing), column] = False
        return known


class OnlineClassifier(ClassifierMixin, OnlinePredictor):  # type: ignore[misc]
    """A classifier that learns row by row; classes may appear at any row."""

    classes_: NDArray[np.generic]
    _labels: Labels
    _targets: dict[Hashable, Array]  # of single rows, by label
    _two: list[float]  # signs of the columns of two classes
    _calibration: OnlineCalibration | None  # None: the scores are log-odds
    _scores_log_odds: ClassVar[bool] = False

    # Learning

    def learn(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Score each row, then learn it; returns the scores (n, classes known at the end), by sorted ``classes_``.

        -inf where a class was not yet known at that row. For two classes the columns are -f and f. Without y the rows
        have no labels: only what needs none learns them (scaling, recent rows), which is what ``novelty`` asks.
        """
        if classes is None and sample_weight is None:
            scores = self._learn_one(X, y)
            if scores is not None:
                self._after_learning()
                return scores
        if y is None and self._takes_unlabelled:
            found = self._learn_unlabelled(X, classes=classes, sample_weight=sample_weight)
            if not self._is_taught:
                return np.full((row_count(X), len(self.__dict__.get("classes_", ()))), -np.inf)
            with self._learner.lock:
                return np.concatenate(
                    [np.zeros((0, len(self.classes_))), *(self._by_column(f, -np.inf) for f in found)]
                )
        with self._all_or_nothing() as first:
            return self._learn_many(X, y, classes, sample_weight, first).scores

    def learn_proba(
        self, X: MatrixLike, y: ArrayLike, *, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """`learn` that also returns the probabilities (n, classes) of each row before it was learned.

        0 where a class was neither announced nor seen before that row; else as in ``predict_proba``.
        """
        with self._all_or_nothing() as first:
            learned = self._learn_many(X, y, classes, sample_weight, first)
        return learned.scores, self._probabilities(learned)

    def learn_late_proba(
        self,
        X: NDArray[np.generic],
        late_X: NDArray[np.generic],
        late_y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """`learn_late` that also returns the probabilities (n, classes) of each row of `X`."""
        with self._all_or_nothing() as first:
            both = self._rows_of_both(X, late_X)
            rows, labels, weights = alternate_rows(*both, late_y, sample_weight)
            learned = self._learn_many(rows, labels, None, weights, first)
        return learned.scores[::2], self._probabilities(learned)[::2]

    def _learn_weighted(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Array:
        with self._all_or_nothing() as first:
            return self._learn_many(X, y, None, sample_weight, first).scores

    def _learn_many(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        first: bool,
    ) -> LearnedRows:
        """The general path: everything is checked, then everything is learned."""
        if is_empty(X):
            return self._learn_nothing(X, y, classes, sample_weight, first)
        known = Labels() if first else self._labels
        x = check_features(self, X, self._largest(), reset=first)
        announced = None
        if classes is not None:
            announced = np.unique(check_labels(classes, row_count(classes), known.classes, "classes"))
        targets = self._check_labels(y, x.shape[0], announced if known.classes is None else known.classes)
        weights = check_weights(sample_weight, x.shape[0])
        if announced is not None:
            legal = {*announced.tolist(), *known.column}
            outside = [label for label in np.unique(targets).tolist() if label not in legal]
            if outside:
                raise ValueError(f"y holds labels {outside[:5]} that are not in classes")
        if first:
            self._begin(x, targets)
        return self._learn_checked(x, targets, announced, weights)

    def _learn_nothing(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        first: bool,
    ) -> LearnedRows:
        """A block without rows: scores (0, classes); `classes` are announced, nothing else changes."""
        check_no_rows(y=y, sample_weight=sample_weight)
        if first and classes is None:
            return LearnedRows(np.empty((0, 0)), np.empty((0, 0)), np.empty(0))
        x = check_features(self, X, self._largest(), reset=first, empty=True)
        if classes is not None:
            known = None if first else self._labels.classes
            announced = np.unique(check_labels(classes, row_count(classes), known, "classes"))
            if first:
                self._begin(x, announced)
            with self._learner.lock:
                if self._labels.announce(announced):
                    self._publish()
        none = np.empty((0, len(self.classes_)))
        return LearnedRows(none, none, np.empty(0))

    def _check_labels(self, y: Any, rows: int, known: NDArray[np.generic] | None) -> NDArray[np.generic]:
        """`check_labels`."""
        return check_labels(y, rows, known)

    def _begin_unlabelled(self, x: Matrix) -> None:
        self._begin(x, np.zeros(0))
        self._targets, self._two = {}, []

    def _begin(self, x: Matrix, labels: NDArray[np.generic]) -> None:
        """Before the first row; `labels` are those of the first rows, or announced."""
        self._learner, self._labels = self._make_learner_for(x, 1), Labels()
        self._calibration = None if is_probabilistic(self) else OnlineCalibration()

    def _learn_one(self, x: MatrixLike, y: Any) -> Array | None:
        """The fast path: one row of float64 whose label is known. None where it does not apply."""
        if not is_plain(x) or len(x) != 1 or not self._takes_plain_rows(x):
            return None
        if isinstance(y, str | bytes):
            return None
        try:
            (label,) = y
            target = self._targets[label]
        except (TypeError, ValueError, KeyError):
            return None
        check_values(x, self._learner.largest, nan=self._takes_missing)
        with self._learner.lock:
            f = self._learner.learn(x, target)
            if self._calibration is not None:
                self._calibration.observe(f, target)
            return self._one_by_column(f, -np.inf)

    def _one_by_column(self, f: Array, missing: float) -> Array:  # (1, c) -> (1, classes)
        """`Labels.by_column` for one row, without a search where there are two classes."""
        if len(self._two) == 2:
            value = f[0, 0]
            return np.array(((value * self._two[0], value * self._two[1]),))
        return self._labels.by_column(f, missing)

    def _learn_checked(
        self, x: Matrix, labels: NDArray[np.generic], announced: NDArray[np.generic] | None, weights: Array | None
    ) -> LearnedRows:
        """Learn checked rows. Only more classes than the learner can have are refused."""
        learner, known = self._learner, self._labels
        with learner.lock:
            distinct, codes = known.coded(labels)
            new = sum(label not in known.position for label in distinct.tolist())
            if new and known.seen + new > 2:
                learner.check_outputs(known.seen + new)
            announces = announced is not None and known.announce(announced)
            earlier = set(known.column)
            if known.announce(distinct) or announces:
                self._publish()
        parts: list[tuple[NDArray[np.generic], LearnedRows]] = []
        for rows, part in blocks_for(learner, x):
            weight = None if weights is None else weights[rows]
            with learner.lock:
                parts.append((self.classes_, self._learn_block(part, distinct.tolist(), codes[rows], weight)))
        classes, scores = aligned([(own, block.scores) for own, block in parts], -np.inf)
        _, log_odds = aligned([(own, block.log_odds) for own, block in parts], -np.inf)
        fresh = [code for code, label in enumerate(distinct.tolist()) if label not in earlier]
        first = tuple((int(np.searchsorted(classes, distinct[c])), int(np.argmax(codes == c))) for c in fresh)
        before = np.concatenate([block.before for _, block in parts])
        shifts = [(own, block.shift) for own, block in parts if block.shift is not None]
        return LearnedRows(scores, log_odds, before, aligned(shifts, 0.0)[1] if shifts else None, first)

    def _learn_block(
        self, x: Array | SparseRows, distinct: list[Hashable], codes: NDArray[np.intp], *weights: Array | None
    ) -> LearnedRows:
        """A block under the lock, cut where a class is seen for the first time; row i has label distinct[codes[i]].

        weights: (n,) each, arguments of the learner; a row that has a weight of 0 is not learned.
        """
        learner, known = self._learner, self._labels
        assert known.classes is not None
        out = np.empty((len(x), len(known.classes)))
        log_odds = out if self._calibration is None else np.empty_like(out)
        taught = codes
        for weight in weights:
            taught = taught if weight is None else np.where(weight > 0, taught, -1)
        before = learner.labelled + np.cumsum(taught >= 0, dtype=np.float64) - (taught >= 0)
        position = np.array([known.position.get(label, -1) for label in distinct], dtype=np.intp)
        some, first = np.unique(taught, return_index=True)
        new_at = {
            row: code
            for row, code in zip(first.tolist(), some.tolist(), strict=True)
            if code >= 0 and position[code] < 0
        }
        cuts = sorted({0, *new_at, len(x)})
        for start, stop in pairwise(cuts):
            if start in new_at:
                change = known.see(distinct[new_at[start]])
                position[new_at[start]] = known.seen - 1
                if change is not None:
                    learner.rearrange_outputs(*change)
                self._publish()
            rows = slice(start, stop)
            positions = np.maximum(position[codes[rows]], 0)
            own = [None if weight is None else weight[rows] for weight in weights]
            targets = known.targets(positions)
            f = learner.learn(x[rows], targets, *own)
            out[rows] = known.by_column(f, -np.inf)
            if self._calibration is not None:
                logits = self._calibration.observe(f, targets, own[0])
                log_odds[rows] = known.by_column(log_odds_of(logits), -np.inf)
            if start in new_at:
                column = known.column[distinct[new_at[start]]]
                out[start, column] = log_odds[start, column] = -np.inf
        return LearnedRows(out, log_odds, before)

    def _publish(self) -> None:
        """What the fast path and the user read, made anew when a class becomes known."""
        known = self._labels
        assert known.classes is not None
        self.classes_ = known.classes
        ready = known.seen == len(known.classes) <= FAST_CLASSES
        targets = known.targets(np.arange(known.seen)) if ready else np.zeros((0, 1))
        self._targets = {label: targets[i : i + 1] for label, i in known.position.items()} if ready else {}
        two = known.seen == 2 and len(known.classes) == 2
        self._two = known.by_column(np.ones((1, 1)), -np.inf)[0].tolist() if two else []

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in `max_iter` passes; a refused fit changes nothing."""
        with self._all_or_nothing(replacing=True):
            self._check_parameters()
            self._passes(1)
            self._forget()
            x = check_features(self, X, self._largest(), reset=True)
            labels = self._check_labels(y, x.shape[0], None)
            weights = check_weights(sample_weight, x.shape[0])
            check_any_weight(weights)
            self._begin(x, labels)
            self._learner.take_any_order()
            for order in self._epochs(x.shape[0]):
                weight = None if weights is None else weights[order]
                self._learn_checked(x[order], labels[order], np.unique(labels), weight)
        return self

    # Files

    def _fitted_record(self) -> dict[str, Tree]:
        record = super()._fitted_record() | self._labels.record()
        return record if self._calibration is None else record | {"calibration": self._calibration.record()}

    def _restore_fitted(self, node: Node) -> None:
        super()._restore_fitted(node)
        self._labels = Labels.of_record(node)
        if self._labels.outputs != self._learner.outputs:
            raise ModelFileError(f"{node.place}: {self._labels.seen} classes, but {self._learner.outputs} outputs")
        if (self._labels.seen > 0) != (self._learner.labelled > 0):
            raise ModelFileError(
                f"{node.place}: {self._labels.seen} classes, {self._learner.labelled} rows with labels"
            )
        if self._labels.classes is None:  # rows without labels alone
            self._targets, self._two = {}, []
        else:
            self._publish()
        self._calibration = None if is_probabilistic(self) else OnlineCalibration()
        if self._calibration is not None and "calibration" in node.entries():  # files of v0.1 have none
            self._calibration = OnlineCalibration.of_record(node["calibration"])

    # Reading

    def _column_scores(self, X: MatrixLike, missing: float = -np.inf) -> tuple[NDArray[np.generic], Array]:
        """The classes, and (n, classes) with `missing` for those that were announced but never seen."""
        return aligned(self._read_blocks(X, lambda f: (self.classes_, self._by_column(f, missing))), missing)

    def _by_column(self, f: Array, missing: float) -> Array:  # (n, outputs) -> (n, classes)
        """Scores by which the class is chosen."""
        return self._labels.by_column(f, missing)

    def _learned_shift(self) -> Array | None:  # (classes,)
        """Log weights of the classes that the model has learned with the odds; None without any."""
        return None

    def scores(self, X: MatrixLike) -> Array:
        """What `learn` would return for these rows now, (n, classes), -inf for unknown classes; nothing is learned."""
        if not self._is_taught:
            return np.full((row_count(X), len(self.__dict__.get("classes_", ()))), -np.inf)
        return self._column_scores(X)[1]

    def scores_proba(self, X: MatrixLike) -> tuple[Array, Array]:
        """`scores`, and the probabilities (n, classes) of these rows now, as of ``predict_proba``."""
        scores = self.scores(X)
        return scores, self.predict_proba(X) if self._is_taught else np.zeros(scores.shape)

    def decision_function(self, X: MatrixLike) -> Array:
        """Two classes: (n,), positive for ``classes_[1]``; more: (n, classes), -inf for those never seen."""
        _, scores = self._column_scores(X)
        if scores.shape[1] > 2:
            return scores
        if scores.shape[1] == 1 or np.isinf(scores).any():  # one class seen: its side of the line
            side = 1.0 if scores.shape[1] == 1 or np.isinf(scores[0, 0]) else -1.0
            return np.full(len(scores), side)
        return np.ascontiguousarray(scores[:, 1])

    def predict(self, X: MatrixLike) -> NDArray[np.generic]:
        """The class of the largest score."""
        f = self._score_one(X)
        if f is not None:
            column = int(self._one_by_column(f, -np.inf).argmax())
            return self.classes_[column : column + 1].copy()
        classes, scores = self._column_scores(X)
        return np.asarray(classes[scores.argmax(axis=1)])

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows, by weight, whose label is predicted."""
        predicted = self.predict(X)
        truth = check_labels(y, len(predicted), self.classes_)
        weights = check_weights(sample_weight, len(predicted))
        return float(np.average(predicted == truth, weights=weights))

    def predict_proba(self, X: MatrixLike) -> Array:
        """Probabilities (n, classes) that begin uniform: those of the loss if it has any, else calibrated.

        After t rows 1/(t + 1) of them is spread evenly over the classes (`from_uniform_start`): a class that was
        announced and never seen has a small probability, and a class alone 1.
        """
        f = self._score_one(X)
        if f is not None:
            return self._proba(f, self._one_by_column)
        return aligned(self._read_blocks(X, lambda f: (self.classes_, self._proba(f, self._labels.by_column))), 0.0)[1]

    def _proba(self, f: Array, by_column: Callable[[Array, float], Array]) -> Array:  # (n, outputs) -> (n, classes)
        """`predict_proba` from scores."""
        if self._calibration is None:
            odds = by_column(f, -np.inf)
            odds = np.where(np.isnan(odds), 0.0, odds)  # diverged: undecided
        else:
            odds = by_column(self._calibration.log_odds(f), -np.inf)
        shares = self._shares(odds, self._learned_shift())
        return from_uniform_start(shares, np.ones(odds.shape, dtype=bool), self._learner.labelled)

    def _shares(self, log_odds: Array, shift: Array | None) -> Array:  # (n, classes), (n, classes) -> (n, classes)
        """The model's own probabilities, without the weights of the classes that it has learned."""
        if self._calibration is not None:  # by the rows as they are
            return softmax(log_odds)
        shares = np.asarray(self.probabilities(log_odds))
        if shift is None:
            return shares
        odds = shares * np.exp(-shift)
        total = np.add.accumulate(odds, axis=1)[:, -1:]
        return np.where(total > 0, odds / np.where(total > 0, total, 1.0), shares)

    def _probabilities(self, learned: LearnedRows) -> Array:  # -> (n, classes)
        """Of what `_learn_many` returns."""
        if not len(learned.before):  # perhaps before the first row, without a learner
            return np.empty(learned.scores.shape)
        return from_uniform_start(self._shares(learned.log_odds, learned.shift), learned.known(), learned.before)

    def predict_log_proba(self, X: MatrixLike) -> Array:
        """The logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(is_probabilistic)  # type: ignore[untyped-decorator]
    def probabilities(self, scores: Array) -> Array:
        """What `scores` (n, classes), as `learn` returns them, mean by themselves; with the logistic loss only.

        ``predict_proba`` and ``learn_proba`` also know how many rows were learned, and begin uniform.

        1 / (1 + exp(-score)), over their sum; 0 for a class that was not known. Rows where none was known are all 0.
        """
        known = ~(np.isnan(scores) | np.isneginf(scores))
        odds = np.where(known, 0.5 * (1 + np.tanh(0.5 * np.where(known, scores, 0.0))), 0.0)
        total = np.add.accumulate(odds, axis=1)[:, -1:]  # in order: a class yet to come changes no bit of it
        even = known / np.maximum(1, known.sum(axis=1, keepdims=True))
        return np.where(total > 0, odds / np.where(total > 0, total, 1.0), even)
