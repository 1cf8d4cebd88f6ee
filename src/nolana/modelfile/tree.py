"""Trees and their JSON form, in which arrays are names.

What JSON cannot say stands in an object with one key that begins with "$"; keys of the tree itself that begin so get
a second one.

    {"$array": NAME}           a numeric array, {"$array": NAME, "order": "big"} one of big-endian numbers
    {"$text": NAME}            an array of strings, stored as code points (U32) with one more dimension
    {"$float": "inf"}          also "-inf" and "nan"
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import ModelFileError
from nolana.modelfile.container import NAMES, Arrays

Tree = Any  # dict[str, Tree] | list[Tree] | None | bool | int | float | str | NDArray

LARGEST_POINT = 0x10FFFF  # of Unicode
MOST_BITS = 4096  # of an integer
DEEPEST = 50
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encoded(sections: Mapping[str, Tree]) -> tuple[object, Arrays]:
    """Plain JSON values, and the arrays they name by their place in the tree."""
    arrays: Arrays = {}
    return _encode(dict(sections), (), arrays), arrays


def _encode(value: Tree, place: tuple[str, ...], arrays: Arrays) -> object:
    if len(place) > DEEPEST:
        raise _refused(place[:3], f"is nested deeper than {DEEPEST}")
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        whole = int(value)
        if whole.bit_length() > MOST_BITS:
            raise _refused(place, f"is an integer of more than {MOST_BITS} bits")
        return whole
    if isinstance(value, float | np.float32 | np.float16):
        number = float(value)
        return number if math.isfinite(number) else {"$float": str(number)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, place, arrays)
    if isinstance(value, list | tuple):
        return [_encode(item, (*place, str(i)), arrays) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise _refused(place, f"has keys that are no strings: {[k for k in value if not isinstance(k, str)][:3]}")
        return {
            ("$" + key if key.startswith("$") else str(key)): _encode(item, (*place, key), arrays)
            for key, item in value.items()
        }
    raise _refused(place, f"is a {type(value).__name__}")


def _encode_array(value: NDArray[np.generic], place: tuple[str, ...], arrays: Arrays) -> object:
    name = "/".join(part.replace("~", "~0").replace("/", "~1") for part in place)
    if name == "__metadata__":
        raise _refused(place, "is an array with safetensors' own name for its metadata")
    little = np.asarray(value, dtype=value.dtype.newbyteorder("<"), order="C")
    order = {} if little.dtype == value.dtype else {"order": "big"}
    if little.dtype in NAMES:
        arrays[name] = little
        return {"$array": name} | order
    if little.dtype.kind == "U":
        arrays[name] = _points(little)
        return {"$text": name} | order
    raise _refused(place, f"is an array of {value.dtype}")


def _points(text: NDArray[np.str_]) -> NDArray[np.uint32]:
    """Code points (..., width)."""
    return text.reshape(-1).view("<u4").reshape(*text.shape, text.itemsize // 4)


def _refused(place: tuple[str, ...], what: str) -> ModelFileError:
    return ModelFileError(
        f"{'/'.join(place) or 'the whole'} {what}, which a model file cannot hold; it holds dicts with string keys, "
        "lists, None, bools, numbers, strings, and arrays of bools, integers, floats of at most 64 bits or strings"
    )


def decoded(text: object, arrays: Arrays) -> dict[str, Tree]:
    """The tree of what `encoded` gave; every array has one place in it."""
    left = dict(arrays)
    sections = _decode(text, left, 0)
    if not isinstance(sections, dict):
        raise ModelFileError("corrupted: the sections are no object")
    if left:
        raise ModelFileError(f'corrupted: array "{next(iter(left))}" belongs to no section')
    return sections


def _decode(value: object, left: Arrays, depth: int) -> Tree:
    if depth > DEEPEST + 1:
        raise ModelFileError(f"corrupted: nested deeper than {DEEPEST}")
    if isinstance(value, list):
        return [_decode(item, left, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    special = [key for key in value if key.startswith("$") and not key.startswith("$$")]
    if not special:
        return {key.removeprefix("$"): _decode(item, left, depth + 1) for key, item in value.items()}
    kind, rest = special[0], {key: item for key, item in value.items() if key != special[0]}
    named = value[kind]
    if isinstance(named, str):
        if kind == "$float" and named in NOT_FINITE and not rest:
            return NOT_FINITE[named]
        if kind in ("$array", "$text") and rest in ({}, {"order": "big"}):
            if named not in left:
                raise ModelFileError(f'corrupted: array "{named}" is missing, or named twice')
            array = left.pop(named)
            array = array if kind == "$array" else _text(array, named)
            return array.astype(array.dtype.newbyteorder(">")) if rest else array
    raise ModelFileError(f"corrupted: {kind} cannot be read")


def _text(points: NDArray[np.generic], name: str) -> NDArray[np.str_]:
    if points.dtype != np.dtype("<u4") or points.ndim < 1 or points.shape[-1] < 1:
        raise ModelFileError(f'corrupted: array "{name}" has dtype {points.dtype} and shape {points.shape}, no text')
    if points.size and points.max() > LARGEST_POINT:
        raise ModelFileError(f'corrupted: array "{name}" holds a code point beyond Unicode')
    width = points.shape[-1]
    return points.reshape(-1).view(f"<U{width}").reshape(points.shape[:-1])
