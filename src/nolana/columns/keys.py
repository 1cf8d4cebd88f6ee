"""The key of a category: 52 bits of a hash of its bytes, the same on every machine and in core/text/keys.hpp.

    h = mixed(n + golden),   h = (h ^ word) multiplier, h ^= h >> 29 for each word,   key = mixed(h) >> 12

n bytes as little-endian words of 64 bits, the last one padded with zeros; `mixed` is that of splitmix64 (Steele, Lea,
Flood 2014). A key is a float64, which holds 52 bits exactly; NaN is a missing value.

The bytes of a value: a string has its UTF-8 exactly, so that strings that differ by white space, case or Unicode form
are different categories; an integer or a float that is one has its decimal digits, so that 5, 5.0 and "5" are the same;
another float its shortest digits; True and False are "true" and "false"; a date is its number of seconds.
"""

import functools
import math
import numbers
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from nolana.backend import text_parsers
from nolana.columns.times import microseconds, microseconds_as_seconds
from nolana.errors import MissingCoreError

__all__ = ["canonical", "hash_bytes", "is_missing", "key", "keys", "number_keys"]

Array = NDArray[np.float64]

MULTIPLIER = 0xD1342543DE82EF95  # odd, of a full-period generator (Steele, Vigna 2021)


def hash_bytes(data: bytes) -> float:
    """The key of these bytes.

    Examples
    --------
    >>> hash_bytes(b"red"), hash_bytes(b"") < 2**52
    (2028101819905204.0, True)
    """
    from nolana.engine.base.draw import GOLDEN, WORD, mixed  # the core has its own: readers of text load no engine

    h = mixed((len(data) + GOLDEN) & WORD)
    for i in range(0, len(data), 8):
        h = ((h ^ int.from_bytes(data[i : i + 8], "little")) * MULTIPLIER) & WORD
        h ^= h >> 29
    return float(mixed(h) >> 12)


def is_missing(value: object) -> bool:
    """None, NaN, and what pandas has for a missing value (NA, NaT)."""
    if value is None or (isinstance(value, float | np.floating) and value != value):
        return True
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, np.datetime64) and bool(np.isnat(value)))


def canonical(value: object) -> str | bytes | None:
    """What is hashed of a value; None if it is missing, TypeError if it is no value of a table.

    Examples
    --------
    >>> [canonical(value) for value in (5, 5.0, "5", 0.5, True, None, float("nan"))]
    ['5', '5', '5', '0.5', 'true', None, None]
    """
    if isinstance(value, str | bytes):  # NumPy's strings too
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if is_missing(value):
        return None
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, date | np.datetime64):
        value = microseconds_as_seconds(np.array([microseconds(value)]))[0]
    if isinstance(value, complex | np.complexfloating) or not hasattr(value, "__float__"):
        raise TypeError(f"{type(value).__name__} is no value of a table")
    number = float(value)
    if math.isnan(number):
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def key(value: object) -> float:
    """The key of a value, NaN if it is missing.

    Examples
    --------
    >>> key(5) == key(5.0) == key("5") != key(" 5"), key(True) == key("true"), key(None)
    (True, True, nan)
    """
    return float(keys([value])[0])


def keys(values: Sequence[object]) -> Array:
    """`key` of each value."""
    listed = list(values)
    try:
        return _hasher()(listed)
    except TypeError:  # not strings and None alone
        return _hasher()([canonical(value) for value in listed])


def number_keys(values: NDArray[np.generic]) -> Array:
    """`key` of each number of an array of integers, floats or booleans; of distinct ones, as there are few."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
    distinct, codes = np.unique(values, return_inverse=True)
    found: Array = keys(distinct.tolist())[codes.ravel()]
    return found


@functools.cache
def _hasher() -> Callable[[list[object]], Array]:
    """The compiled core's, or that in Python."""
    try:
        return text_parsers().hash_strings
    except MissingCoreError:
        return hash_strings


def hash_strings(values: list[object]) -> Array:
    """What the core's function of this name does: keys of strings and bytes, NaN for None."""
    return np.array([_hash(value) for value in values], dtype=np.float64)


def _hash(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    elif not isinstance(value, bytes):
        raise TypeError("a key is that of a str, of bytes or of None")
    return hash_bytes(value)
