"""The non-zeros of a sparse row themselves, as places in a table and values."""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count
from nolana.engine.experts.map import Array, Map


class LinearMap(Map):
    """`table` places."""

    takes_sparse_rows = True

    def __init__(self, table: Count) -> None:
        super().__init__(table)
        self.table = table
        self.self_value = 1.0

    @property
    def side(self) -> int:
        return self.table

    def evaluate(self, x: Array) -> None:
        raise ValueError("this map takes sparse rows")

    def evaluate_sparse(self, places: NDArray[np.int32], values: Array) -> None:
        self.places, self.values = places, values
