"""Sample weights relative to their running mean wbar: w <- min(w, 10 wbar)/wbar.

A common factor of all weights changes nothing, and no single row can outweigh all others.
"""

import sys

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LARGEST_WEIGHT = 10.0  # times the running mean of the weights
WEIGHT_GAIN = 0.001
SMALLEST_WEIGHT = sys.float_info.min  # a positive weight stays positive, however large the others were


def relative(
    weight: Array | None, class_weight: Array | None, rows: int, learned: int, mean: float
) -> tuple[Array | None, float]:
    """c min(w, 10 wbar)/wbar of so many rows after `learned` rows of mean weight `mean` (0: none), and the new mean.

    w are weights of rows (None: 1), c of their classes (None: 1), which are not capped.
    """
    if weight is None and mean in (0.0, 1.0):
        return class_weight, 1.0
    w = np.ones(rows) if weight is None else weight
    c = np.ones(rows) if class_weight is None else class_weight
    out = np.zeros(rows)
    for i in np.flatnonzero((w > 0) & (c > 0)).tolist():
        learned += 1
        capped = min(float(w[i]), LARGEST_WEIGHT * mean) if mean > 0 else float(w[i])
        mean += (capped - mean) * max(1 / learned, WEIGHT_GAIN)
        out[i] = max(c[i] * (capped / mean), SMALLEST_WEIGHT)
    return out, mean
