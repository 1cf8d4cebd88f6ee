"""How the rows of each class rank against all others: two histograms of the log-odds of its probability.

The log-odds log p/(1 - p) are rounded to 1/64 and clipped to +-20: counts at both ends of the ranking are exact,
however many rows there are, and rows of one bin are ties. A row before a class was known has probability 0 for it.
Memory: 41 KB for each class. Sums run in the order of the rows, so blocks may be cut anywhere, and histograms of two
streams add up.
"""

import math
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import LabelIndex, Labels, State
from nolana.metrics.metric import RunningMetric, running_sum
from nolana.metrics.predictions import Predictions

__all__ = ["AveragePrecision", "ClassRanking", "Ranking"]

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
    def labels(self) -> Labels:
        """Of the classes, in the order of `weights`."""
        return self._index.labels

    def _columns(self, labels: Labels) -> NDArray[np.intp]:
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
        others = (own[:, None] != np.arange(len(self._index))).astype(np.intp)
        # add.at adds row by row, so these sums do not depend on the blocks
        np.add.at(self.weights, (others, np.arange(len(self._index)), bins), rows.weights[:, None])
        self._total = running_sum(self._total, rows.weights)

    def state(self) -> State:
        """Labels, histograms, and the weight of all rows."""
        return {"labels": self.labels.tolist(), "weights": self.weights.copy(), "total": self._total}

    def restore(self, state: State) -> None:
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


class ClassRanking(RunningMetric):
    """A metric of the ranking of each class: of two classes that of the one that sorts last, of more their mean."""

    in_per_cent = True
    needs_probabilities = True
    ranks = True

    def __init__(self) -> None:
        self._ranking = Ranking()

    @abstractmethod
    def of_class(self, own: Array, others: Array) -> float:  # each (bins,), by increasing log-odds
        """The metric of one class from its histograms, both of positive weight."""

    def update(self, rows: Predictions) -> None:
        rows.need_probabilities(self.name)
        self._ranking.update(rows)

    def value(self) -> float:
        ranked = [c for c in range(len(self._ranking.labels)) if (self._ranking.weights[:, c].sum(axis=1) > 0).all()]
        if len(ranked) == 2:
            ranked = [max(ranked, key=lambda c: self._ranking.labels[c])]
        if not ranked:
            return math.nan
        return math.fsum(self.of_class(*self._ranking.weights[:, c]) for c in ranked) / len(ranked)

    def state(self) -> State:
        return self._ranking.state()

    def restore(self, state: State) -> None:
        ranking = Ranking()
        ranking.restore(state)
        self._ranking = ranking

    def merge(self, other: Self) -> None:
        self._ranking.merge(other._ranking)


class AveragePrecision(ClassRanking):
    """sum_k (R_k - R_(k-1)) P_k over the thresholds k, R recall and P precision; for rare classes.

    A threshold is a step of 1/64 of the log-odds (`nolana.metrics.ranking`). Of two classes it is that of the one that
    sorts last, of more the mean over the classes, each against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import AveragePrecision, Predictions
    >>> metric = AveragePrecision()
    >>> p = np.array([0.1, 0.4, 0.35, 0.8])
    >>> both = np.stack([1 - p, p], axis=1)
    >>> metric.update(Predictions(np.array([0, 0, 1, 1]), both, np.array([0, 1]), before=both))
    >>> round(metric.value(), 3)
    0.833
    """

    name = "average_precision"

    def of_class(self, own: Array, others: Array) -> float:
        """From the largest log-odds down."""
        found = np.add.accumulate(own[::-1])
        wrong = np.add.accumulate(others[::-1])
        above = found + wrong > 0
        precision = np.divide(found, found + wrong, out=np.zeros(len(found)), where=above)
        return float(np.add.accumulate(own[::-1] * precision)[-1] / found[-1])
