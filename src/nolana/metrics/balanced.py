"""Accuracy that does not depend on the frequencies of the classes."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import LabelIndex
from nolana.metrics.predictions import Predictions

__all__ = ["BalancedAccuracy"]


class BalancedAccuracy:
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

    def __init__(self) -> None:
        self._index = LabelIndex()
        self._sums: NDArray[np.float64] = np.zeros((2, 0))  # weight of the hits, weight of the rows

    def update(self, rows: Predictions) -> None:
        """Count some rows."""
        rows.need_classes(self.name)
        columns = self._index.columns(rows.truth)
        if len(self._index) > self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, len(self._index) - self._sums.shape[1])))
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        # add.at adds row by row, so these sums do not depend on the blocks
        np.add.at(self._sums[0], columns, np.where(rows.hits, weight, 0.0))
        np.add.at(self._sums[1], columns, weight)

    def value(self) -> float:
        """The metric over all rows counted, NaN without any."""
        hits, weights = self._sums
        counted = weights > 0
        if not counted.any():
            return math.nan
        return math.fsum(hits[counted] / weights[counted]) / int(counted.sum())

    def state(self) -> dict[str, Any]:
        """The labels and two sums for each."""
        return {"labels": self._index.labels.tolist(), "sums": self._sums.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        labels, sums = state["labels"], np.array(state["sums"], dtype=np.float64)
        if sums.shape != (2, len(labels)):
            raise ValueError(f"the state of {self.name}: sums must be (2, {len(labels)}), got {sums.shape}")
        self._index, self._sums = LabelIndex(np.array(labels)), sums

    def merge(self, other: "BalancedAccuracy") -> None:
        """Count the rows that another metric of this class has counted."""
        columns = self._index.columns(other._index.labels)
        self._sums = np.pad(self._sums, ((0, 0), (0, len(self._index) - self._sums.shape[1])))
        self._sums[:, columns] += other._sums
