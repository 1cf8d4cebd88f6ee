"""Small passes over whole arrays: the first bad number, running moments; what a state must be to be restored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def first_beyond(x: Array, bound: float) -> int:
    """Flat index of the first value that is NaN or beyond the bound, -1 where there is none."""
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


def check_shapes(state: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
    """Every array is there and has its shape."""
    for name, shape in shapes.items():
        if name not in state:
            raise ValueError(f"state: {name} is missing")
        if np.shape(state[name]) != shape:
            raise ValueError(f"state: {name} has shape {np.shape(state[name])}, expected {shape}")


def count_of(state: dict[str, Any], name: str) -> int:
    """A number of rows or moves."""
    value = float(state[name])
    if not 0 <= value <= 2**53 or value != int(value):
        raise ValueError(f"state: {name} is {value}, not a whole number")
    return int(value)
