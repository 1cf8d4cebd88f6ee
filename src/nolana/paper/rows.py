"""Rows of the data sets as the experiments take them: how many, and in which order."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import datasets
from nolana.errors import DataError
from nolana.paper.experiment import Source

Array = NDArray[np.float64]

SUBSET_SEED = 12345
TUNING_SEED = 100  # of no shuffle that counts


@dataclass(frozen=True)
class Directory:
    """The data sets of ``nolana.datasets``, in a directory of the user or in the usual places."""

    directory: str | None = None

    def has(self, name: str) -> bool:
        """Whether the files are there."""
        return not self.missing(name)

    def missing(self, name: str) -> str:
        """Where it was looked for, and where to get it; empty where it is there."""
        try:
            datasets.find(name, self.directory)
        except DataError as error:
            return str(error)
        return ""

    def load(self, name: str) -> tuple[Array, NDArray[Any]]:
        """X and y, from the binary cache where there is one."""
        return datasets.load(name, self.directory)


@lru_cache(maxsize=2)
def rows_of(source: Source, name: str, limit: int | None) -> tuple[Array, NDArray[Any]]:
    """All rows of a data set, or a sample of `limit` that is always the same."""
    X, y = source.load(name)
    if limit is None or limit >= len(y):
        return X, y
    chosen = np.random.default_rng(SUBSET_SEED).permutation(len(y))[:limit]
    return X[chosen], y[chosen]


def shuffled(
    source: Source, name: str, limit: int | None, seed: int, count: int | None = None
) -> tuple[Array, NDArray[Any]]:
    """The rows in the order of the seed, or the first `count` of them."""
    X, y = rows_of(source, name, limit)
    order = np.random.default_rng(seed).permutation(len(y))[:count]
    return X[order], y[order]


def tuning_rows(source: Source, name: str, limit: int | None, count: int) -> tuple[Array, NDArray[Any]]:
    """The rows that choose the parameters."""
    return shuffled(source, name, limit, TUNING_SEED, count)
