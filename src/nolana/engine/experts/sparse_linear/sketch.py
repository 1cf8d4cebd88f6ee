"""Sparse rows as a few sums of their values with random signs, each feature in one of them.

Lengths and products of rows stay what they are on average, with a standard deviation of about 1/sqrt(width) of |x||u|:
kernels of distances and of dot products can be taken of the sketches (Charikar, Chen, Farach-Colton, "Finding frequent
items in data streams", ICALP 2002; Weinberger, Dasgupta, Langford, Smola, Attenberg, "Feature hashing for large scale
multitask learning", ICML 2009).
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Array


def mixed(key: int) -> int:
    """A pseudorandom integer below 2^32 (the finalizer of MurmurHash3)."""
    key = ((key ^ (key >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    key = ((key ^ (key >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return key ^ (key >> 16)


def sketch_rows(
    starts: NDArray[np.int64], indices: NDArray[np.int32], values: Array, width: int, seed: int
) -> Array:  # CSR -> (n, width)
    """The sums of each row; the width is a power of 2."""
    sums, salt = np.zeros((len(starts) - 1, width)), mixed(seed & 0xFFFFFFFF)
    for r, row in enumerate(sums):
        for i in range(int(starts[r]), int(starts[r + 1])):
            bits = mixed(int(indices[i]) ^ salt)
            row[bits % width] += -values[i] if bits & width else values[i]
    return sums
