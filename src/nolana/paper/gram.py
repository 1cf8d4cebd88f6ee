"""Kernel matrices of whole blocks, and the width that the experiments share."""

from functools import lru_cache

import numpy as np

from nolana.kernels import KernelChoice
from nolana.paper.experiment import Array, Source
from nolana.paper.rows import tuning_rows

__all__ = ["rbf", "width_of"]

WIDTH_ROWS = 1_000  # whose median distance gives gamma


def rbf(X: Array, Z: Array, gamma: float) -> Array:  # (n, d), (m, d) -> (n, m)
    """exp(-gamma |x - z|^2), by |x|^2 + |z|^2 - 2 x.z: one matrix product, and no (n, m, d) differences."""
    values = X @ Z.T
    values *= -2
    values += np.einsum("ij,ij->i", X, X)[:, None]
    values += np.einsum("ij,ij->i", Z, Z)
    np.maximum(values, 0.0, out=values)
    values *= -gamma
    return np.exp(values, out=values)


@lru_cache(maxsize=8)
def width_of(source: Source, data: str, limit: int) -> float:
    """gamma = 1 / median squared distance of two rows; 1 where no two differ."""
    found = KernelChoice("rbf").width_of(tuning_rows(source, data, limit, WIDTH_ROWS)[0])
    return 1.0 if found is None else found
