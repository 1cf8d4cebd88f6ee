"""Keys of categories: a cell of a categorical column holds an integer below 2^52, NaN is the category "missing"."""

import math

from nolana.engine.base.draw import GOLDEN, WORD, mixed

MISSING = 1 << 52


def column_hash(column: int, value: float) -> int:
    """64 bits for the value of a column: the hash of (column, key)."""
    key = MISSING if math.isnan(value) else int(value)
    return mixed((mixed(key) + (column + 1) * GOLDEN) & WORD)
