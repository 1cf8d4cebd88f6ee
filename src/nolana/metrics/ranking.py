"""How the rows of each class rank against all others: two histograms of the log-odds of its probability.

The log-odds log p/(1 - p) are rounded to 1/64 and clipped to +-20: counts at both ends of the ranking are exact,
however many rows there are, and rows of one bin are ties. A row before a class was known has probability 0 for it.
Memory: 41 KB for each class. Sums run in the order of the rows, so blocks may be cut anywhere, and histograms of two
streams add up.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import LabelIndex
from nolana.metrics.predictions import Predictions
from nolana.metrics.sums import running_sum

__all__ = ["ClassRanking", "Ranking"]

Array = NDArray[np.float64]

STEPS = 64  # of a unit of log-odds
LARGEST = 20  # log-odds: p of 2e-9
BINS = 2 * LARGEST * STEPS + 1


def bins_of(probabilities: Array) -> NDArray[np.intp]:
    """The bin of each probability; 0 for probability 0 and NaN.

    >>> bins_of(np.array([0.0, 0.5, 1.0, np.nan])).tolist()
    [0, 1280, 2560, 0]
    """
    p = np.clip(np.where(np.isnan(probabilities), 0.0, probabilities), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        odds = np.clip(np.log(p) - np.log1p(-p), -LARGEST, LARGEST)
    return np.asarray(np.rint((odds + LARGEST) * STEPS), dtype=np.intp)


class Ranking:
    """weights[0, c] (bins,) of the rows of class c, weights[1, c] of all other rows, by their log-odds of class c."""

    def __init__(self) -> None:
        self._index = LabelIndex()
        self.weights: Array = np.zeros((2, 0, BINS))
        self._total = 0.0  # weight of all rows

    @property
    def labels(self) -> list[Any]:
        """Of the classes, in the order of `weights`."""
        return list(self._index.labels.tolist())

    def _columns(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Of these labels; rows so far had probability 0 for a new one."""
        columns, known = self._index.columns(labels), self.weights.shape[1]
        added = np.zeros((2, len(self._index) - known, BINS))
        added[1, :, 0] = self._total
        self.weights = np.concatenate([self.weights, added], axis=1)
        return columns

    def update(self, rows: Predictions) -> None:
        """Count some rows, which have probabilities."""
        assert rows.classes is not None
        columns, own = self._columns(rows.classes), self._columns(rows.truth)
        bins = np.zeros((len(rows), len(self._index)), dtype=np.intp)
        bins[:, columns] = bins_of(rows.probabilities)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        others = (own[:, None] != np.arange(len(self._index))).astype(np.intp)
        # add.at adds row by row, so these sums do not depend on the blocks
        np.add.at(self.weights, (others, np.arange(len(self._index)), bins), weight[:, None])
        self._total = running_sum(self._total, weight)

    def state(self) -> dict[str, Any]:
        """Labels, histograms, and the weight of all rows."""
        return {"labels": self.labels, "weights": self.weights.copy(), "total": self._total}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        labels, weights = state["labels"], np.array(state["weights"], dtype=np.float64)
        if weights.shape != (2, len(labels), BINS):
            raise ValueError(f"histograms of a ranking must be (2, {len(labels)}, {BINS}), got {weights.shape}")
        self._index, self.weights, self._total = LabelIndex(np.array(labels)), weights, float(state["total"])

    def merge(self, other: "Ranking") -> None:
        """Count the rows that another one has counted."""
        columns = self._columns(other._index.labels)
        missing = np.ones(len(self._index), dtype=bool)
        missing[columns] = False
        self.weights[:, columns] += other.weights
        self.weights[1, missing, 0] += other._total
        self._total += other._total


class ClassRanking:
    """A metric of the ranking of each class: of two classes that of the one that sorts last, of more their mean."""

    name = ""
    needs_probabilities = True

    def __init__(self) -> None:
        self._ranking = Ranking()

    def of_class(self, own: Array, others: Array) -> float:  # each (bins,), by increasing log-odds
        """The metric of one class from its histograms, both of positive weight."""
        raise NotImplementedError

    def update(self, rows: Predictions) -> None:
        """Count some rows."""
        rows.need_probabilities(self.name)
        self._ranking.update(rows)

    def value(self) -> float:
        """The metric over all rows counted, NaN unless two classes have some."""
        ranked = [c for c in range(len(self._ranking.labels)) if (self._ranking.weights[:, c].sum(axis=1) > 0).all()]
        if len(ranked) == 2:
            ranked = [max(ranked, key=lambda c: self._ranking.labels[c])]
        if not ranked:
            return math.nan
        return math.fsum(self.of_class(*self._ranking.weights[:, c]) for c in ranked) / len(ranked)

    def state(self) -> dict[str, Any]:
        """The histograms."""
        return self._ranking.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        ranking = Ranking()
        ranking.restore(state)
        self._ranking = ranking

    def merge(self, other: "ClassRanking") -> None:
        """Count the rows that another metric of this class has counted."""
        self._ranking.merge(other._ranking)
