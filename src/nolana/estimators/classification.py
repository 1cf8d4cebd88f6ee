"""Classification of a stream, whatever learner is inside."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.engine.learner.losses import Loss
from nolana.estimators._sklearn import ClassifierMixin, available_if
from nolana.estimators.base import OnlinePredictor
from nolana.estimators.calibration import one_against_rest
from nolana.estimators.class_weights import class_weight_of
from nolana.estimators.edge import check_weights, row_count
from nolana.estimators.labels import LearnedLabels, aligned
from nolana.estimators.multilabel import SeveralLabels
from nolana.estimators.one_label import OneLabel
from nolana.estimators.targets import LearnedRows
from nolana.learner.rows import MatrixLike
from nolana.learner.targets import TargetsLearner
from nolana.modelfile.node import Node
from nolana.modelfile.specs import labels

if TYPE_CHECKING:
    from sklearn.utils import Tags

Array = NDArray[np.float64]


def is_probabilistic(estimator: "OnlineClassifier") -> bool:
    """Whether the learner or its loss makes scores log-odds."""
    loss = labels(Loss).get(str(getattr(estimator, "loss", None)))
    return bool(estimator._scores_log_odds or (loss is not None and loss.probabilistic))


class OnlineClassifier(ClassifierMixin, OnlinePredictor):  # type: ignore[misc]
    """A classifier that learns row by row; classes may appear at any row."""

    _targets: OneLabel | SeveralLabels
    _scores_log_odds: ClassVar[bool] = False
    _several_labels: ClassVar[bool] = False  # whether y may be (n, k) of 0 and 1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        class_weight_of(self._class_weight)

    def _new_targets(self, columns: int) -> OneLabel | SeveralLabels:
        if columns == 1 or not self._several_labels:
            return OneLabel(self._scores_log_odds, calibrated=not is_probabilistic(self))
        if self._class_weight is not None:
            raise ValueError("class_weight has no meaning for y of several labels; leave it None")
        return SeveralLabels(columns)

    def _restored_targets(self, node: Node) -> OneLabel | SeveralLabels:
        if isinstance(self._learner, TargetsLearner):
            return SeveralLabels(self._learner.outputs)
        targets = OneLabel(self._scores_log_odds, calibrated=not is_probabilistic(self))
        targets.restore(node, self._learner)
        return targets

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._several_labels
        return tags

    # Learning

    def learn_proba(
        self, X: MatrixLike, y: ArrayLike, *, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """`learn` that also returns the probabilities (n, classes) of each row before it was learned.

        0 where a class was neither announced nor seen before that row; else as in ``predict_proba``.
        """
        learned = self._learn_many(X, y, classes, sample_weight)
        return learned.scores, self._probabilities_before(learned)

    def learn_late_proba(
        self,
        X: NDArray[np.generic],
        late_X: NDArray[np.generic],
        late_y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """`learn_late` that also returns the probabilities (n, classes) of each row of `X`."""
        learned = self._learn_late(X, late_X, late_y, sample_weight)
        return learned.scores[::2], self._probabilities_before(learned)[::2]

    def _probabilities_before(self, learned: LearnedRows) -> Array:
        if not isinstance(learned, LearnedLabels):  # a block without rows
            return np.empty(learned.scores.shape)
        return self._targets.probabilities_before(learned)

    # Reading

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The classes that were announced or seen, sorted; of several labels the numbers of the columns of y."""
        targets = self.__dict__.get("_targets")
        if targets is None or targets.classes is None:
            raise AttributeError(f"this {type(self).__name__} knows no classes yet")
        known: NDArray[np.generic] = targets.classes
        return known

    def _seen_classes(self) -> list[Any]:
        return list(self._targets.labels.position) if isinstance(self._targets, OneLabel) else []

    def _column_scores(self, X: MatrixLike) -> tuple[NDArray[np.generic], Array]:
        """The classes, and (n, classes) with -inf for those that were announced but never seen."""
        read = self._read_blocks(X, lambda f: (self.classes_, self._targets.scores(f, self._class_weight)))
        return aligned(read, -np.inf)

    def scores(self, X: MatrixLike) -> Array:
        """What `learn` would return for these rows now, (n, classes), -inf for unknown classes; nothing is learned."""
        if not self._is_taught:
            return np.full((row_count(X), len(getattr(self, "classes_", ()))), -np.inf)
        return self._column_scores(X)[1]

    def scores_proba(self, X: MatrixLike) -> tuple[Array, Array]:
        """`scores`, and the probabilities (n, classes) of these rows now, as of ``predict_proba``."""
        scores = self.scores(X)
        return scores, self.predict_proba(X) if self._is_taught else np.zeros(scores.shape)

    def decision_function(self, X: MatrixLike) -> Array:
        """Two classes: (n,), positive for ``classes_[1]``; more, or several labels: (n, classes).

        -inf for classes that were never seen.
        """
        _, scores = self._column_scores(X)
        return self._targets.decision(scores)

    def predict(self, X: MatrixLike) -> NDArray[np.generic]:
        """The class of the largest score; of several labels 0 or 1 for each, (n, k)."""
        classes, scores = self._column_scores(X)
        return self._targets.predicted(classes, scores)

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows, by weight, whose label is predicted, or all labels of which are.

        Rows without weight have none: ValueError, as in scikit-learn.
        """
        predicted = self.predict(X)
        weights = check_weights(sample_weight, len(predicted))
        if not len(predicted) or not (weights is None or weights.any()):
            raise ValueError("there is no row to score: X has 0 rows, or sample_weight is zero for every row")
        return float(np.average(self._targets.right(predicted, y), weights=weights))

    def predict_proba(self, X: MatrixLike) -> Array:
        """Probabilities (n, classes) that begin uniform: those of the loss if it has any, else calibrated.

        After t rows 1/(t + 1) of them is spread evenly over the classes (`from_uniform_start`): a class that was
        announced and never seen has a small probability, and a class alone 1. Of several labels (n, k), that of each.
        """
        read = self._read_blocks(
            X, lambda f: (self.classes_, self._targets.probabilities(self._learner, f, self._class_weight))
        )
        return aligned(read, 0.0)[1]

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
        return one_against_rest(scores)
