"""The protocol of a metric, the base class of those in this folder, and sums that do not depend on the blocks."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import State
from nolana.metrics.predictions import Predictions

__all__ = ["Metric", "RunningMetric", "mean_over_targets", "running_sum", "running_sums"]

Array = NDArray[np.float64]


class Metric(Protocol):
    """The protocol of a metric.

    The object that the user passes is never changed: it is copied (``copy.deepcopy``) for the whole stream and for each
    window. To give the same number however the blocks are cut, add in the order of the rows (`running_sum`). A metric
    that reads `Predictions.probabilities` has ``needs_probabilities = True``. `nolana.spark.fit` needs ``merge(other)``
    too, which counts the rows that another metric of the same class has counted.
    """

    name: str

    @abstractmethod
    def update(self, rows: Predictions) -> None:
        """Count some rows, in fixed memory; ValueError if the metric is not defined for the learner."""

    @abstractmethod
    def value(self) -> float:
        """The metric over all rows counted, NaN before the first."""

    @abstractmethod
    def state(self) -> State:
        """Everything counted, as plain data: dicts and lists of numbers, strings, None and numeric arrays."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Continue from an exported state."""


class RunningMetric(Metric, ABC):
    """A metric of this folder. One with a `name` is found by it: no list of metrics is kept (`registry`)."""

    task: ClassVar[Literal["classification", "regression"]] = "classification"
    in_per_cent: ClassVar[bool] = False  # printed as a percentage
    smaller_is_better: ClassVar[bool] = False
    needs_probabilities: ClassVar[bool] = False
    ranks: ClassVar[bool] = False  # compares the rows with each other, as AUC does

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Count the rows that another metric of this class has counted."""


def running_sum(total: float, values: Array) -> float:  # (n,)
    """((total + v_1) + v_2) + ..., strictly in this order; ``np.sum`` adds in pairs, which depend on the block.

    Examples
    --------
    >>> import numpy as np
    >>> v = np.array([0.1, 0.2, 0.3])
    >>> running_sum(0.0, v) == running_sum(running_sum(0.0, v[:1]), v[1:])
    True
    """
    if len(values) == 1:
        return total + float(values[0])
    return float(np.add.accumulate(np.concatenate(([total], values)))[-1])


def running_sums(totals: Array, values: Array) -> Array:  # (t,), (n, t)
    """`running_sum` of each column."""
    return np.asarray(np.add.accumulate(np.vstack([totals, values]), axis=0)[-1])


def mean_over_targets(values: list[float]) -> float:
    """The mean of the metrics of several targets, each with the same weight ("uniform_average" of scikit-learn)."""
    return values[0] if len(values) == 1 else float(np.mean(values))
