"""Sums that do not depend on how rows are cut into blocks."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["running_sum"]


def running_sum(total: float, values: NDArray[np.float64]) -> float:
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
