"""The error of a map: |G - Gbar|_F / |G|_F over some rows, with Gbar = sum of part part'."""

import numpy as np
from scipy.linalg.blas import dsyrk

from nolana.paper.harness.gram import rbf
from nolana.paper.maps.protocol import Array, Map

__all__ = ["relative_error"]

BLOCK = 250  # rows of G at a time


def relative_error(phi: Map, X: Array, gamma: float) -> float:
    """The error on rows X (n, d). Memory: 8 n^2 bytes for Gbar; G is computed in blocks of rows."""
    n = len(X)
    approximate = np.zeros((n, n), order="F")
    for part in phi.parts(X):
        approximate = dsyrk(1.0, np.ascontiguousarray(part).T, beta=1.0, c=approximate, trans=1, lower=1, overwrite_c=1)
    wrong = total = 0.0
    for start in range(0, n, BLOCK):
        rows = X[start : start + BLOCK]
        exact = rbf(rows, X[: start + len(rows)], gamma)
        off = exact - approximate[start : start + len(rows), : start + len(rows)]
        wrong += symmetric_sum(off**2, start)
        total += symmetric_sum(exact**2, start)
    return float(np.sqrt(wrong / total))


def symmetric_sum(rows: Array, start: int) -> float:
    """What rows from `start` on add to the sum over a symmetric matrix, computed from its lower half."""
    return float(2 * np.tril(rows, start).sum() - np.trace(rows, start))
