"""The area under the ROC curve, of a stream."""

import math
from collections.abc import Hashable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import State
from nolana.metrics.metric import running_sum
from nolana.metrics.predictions import Predictions
from nolana.metrics.quantiles import Quantiles
from nolana.metrics.ranking import ClassRanking

__all__ = ["AUC"]

Array = NDArray[np.float64]

CERTAIN = float(np.finfo(np.float64).max)


class AUC(ClassRanking):
    """P(score of a row of one class > score of a row of another), ties counted half.

    From three classes on it is the mean over the classes, each against the rest, by their probabilities; ties are steps
    of 1/64 of the log-odds (`nolana.metrics.ranking`). Such a learner needs probabilities.

    For two classes the score is that of the second class minus that of the first; which class is the second does not
    matter. Exact below 4,096 rows of each class; from there on the scores of each class are summarised (`Quantiles`),
    and `error_bound` says by how much the value may be off: at most about 0.0025 after a million rows of each class and
    0.005 after a billion, usually a tenth of that. Memory: 32 KiB for each of two classes and doubling of its rows.

    While only one class is known, its score is the largest finite number. A row before the first known class gets an
    infinite score on the wrong side: it loses against every row of the other class.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import AUC, Predictions
    >>> metric = AUC()
    >>> f = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> metric.update(Predictions(np.array([0, 1, 0, 1]), np.stack([-f, f], axis=1), classes=np.array([0, 1])))
    >>> metric.value(), metric.error_bound()
    (0.75, 0.0)
    """

    name = "auc"

    def __init__(self) -> None:
        super().__init__()
        self._several = False  # whether more than two classes are known
        self._first, self._second = Quantiles(), Quantiles()  # scores of the rows of either class
        self._label: Hashable = None  # of the first class: its column changes when a class with a smaller label appears

    def update(self, rows: Predictions) -> None:
        rows.need_classes(self.name)
        assert rows.classes is not None
        self._several = self._several or len(rows.classes) > 2
        if self._several:
            rows.need_probabilities(self.name)
        if not len(rows):
            return
        if rows.has_probabilities:
            self._ranking.update(rows)
        if not self._several:
            self._update_two(rows)

    def _update_two(self, rows: Predictions) -> None:
        assert rows.classes is not None
        if self._label is None:
            self._label = rows.classes.tolist()[0]
        second = rows.truth != self._label
        scores = _margins(rows.scores, rows.classes.tolist().index(self._label))
        scores = np.where(np.isnan(scores), np.where(second, -np.inf, np.inf), scores)
        weight = rows.weights
        for side, here in ((self._first, ~second), (self._second, second)):
            here = here & (weight > 0)
            side.add(scores[here], weight[here])

    def value(self) -> float:
        if self._several:
            return super().value()
        low, low_weights = self._first.points()
        high, high_weights = self._second.points()
        if not len(low) or not len(high):
            return math.nan
        upto = np.add.accumulate(np.concatenate([[0.0], low_weights]))
        won = upto[np.searchsorted(low, high, side="left")] + upto[np.searchsorted(low, high, side="right")]
        pairs = float(upto[-1]) * running_sum(0.0, high_weights)
        return running_sum(0.0, 0.5 * high_weights * won) / pairs

    def of_class(self, own: Array, others: Array) -> float:
        """int F dG of two histograms."""
        below = np.add.accumulate(others)
        won = np.add.accumulate(own * (below - 0.5 * others))[-1]
        return float(won / (below[-1] * np.add.accumulate(own)[-1]))

    def error_bound(self) -> float:
        """The largest possible error for two classes: int F dG changes by no more than F and G do."""
        return self._first.error + self._second.error

    def state(self) -> State:
        two = {"first": self._first.state(), "second": self._second.state(), "label": self._label}
        return two | {"several": self._several, "ranking": self._ranking.state()}

    def restore(self, state: State) -> None:
        first, second = Quantiles(), Quantiles()
        first.restore(state["first"])
        second.restore(state["second"])
        if "ranking" in state:  # not in files of 0.2, which had two classes
            super().restore(state["ranking"])
        self._several = bool(state.get("several", False))
        self._first, self._second, self._label = first, second, state.get("label")

    def merge(self, other: Self) -> None:
        super().merge(other)
        self._several = self._several or other._several or len(self._ranking.labels) > 2
        if other._label is None:
            return
        swapped = self._label not in (None, other._label)
        self._label = other._label if self._label is None else self._label
        sides = (other._second, other._first) if swapped else (other._first, other._second)
        for own, side in zip((self._first, self._second), sides, strict=True):
            own.merge(side, -1.0 if swapped else 1.0)


def _margins(scores: Array, first: int) -> Array:  # (n, c) -> (n,)
    """How much more the second class scores than the first, which has this column; NaN if neither is known."""
    columns = np.full((len(scores), 2), np.nan)
    columns[:, 0] = scores[:, first]
    columns[:, 1 : scores.shape[1]] = np.delete(scores, first, axis=1)
    known = columns > -np.inf
    with np.errstate(invalid="ignore", over="ignore"):  # two infinities: neither is the larger
        both = columns[:, 1] - columns[:, 0]
    first_alone, second_alone = -np.maximum(columns[:, 0], CERTAIN), np.maximum(columns[:, 1], CERTAIN)
    alone = np.where(known[:, 0], first_alone, np.where(known[:, 1], second_alone, np.nan))
    return np.asarray(np.where(known.all(axis=1), both, alone))
