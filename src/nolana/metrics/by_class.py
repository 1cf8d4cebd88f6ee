"""Accuracy, precision, recall and F1 by class, and kappa: errors of one class against the others."""

import math
from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import LabelIndex, Labels, State
from nolana.metrics.metric import RunningMetric, running_sums
from nolana.metrics.predictions import Predictions

__all__ = ["F1", "BalancedAccuracy", "F1Macro", "F1Micro", "Kappa", "Precision", "Recall"]

Array = NDArray[np.float64]


class ClassSums(RunningMetric):
    """Weights of the hits, of the rows and, if the metric needs them, of the predictions of each class."""

    in_per_cent = True
    sums: ClassVar[int] = 3
    takes_several: ClassVar[bool] = False  # labels of a row

    def __init__(self) -> None:
        self._index = LabelIndex()
        self._sums: Array = np.zeros((self.sums, 0))

    def _columns(self, labels: Labels) -> NDArray[np.intp]:
        """The column of each label in the sums; a new label gets one of zeros."""
        columns = self._index.columns(labels)
        if len(self._index) > self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, len(self._index) - self._sums.shape[1])))
        return columns

    def update(self, rows: Predictions) -> None:
        rows.need_classes(self.name, several=self.takes_several)
        if rows.multilabel:
            return self._update_labels(rows)
        # Labels get their columns and add.at adds row by row, so neither depends on the blocks.
        if self.sums == 3:
            known = rows.known
            pairs = np.stack([rows.truth, np.where(known, rows.predicted, rows.truth)], axis=1)
            truth, predicted = self._columns(pairs.ravel()).reshape(-1, 2).T
            np.add.at(self._sums[2], predicted[known], rows.weights[known])
        else:
            truth = self._columns(rows.truth)
        np.add.at(self._sums[0], truth, np.where(rows.hits, rows.weights, 0.0))
        np.add.at(self._sums[1], truth, rows.weights)
        return None

    def _update_labels(self, rows: Predictions) -> None:
        """Several labels of a row: a column for each."""
        assert rows.classes is not None
        columns = self._columns(rows.classes)
        truth, predicted = rows.truth.astype(bool), rows.predicted.astype(bool)
        for i, counted in enumerate((truth & predicted, truth, predicted)):
            self._sums[i, columns] = running_sums(self._sums[i, columns], counted * rows.weights[:, None])

    def state(self) -> State:
        return {"labels": self._index.labels.tolist(), "sums": self._sums.copy()}

    def restore(self, state: State) -> None:
        labels, sums = state["labels"], np.array(state["sums"], dtype=np.float64)
        if sums.shape != (self.sums, len(labels)):
            raise ValueError(f"the state of {self.name}: sums must be {self.sums, len(labels)}, got {sums.shape}")
        self._index, self._sums = LabelIndex(np.array(labels)), sums

    def merge(self, other: Self) -> None:
        columns = self._columns(other._index.labels)
        self._sums[:, columns] += other._sums


class BalancedAccuracy(ClassSums):
    """The mean over the classes of the share of their rows that was predicted correctly.

    The first row of a class cannot be predicted and is an error of that class. Two numbers are stored for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import BalancedAccuracy, Predictions
    >>> metric = BalancedAccuracy()
    >>> truth, scores = np.array([0, 0, 0, 1]), np.array([[1.0, -1.0]] * 4)
    >>> metric.update(Predictions(truth, scores, classes=np.array([0, 1])))
    >>> metric.value()
    0.5
    """

    name = "balanced_accuracy"
    sums = 2

    def value(self) -> float:
        hits, weights = self._sums
        counted = weights > 0
        if not counted.any():
            return math.nan
        return math.fsum(hits[counted] / weights[counted]) / int(counted.sum())


class Kappa(ClassSums):
    """(p - p_c)/(1 - p_c), p the accuracy and p_c that of chance: 1 is perfect, 0 as good as chance.

    p_c = sum_c (share of the rows of c) (share of the predictions of c): as many predictions of each class, on rows
    drawn by lot. NaN if all rows and predictions are of one class. (J. Cohen. A coefficient of agreement for nominal
    scales. 1960.)

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Kappa, Predictions
    >>> metric = Kappa()
    >>> truth, scores = np.array([0, 0, 1, 1]), np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]])
    >>> metric.update(Predictions(truth, scores, classes=np.array([0, 1])))
    >>> metric.value()
    0.5
    """

    name = "kappa"

    def value(self) -> float:
        hits, rows, predicted = self._sums
        total = math.fsum(rows)
        if not total > 0:
            return math.nan
        by_chance = math.fsum(rows * predicted) / total
        return (math.fsum(hits) - by_chance) / (total - by_chance) if by_chance < total else math.nan


class ByClass(ClassSums):
    """A ratio for each class. Of two classes it is that of the one that sorts last, of more the mean over the classes.

    A class without rows and without predictions does not count; a ratio 0/0 is 0. The first row of a class cannot be
    predicted and is an error. Three numbers are stored for each class.
    """

    @abstractmethod
    def ratio(self, hits: Array, rows: Array, predicted: Array) -> tuple[Array, Array]:  # each (classes,)
        """Numerator and denominator."""

    def value(self) -> float:
        hits, rows, predicted = self._sums
        counted = (rows > 0) | (predicted > 0)
        if not counted.any():
            return math.nan
        above, below = self.ratio(hits, rows, predicted)
        ratios = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
        if counted.sum() <= 2:
            last = max(np.flatnonzero(counted).tolist(), key=lambda i: self._index.labels[i])
            return float(ratios[last])
        return math.fsum(ratios[counted]) / int(counted.sum())


class Precision(ByClass):
    """The share of the predictions of a class that were right.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Precision, Predictions
    >>> metric = Precision()
    >>> truth, scores = np.array([0, 0, 1, 1]), np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]])
    >>> metric.update(Predictions(truth, scores, classes=np.array([0, 1])))
    >>> round(metric.value(), 3)
    0.667
    """

    name = "precision"

    def ratio(self, hits: Array, rows: Array, predicted: Array) -> tuple[Array, Array]:
        return hits, predicted


class Recall(ByClass):
    """The share of the rows of a class that were predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Predictions, Recall
    >>> metric = Recall()
    >>> truth, scores = np.array([0, 1, 1, 1]), np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0]])
    >>> metric.update(Predictions(truth, scores, classes=np.array([0, 1])))
    >>> round(metric.value(), 3)
    0.667
    """

    name = "recall"

    def ratio(self, hits: Array, rows: Array, predicted: Array) -> tuple[Array, Array]:
        return hits, rows


class F1(ByClass):
    """The harmonic mean of precision and recall.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import F1, Predictions
    >>> metric = F1()
    >>> truth, scores = np.array([0, 1, 1, 1]), np.array([[-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0]])
    >>> metric.update(Predictions(truth, scores, classes=np.array([0, 1])))
    >>> round(metric.value(), 3)
    0.667
    """

    name = "f1"

    def ratio(self, hits: Array, rows: Array, predicted: Array) -> tuple[Array, Array]:
        return 2 * hits, rows + predicted


class F1Macro(ClassSums):
    """The mean over the classes, or over the labels of rows with several, of their F1; ``average="macro"``.

    For two classes it is the mean of both, `f1` that of the one that sorts last.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import F1Macro, Predictions
    >>> metric = F1Macro()
    >>> truth, scores = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> metric.update(Predictions(truth, scores, classes=np.arange(2)))
    >>> round(metric.value(), 3)
    0.833
    """

    name = "f1_macro"
    takes_several = True

    def value(self) -> float:
        hits, rows, predicted = self._sums
        counted = (rows > 0) | (predicted > 0)
        if not counted.any():
            return math.nan
        return math.fsum(2 * hits[counted] / (rows + predicted)[counted]) / int(counted.sum())


class F1Micro(ClassSums):
    """F1 of all labels of all rows together; ``average="micro"``. With one label for each row it is the accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import F1Micro, Predictions
    >>> metric = F1Micro()
    >>> truth, scores = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> metric.update(Predictions(truth, scores, classes=np.arange(2)))
    >>> round(metric.value(), 3)
    0.857
    """

    name = "f1_micro"
    takes_several = True

    def value(self) -> float:
        hits, rows, predicted = self._sums
        total = math.fsum(rows) + math.fsum(predicted)
        return 2 * math.fsum(hits) / total if total > 0 else math.nan
