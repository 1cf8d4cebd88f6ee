"""Dicts of very many features as sparse rows: each name has a column by its hash, and no name is stored.

An absent feature is 0. The estimators give the most frequent columns a slot of their own
(`nolana.engine.FeatureTable`).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nolana.river.slots import Features, Rows, hash_of, number_of

Array = NDArray[np.float64]

COLUMNS = 1 << 20


class HashedFeatures:
    """The part of `FeatureSlots` for rows of sparse features; nothing changes from row to row."""

    width = COLUMNS
    bytes = 0

    def read(self, x: Features, centre: Callable[[], Array]) -> tuple[Rows, None]:
        """The row (1, d) of a dict, as a CSR matrix."""
        return self.rows_of([x]), None

    def learned(self, seen: None) -> None:
        """A row was learned."""

    def rows_of(self, dicts: Sequence[Features]) -> Rows:
        """The rows (n, d) of dicts, as a CSR matrix."""
        from scipy.sparse import csr_matrix

        starts: list[int] = [0]
        columns: list[int] = []
        values: list[float] = []
        for x in dicts:
            sums: dict[int, float] = {}
            for name, value in x.items():
                number = number_of(name, value)
                if number:
                    column = hash_of(name) % COLUMNS
                    sums[column] = sums.get(column, 0.0) + number
            order = sorted(sums)
            columns.extend(order)
            values.extend([sums[column] for column in order])
            starts.append(len(columns))
        parts = np.array(values), np.array(columns, dtype=np.int32), np.array(starts, dtype=np.int32)
        return csr_matrix(parts, shape=(len(dicts), COLUMNS))
