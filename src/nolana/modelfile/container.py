"""The file itself: safetensors, whose one metadata entry "nolana" holds version, checksum and sections.

    8 bytes    length of the header, little-endian
    header     JSON: {"__metadata__": {"nolana": TEXT}, NAME: {"dtype", "shape", "data_offsets"}, ...}
    data       the arrays, one after the other

    TEXT       JSON: {"version": 2, "sha256": HEX, "sections": ...}

The checksum is over version and sections (as `canonical` writes them) and then, sorted by name, each array's
name, dtype and shape, and its bytes. Everything about sizes is checked against the file's own before memory is taken.
"""

import hashlib
import json
import os
import stat
from typing import BinaryIO, NamedTuple, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from nolana.errors import ModelFileError

VERSION = 2  # version 1 had other records of learners; it is read for ever
KEY = "nolana"
LARGEST_HEADER = 100_000_000  # what safetensors itself reads
LARGEST_ARRAY = 1 << 60  # bytes, were it not empty

CODES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "U64": "<u8", "I32": "<i4", "U32": "<u4", "I16": "<i2",
    "U16": "<u2", "I8": "i1", "U8": "u1", "BOOL": "?",
}  # fmt: skip
DTYPES: dict[str, np.dtype[np.generic]] = {name: np.dtype(code) for name, code in CODES.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

Arrays = dict[str, NDArray[np.generic]]


class Entry(NamedTuple):
    """An array in the header."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    begin: int
    end: int


def canonical(value: object) -> str:
    """JSON that is the same for the same value; floats read back exactly."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def checksum(version: int, sections: object, arrays: Arrays) -> str:
    """What TEXT says about the rest of the file."""
    sha = hashlib.sha256(canonical([version, sections]).encode())
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(canonical([name, NAMES[array.dtype], array.shape]).encode())
        sha.update(array.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def packed(sections: object, arrays: Arrays) -> bytes:
    """The bytes of a file; the same model gives the same bytes."""
    text = canonical({"version": VERSION, "sha256": checksum(VERSION, sections, arrays), "sections": sections})
    return bytes(save(arrays, metadata={KEY: text}))


def unpacked(path: str | os.PathLike[str]) -> tuple[object, Arrays]:
    """Sections, still as JSON has them, and the arrays."""
    place = os.fspath(path)
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ModelFileError("this is a pipe or a device, not a model file")
            return _read(file, found.st_size)
    except OSError as error:
        raise ModelFileError(f"cannot read {place}: {error.strerror or error}") from error
    except ModelFileError as error:
        raise ModelFileError(f"{place}: {error}") from None


def _open_at_once(path: str, flags: int) -> int:
    """Does not wait until somebody writes into a FIFO."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read(file: BinaryIO, size: int) -> tuple[object, Arrays]:
    header, data_size = _header(file, size)
    version, sha256, sections = _own_text(header.pop("__metadata__", None))
    entries = _entries(header, data_size)
    arrays = {}
    for entry in entries:
        array = np.empty(entry.shape, entry.dtype)
        if file.readinto(array.reshape(-1).view(np.uint8).data) != entry.end - entry.begin:  # type: ignore[attr-defined]
            raise ModelFileError("the file is truncated: it became shorter while it was read")
        arrays[entry.name] = array
    if sha256 != checksum(version, sections, arrays):
        raise ModelFileError("the file is corrupted: its checksum does not fit what is in it")
    return sections, arrays


def _header(file: BinaryIO, size: int) -> tuple[dict[str, object], int]:
    """The parsed header, and the number of bytes that follow it."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > LARGEST_HEADER or length < 2:
        raise ModelFileError(
            "this is not a model file of nolana: not a safetensors file, or cut off within its first 8 bytes"
        )
    if length > size - 8:
        raise ModelFileError(f"truncated, or not a safetensors file: a header of {length} bytes in a file of {size}")
    header = _parsed(file.read(length), "the header")
    if not isinstance(header, dict):
        raise ModelFileError("not a safetensors file: its header is no JSON object")
    return header, size - 8 - length


def _parsed(text: bytes | str, what: str) -> object:
    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        unique = dict(items)
        if len(unique) != len(items):
            raise ValueError("a key appears twice")
        return unique

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not a safetensors file, or corrupted: {what} is no JSON ({error})") from None


def _own_text(metadata: object) -> tuple[int, object, object]:
    """Version, checksum and sections of the metadata entry of nolana."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise ModelFileError("a safetensors file of something else: it was not made by nolana")
    text = _parsed(metadata[KEY], 'the metadata "nolana"')
    if not isinstance(text, dict) or type(text.get("version")) is not int or text["version"] < 1:
        raise ModelFileError('corrupted: the metadata "nolana" has no version')
    if text["version"] > VERSION:
        raise ModelFileError(
            f"made by a newer nolana: format version {text['version']}, this one reads up to {VERSION}. Update nolana"
        )
    if set(text) != {"version", "sha256", "sections"}:
        raise ModelFileError('corrupted: the metadata "nolana" is not {version, sha256, sections}')
    return text["version"], text["sha256"], text["sections"]


def _entries(header: dict[str, object], data_size: int) -> list[Entry]:
    """The arrays in the order of the file: nothing between them, before them or after them."""
    entries = sorted((_entry(name, value) for name, value in header.items()), key=lambda e: (e.begin, e.end))
    at = 0
    for entry in entries:
        if entry.begin != at:
            raise ModelFileError(f'corrupted: array "{entry.name}" begins at byte {entry.begin}, expected {at}')
        at = entry.end
    if at != data_size:
        what = f"truncated: {at - data_size} bytes are missing" if at > data_size else "corrupted: bytes after the end"
        raise ModelFileError(f"{what} (the arrays have {at} bytes, {data_size} are there)")
    return entries


def _entry(name: str, value: object) -> Entry:
    def wrong(what: str) -> ModelFileError:
        return ModelFileError(f'corrupted: array "{name}" {what}')

    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise wrong("is not {dtype, shape, data_offsets}")
    shape, offsets = value["shape"], value["data_offsets"]
    if not isinstance(value["dtype"], str) or value["dtype"] not in DTYPES:
        raise wrong(f"has dtype {value['dtype']!r}; expected one of {', '.join(DTYPES)}")
    dtype = DTYPES[value["dtype"]]
    if not _counts(shape) or len(shape) > 8:
        raise wrong(f"has shape {shape!r}; expected at most 8 counts")
    if not _counts(offsets) or len(offsets) != 2:
        raise wrong(f"has data_offsets {offsets!r}; expected two counts")
    size, extent = dtype.itemsize, dtype.itemsize
    for side in shape:
        size, extent = size * side, extent * max(1, side)
    if extent > LARGEST_ARRAY or offsets[1] - offsets[0] != size:
        raise wrong(f"has shape {shape} and dtype {value['dtype']}, but {offsets[1] - offsets[0]} bytes")
    return Entry(name, dtype, tuple(shape), *offsets)


def _counts(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(v) is int and 0 <= v < LARGEST_ARRAY for v in value)
