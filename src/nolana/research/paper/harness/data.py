"""The rows of the data sets that the experiments use: how many, and in which order."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nolana.engine.experts.landmarks.kernels import RBF
from nolana.errors import DataError
from nolana.metrics.label_index import Labels
from nolana.research import datasets
from nolana.research.paper.harness import Array, Source

SUBSET_SEED = 12345
TUNING_SEED = 100  # of the shuffle for cross-validation; no measured pass uses it
WIDTH_ROWS = 1_000  # rows for the median distance


@dataclass(frozen=True)
class Directory:
    """The data sets of ``nolana.research.datasets``, in a directory of the user or in the default directories."""

    directory: str | None = None

    def missing(self, name: str) -> str:
        """Which directories were searched and where to get the files; empty if they exist."""
        try:
            datasets.find(name, self.directory)
        except DataError as error:
            return str(error)
        return ""

    def load(self, name: str) -> tuple[Array, Labels]:
        """X and y, from the binary cache if possible."""
        return datasets.load(name, self.directory)


@lru_cache(maxsize=2)
def rows_of(source: Source, name: str, limit: int | None) -> tuple[Array, Labels]:
    """All rows of a data set, or `limit` of them, the same sample in every run."""
    X, y = source.load(name)
    if limit is None or limit >= len(y):
        return X, y
    chosen = np.random.default_rng(SUBSET_SEED).permutation(len(y))[:limit]
    return X[chosen], y[chosen]


def shuffled(source: Source, name: str, limit: int | None, seed: int, count: int | None = None) -> tuple[Array, Labels]:
    """The rows shuffled by the seed, or the first `count` of them."""
    X, y = rows_of(source, name, limit)
    order = np.random.default_rng(seed).permutation(len(y))[:count]
    return X[order], y[order]


def tuning_rows(source: Source, name: str, limit: int | None, count: int) -> tuple[Array, Labels]:
    """The rows for cross-validation."""
    return shuffled(source, name, limit, TUNING_SEED, count)


@lru_cache(maxsize=8)
def width_of(source: Source, data: str, limit: int) -> float:
    """gamma = 1 / median squared distance of two rows; 1 if all rows are equal."""
    gamma = RBF().width_of(tuning_rows(source, data, limit, WIDTH_ROWS)[0])
    return 1.0 if gamma is None else gamma
