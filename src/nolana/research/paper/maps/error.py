"""The error of a map: |G - Gbar|_F / |G|_F over some rows."""

import numpy as np

from nolana.research.paper.harness.gram import rbf
from nolana.research.paper.maps.protocol import Array, Map

__all__ = ["relative_error"]

BLOCK = 250  # rows of G at a time


def relative_error(phi: Map, X: Array, gamma: float) -> float:
    """The error on rows X (n, d). Memory: 8 n^2 bytes for Gbar; G is computed in blocks of rows."""
    n = len(X)
    approximate = phi.gram(X)
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
