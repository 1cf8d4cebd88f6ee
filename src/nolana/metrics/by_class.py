"""Precision, recall and F1: errors of one class against the others."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import LabelIndex
from nolana.metrics.predictions import Predictions

__all__ = ["F1", "Precision", "Recall"]

Array = NDArray[np.float64]


class ByClass:
    """A ratio for each class. Of two classes it is that of the one that sorts last, of more the mean over the classes.

    A class without rows and without predictions does not count; a ratio 0/0 is 0. The first row of a class cannot be
    predicted and is an error. Three numbers are stored for each class.
    """

    name = ""

    def __init__(self) -> None:
        self._index = LabelIndex()
        self._sums: Array = np.zeros((3, 0))  # weights of the hits, of the rows, of the predictions

    def ratio(self, hits: Array, rows: Array, predicted: Array) -> tuple[Array, Array]:  # each (classes,)
        """Numerator and denominator."""
        raise NotImplementedError

    def update(self, rows: Predictions) -> None:
        """Count some rows."""
        rows.need_classes(self.name)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        truth = self._index.columns(rows.truth)
        predicted = self._index.columns(rows.predicted[rows.known])
        if len(self._index) > self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, len(self._index) - self._sums.shape[1])))
        # add.at adds row by row, so these sums do not depend on the blocks
        np.add.at(self._sums[0], truth, np.where(rows.hits, weight, 0.0))
        np.add.at(self._sums[1], truth, weight)
        np.add.at(self._sums[2], predicted, weight[rows.known])

    def value(self) -> float:
        """The metric over all rows counted, NaN without any."""
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

    def state(self) -> dict[str, Any]:
        """The labels and three sums for each."""
        return {"labels": self._index.labels.tolist(), "sums": self._sums.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        labels, sums = state["labels"], np.array(state["sums"], dtype=np.float64)
        if sums.shape != (3, len(labels)):
            raise ValueError(f"the state of {self.name}: sums must be (3, {len(labels)}), got {sums.shape}")
        self._index, self._sums = LabelIndex(np.array(labels)), sums

    def merge(self, other: "ByClass") -> None:
        """Count the rows that another metric of this class has counted."""
        columns = self._index.columns(other._index.labels)
        self._sums = np.pad(self._sums, ((0, 0), (0, len(self._index) - self._sums.shape[1])))
        self._sums[:, columns] += other._sums


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
