"""Small passes over whole arrays: the first invalid number, running moments."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def first_beyond(x: Array, bound: float) -> int:
    """Flat index of the first value that is NaN or beyond the bound, -1 if there is none."""
    bad = np.flatnonzero(~(np.abs(x) <= bound))
    return int(bad[0]) if len(bad) else -1


def add_moments(count: float, mean: Array, squares: Array, x: Array) -> float:
    """Welford's running mean and sum of squared deviations, row by row, in place; returns the new count."""
    for row in x:
        count += 1
        off = row - mean
        mean += off / count
        squares += off * (row - mean)
    return count
