"""Kernel matrices, and the kernel width that the experiments share."""

from functools import lru_cache

import numpy as np

from nolana.engine.experts.landmarks.kernels import RBF
from nolana.research.paper.harness.data import tuning_rows
from nolana.research.paper.harness.experiment import Array, Source

__all__ = ["rbf", "width_of"]

WIDTH_ROWS = 1_000  # rows for the median distance


def rbf(X: Array, Z: Array, gamma: float) -> Array:  # (n, d), (m, d) -> (n, m)
    """exp(-gamma |x - z|^2), by |x|^2 + |z|^2 - 2 x.z: one matrix product instead of (n, m, d) differences."""
    values = X @ Z.T
    values *= -2
    values += np.einsum("ij,ij->i", X, X)[:, None]
    values += np.einsum("ij,ij->i", Z, Z)
    np.maximum(values, 0.0, out=values)
    values *= -gamma
    return np.exp(values, out=values)


@lru_cache(maxsize=8)
def width_of(source: Source, data: str, limit: int) -> float:
    """gamma = 1 / median squared distance of two rows; 1 if all rows are equal."""
    gamma = RBF().width_of(tuning_rows(source, data, limit, WIDTH_ROWS)[0])
    return 1.0 if gamma is None else gamma
