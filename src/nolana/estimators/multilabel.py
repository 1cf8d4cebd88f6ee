"""Several labels at once: y (n, k) of 0 and 1, k >= 2, as scikit-learn has multi-label classification.

Each label has a learner of its own of the classes 0 and 1, and they share the memory (`nolana.learner.targets`), as
several targets of a regression do. Scores are log-odds, a column for each label; the prediction is 1 where they are
positive. Conventions are those of ``MLPClassifier``: ``classes_`` are the numbers of the columns, ``predict_proba`` is
(n, k), and ``score`` is the share of rows of which all labels are right.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.estimators.base import parameters
from nolana.estimators.class_weights import WeightedClassifier
from nolana.estimators.classification import LearnedRows, OnlineClassifier
from nolana.estimators.edge import blocks_for, check_weights
from nolana.estimators.labels import Labels
from nolana.learner.rows import Matrix, MatrixLike
from nolana.learner.targets import TargetsLearner
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


def is_indicator(y: Any) -> bool:
    """Whether y has several columns."""
    if isinstance(y, list | tuple):
        return bool(y) and isinstance(y[0], list | tuple | np.ndarray) and len(y[0]) > 1
    return bool(getattr(y, "ndim", 1) == 2 and y.shape[1] > 1)


def check_indicator(y: Any, rows: int, labels: int | None) -> NDArray[np.int64]:
    """y (n, k) of 0 and 1; `labels` is k if it is known."""
    values = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    found = values.shape[1] if values.ndim == 2 else 1
    if labels is not None and found != labels:
        raise ValueError(f"y has {found} labels for each row, but this model has learned {labels}")
    if values.ndim != 2:
        raise ValueError(f"y has shape {values.shape}, expected a row of 0 and 1 for each row of X")
    if len(values) != rows:
        raise ValueError(f"X has {rows} rows but y has {len(values)} labels: inconsistent numbers of samples")
    legal = (values == 0) | (values == 1)
    if not legal.all():
        row, column = (int(place) for place in np.argwhere(~legal)[0])
        raise ValueError(
            f"y has {found} columns, which is multi-label classification, of 0 and 1; at row {row}, column {column} it "
            f"holds {values[row, column]!r}. Learn columns of more classes one by one. Unknown label type: multioutput"
        )
    return values.astype(np.int64)


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)); 1/2 if z is NaN."""
    return np.asarray(np.where(np.isnan(z), 0.5, 0.5 * (1 + np.tanh(0.5 * z))))


@parameters
class MultiLabelClassifier(WeightedClassifier):
    """A classifier that takes one label of a row, or several as a row of 0 and 1."""

    def _make_labels_learner(self, x: Matrix, labels: int) -> TargetsLearner:
        raise NotImplementedError

    @property
    def multilabel_(self) -> bool:
        """Whether rows have several labels."""
        return isinstance(self._read(), TargetsLearner)

    @property
    def _several(self) -> bool:
        """`multilabel_`, also before the first row."""
        return isinstance(self.__dict__.get("_learner"), TargetsLearner)

    # Learning

    def _check_labels(self, y: Any, rows: int, known: NDArray[np.generic] | None) -> NDArray[np.generic]:
        if self._several:
            return check_indicator(y, rows, self._learner.outputs)
        if is_indicator(y) and "_learner" not in self.__dict__:
            if self.class_weight is not None:
                raise ValueError("class_weight has no meaning for y of several labels; leave it None")
            return check_indicator(y, rows, None)
        return super()._check_labels(y, rows, known)

    def _begin(self, x: Matrix, labels: NDArray[np.generic]) -> None:
        if labels.ndim == 1:
            return super()._begin(x, labels)
        self._learner, self._labels, self._calibration = self._make_labels_learner(x, labels.shape[1]), Labels(), None
        self.classes_ = np.arange(labels.shape[1])
        return None

    def _publish(self) -> None:
        if not self._several:
            super()._publish()

    def _learn_one(self, x: MatrixLike, y: Any) -> Array | None:
        return None if self._several else super()._learn_one(x, y)

    def _learn_checked(
        self, x: Matrix, labels: NDArray[np.generic], announced: NDArray[np.generic] | None, weights: Array | None
    ) -> LearnedRows:
        if labels.ndim == 1:
            return super()._learn_checked(x, labels, announced, weights)
        learner, targets = self._learner, 2.0 * labels.astype(np.float64) - 1
        learned = np.ones(len(labels)) if weights is None else np.asarray(weights > 0, dtype=np.float64)
        before, scores = learner.rows + np.cumsum(learned) - learned, np.empty(targets.shape)
        for rows, part in blocks_for(learner, x):
            with learner.lock:
                f = learner.learn(part, targets[rows], None if weights is None else weights[rows])
                scores[rows] = 2 * f
        return LearnedRows(scores, scores, before)

    # Files

    def _fitted_record(self) -> dict[str, Tree]:
        return super(OnlineClassifier, self)._fitted_record() if self._several else super()._fitted_record()

    def _restore_fitted(self, node: Node) -> None:
        if not self._several:
            return super()._restore_fitted(node)
        super(OnlineClassifier, self)._restore_fitted(node)
        self._labels, self._calibration, self.classes_ = Labels(), None, np.arange(self._learner.outputs)
        return None

    # Reading

    def _column_scores(self, X: MatrixLike, missing: float = -np.inf) -> tuple[NDArray[np.generic], Array]:
        if not self._several:
            return super()._column_scores(X, missing)
        return self.classes_, 2 * np.concatenate(self._read_blocks(X, lambda f: f))

    def decision_function(self, X: MatrixLike) -> Array:
        """Two classes: (n,), positive for ``classes_[1]``; more, or several labels: (n, classes)."""
        return self._column_scores(X)[1] if self._several else super().decision_function(X)

    def predict(self, X: MatrixLike) -> NDArray[np.generic]:
        """The class of the largest score; of several labels 0 or 1 for each, (n, k)."""
        return (self._column_scores(X)[1] > 0).astype(np.int64) if self._several else super().predict(X)

    def predict_proba(self, X: MatrixLike) -> Array:
        """Probabilities (n, classes) that begin uniform; of several labels (n, k), that of each.

        After t rows 1/(t + 1) of them is spread evenly over the classes (`from_uniform_start`): a class that was
        announced and never seen has a small probability, and a class alone 1.
        """
        if not self._several:
            return super().predict_proba(X)
        return from_half(sigmoid(self._column_scores(X)[1]), float(self._learner.rows))

    def _probabilities(self, learned: LearnedRows) -> Array:
        if not self._several:
            return super()._probabilities(learned)
        return from_half(sigmoid(learned.scores), learned.before[:, None])

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows, by weight, whose label is predicted, or all labels of which are."""
        if not self._several:
            return super().score(X, y, sample_weight)
        predicted = self.predict(X)
        right = (predicted == check_indicator(y, len(predicted), self._learner.outputs)).all(axis=1)
        return float(np.average(right, weights=check_weights(sample_weight, len(predicted))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def from_half(model: Array, rows: Array | float) -> Array:
    """Probabilities of 1 that begin at 1/2, after so many rows; as `from_uniform_start` of two classes."""
    return np.asarray((rows * model + 0.5) / (rows + 1))
