"""Ranges of constructor arguments, as type hints: specs read from files are checked against them."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Range:
    """low <= value <= high; `above` excludes low itself, `unbounded` includes infinity."""

    low: float
    high: float = np.inf
    above: bool = False
    unbounded: bool = False


@dataclass(frozen=True)
class Rows:
    """An array of numbers with this many dimensions and at least one row; two: as wide as the learner's features.

    `free` leaves the width open.
    """

    dimensions: int
    free: bool = False


Positive = Annotated[float, Range(0.0, above=True)]
NonNegative = Annotated[float, Range(0.0)]
Width = Annotated[float, Range(0.0, 1e300, above=True)]
Threshold = Annotated[float, Range(0.0, unbounded=True)]
Memory = Annotated[float, Range(0.0, 1.0, above=True)]
Deviations = Annotated[float, Range(0.0, above=True, unbounded=True)]
Share = Annotated[float, Range(0.0, 1.0)]
RowsPerLandmark = Annotated[float, Range(1.0, 1e9)]
Count = Annotated[int, Range(1, 2**53)]
Iterations = Annotated[int, Range(1, 1000)]
Degree = Annotated[int, Range(1, 2**31 - 1)]
Depth = Annotated[int, Range(1, 10)]
Seed = Annotated[int, Range(0, 2**53)]
Index = Annotated[int, Range(0, 2**53)]
Projections = Annotated[NDArray[np.float64], Rows(2)]
Numbers = Annotated[NDArray[np.float64], Rows(1)]
Table = Annotated[NDArray[np.float64], Rows(2, free=True)]
