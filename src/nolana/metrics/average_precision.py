"""The area under the curve of precision against recall, of a stream."""

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.ranking import ClassRanking

__all__ = ["AveragePrecision"]

Array = NDArray[np.float64]


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
