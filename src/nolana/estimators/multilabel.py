"""Several labels at once: y (n, k) of 0 and 1, k >= 2, as scikit-learn has multi-label classification.

Each label has a learner of its own of the classes 0 and 1, and they share the memory (`nolana.learner.targets`), as
several targets of a regression do. Scores are log-odds, a column for each label; the prediction is 1 where they are
positive. Conventions are those of ``MLPClassifier``: ``classes_`` are the numbers of the columns, ``predict_proba`` is
(n, k), and ``score`` is the share of rows of which all labels are right.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.estimators.calibration import from_half, sigmoid
from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.edge import Learner
from nolana.estimators.labels import LearnedLabels, check_announced, check_classes
from nolana.estimators.targets import CheckedRows, Targets
from nolana.learner.merge import Alignment
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


class SeveralLabels(Targets):
    """Rows of so many labels of 0 or 1 each."""

    def __init__(self, count: int) -> None:
        self.count = count

    @property
    def outputs(self) -> int:
        return self.count

    @property
    def classes(self) -> NDArray[np.generic]:
        return np.arange(self.count)

    def check_classes(self, classes: ArrayLike | None) -> NDArray[np.generic] | None:
        return check_classes(classes, None)

    def announce(self, labels: NDArray[np.generic]) -> None:
        """There are no other labels."""

    def check(self, y: object, rows: int, announced: NDArray[np.generic] | None = None) -> NDArray[np.generic]:
        """Labels (n, k)."""
        values = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        found = values.shape[1] if values.ndim == 2 else 1
        if found != self.count:
            raise ValueError(f"y has {found} labels for each row, but this model has learned {self.count}")
        if len(values) != rows:
            raise ValueError(f"X has {rows} rows but y has {len(values)} labels: inconsistent numbers of samples")
        legal = (values == 0) | (values == 1)
        if not legal.all():
            row, column = (int(place) for place in np.argwhere(~legal)[0])
            raise ValueError(
                f"y has {found} columns, which is multi-label classification, of 0 and 1; at row {row}, column "
                f"{column} it holds {values[row, column]!r}. Learn columns of more classes one by one. Unknown label "
                "type: multioutput"
            )
        labels = values.astype(np.int64)
        check_announced(labels, announced)
        return labels

    def learn(self, learner: Learner, rows: CheckedRows, class_weight: ClassWeight) -> LearnedLabels:
        targets = 2.0 * rows.y.astype(np.float64) - 1
        learned = np.ones(len(targets)) if rows.weights is None else np.asarray(rows.weights > 0, dtype=np.float64)
        before, scores = learner.rows + np.cumsum(learned) - learned, np.empty(targets.shape)
        for block, x, weight in rows.blocks(learner):
            with learner.lock:
                scores[block] = self.scores(learner.learn(x, targets[block], weight))
        return LearnedLabels(scores, self.classes, scores, before)

    def scores(self, f: Array, class_weight: ClassWeight = None, missing: float = -np.inf) -> Array:
        """Log-odds of 1, (n, k)."""
        return 2 * f

    def decision(self, scores: Array) -> Array:
        """The scores."""
        return scores

    def predicted(self, classes: NDArray[np.generic], scores: Array) -> NDArray[np.generic]:
        """0 or 1 for each label, (n, k)."""
        return (scores > 0).astype(np.int64)

    def right(self, predicted: NDArray[np.generic], y: ArrayLike) -> NDArray[np.bool_]:
        """Whether all labels of a row are predicted."""
        return np.asarray((predicted == self.check(y, len(predicted))).all(axis=1))

    def probabilities(self, learner: Learner, f: Array, class_weight: ClassWeight) -> Array:
        """Of 1 now, (n, k)."""
        return from_half(sigmoid(self.scores(f)), float(learner.rows))

    def probabilities_before(self, learned: LearnedLabels) -> Array:
        """Of 1 before each row was learned, (n, k)."""
        return from_half(sigmoid(learned.scores), learned.before[:, None])

    def merged(self, learner: Learner, parts: Sequence[Self], rows: list[int]) -> tuple[Self, list[Alignment]]:
        return self, [Alignment()] * (1 + len(parts))

    def record(self) -> dict[str, Tree]:
        return {}  # the learner says it all
