"""Sums that do not depend on how rows are cut into blocks."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["mean_over_targets", "running_sum", "running_sums"]


def running_sum(total: float, values: NDArray[np.float64]) -> float:  # (n,)
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


def running_sums(totals: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:  # (t,), (n, t)
    """`running_sum` of each column."""
    return np.asarray(np.add.accumulate(np.vstack([totals, values]), axis=0)[-1])


def mean_over_targets(values: list[float]) -> float:
    """The mean of the metrics of several targets, each with the same weight ("uniform_average" of scikit-learn)."""
    return values[0] if len(values) == 1 else float(np.mean(values))
