"""Arrow streams of requests as JSON lines.

A few bytes of Arrow can stand for gigabytes: compressed buffers, long dictionary texts that many rows share, columns of
nothing. So the heads of the messages are looked at before anything is decoded, and such streams are refused.
"""

import math
import struct
from datetime import timedelta
from typing import Any

import msgspec

from nolana.serve.refusal import Refusal
from nolana.sources.tables import pyarrow

__all__ = ["MOST_ROWS", "arrow_lines"]

MOST_ROWS = 100_000
LARGEST_TEXT = 1 << 26  # bytes of the texts of a dictionary column, written out
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # kinds of messages
SIMPLE = (
    "is_null", "is_boolean", "is_integer", "is_floating", "is_decimal", "is_temporal", "is_string", "is_large_string",
)  # fmt: skip


def arrow_lines(content: bytes) -> list[bytes]:
    """Each row as a JSON object; Refusal if the stream is invalid, or larger than it looks."""
    pa = pyarrow()
    try:
        _check_messages(pa, content)
        with pyarrow("pyarrow.ipc").open_stream(pa.BufferReader(content)) as reader:
            for field in reader.schema:
                _check_type(pa, field.name, field.type)
            table = reader.read_all()
        table.validate(full=True)
        for name, column in zip(table.column_names, table.columns, strict=True):
            for chunk in column.chunks:
                _check_texts(pa, name, chunk)
        rows = table.to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError, struct.error) as error:
        raise Refusal(400, f"the Arrow stream cannot be read: {str(error)[:200]}") from error
    encode = msgspec.json.Encoder(decimal_format="number").encode
    return [encode({name: _plain(name, value) for name, value in row.items()}) for row in rows]


def _check_messages(pa: Any, content: bytes) -> None:
    """No compressed buffers, and not too many rows, by the heads of the messages (format of Arrow, Message.fbs)."""
    count = 0
    for message in pyarrow("pyarrow.ipc").MessageReader.open_stream(pa.BufferReader(content)):
        head = message.metadata.to_pybytes()
        root = _follow(head, 0)
        kind = _field(head, root, 1)
        if kind is None or head[kind] not in (DICTIONARY_BATCH, RECORD_BATCH):
            continue
        batch = _table(head, root, 2)
        if head[kind] == DICTIONARY_BATCH:
            batch = _table(head, batch, 1)
        if _field(head, batch, 3) is not None:
            raise Refusal(400, "the Arrow stream is compressed; send it without compression")
        length = _field(head, batch, 0)
        count += 0 if length is None else struct.unpack_from("<q", head, length)[0]
        if count > MOST_ROWS:
            raise Refusal(413, f"an Arrow stream may have {MOST_ROWS:,} rows; send several requests")


def _follow(head: bytes, at: int) -> int:
    """The place that an offset of a flatbuffer names."""
    return int(at + struct.unpack_from("<I", head, at)[0])


def _field(head: bytes, table: int, number: int) -> int | None:
    """The place of a field of a table of a flatbuffer; None if it is absent."""
    fields = table - struct.unpack_from("<i", head, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", head, fields)[0]:
        return None
    offset = struct.unpack_from("<H", head, fields + 4 + 2 * number)[0]
    return table + offset if offset else None


def _table(head: bytes, table: int, number: int) -> int:
    place = _field(head, table, number)
    if place is None:
        raise ValueError("a message has no header")
    return _follow(head, place)


def _check_type(pa: Any, name: str, kind: Any) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            _check_type(pa, f"{name}.{kind.field(i).name}", kind.field(i).type)
    elif not any(getattr(pa.types, check)(kind) for check in SIMPLE):
        raise Refusal(400, f'column "{name[:100]}" is {str(kind)[:100]}, not numbers, texts, times or bools')


def _check_texts(pa: Any, name: str, array: Any) -> None:
    """A text of a dictionary is written out for each row that has it."""
    if pa.types.is_struct(array.type):
        for i in range(array.type.num_fields):
            _check_texts(pa, f"{name}.{array.type.field(i).name}", array.field(i))
    elif pa.types.is_dictionary(array.type) and len(array.dictionary):
        longest = (
            pyarrow("pyarrow.compute").max(pyarrow("pyarrow.compute").binary_length(array.dictionary)).as_py() or 0
        )
        if longest * len(array) > LARGEST_TEXT:
            raise Refusal(413, f'column "{name[:100]}" has texts of {longest:,} bytes; send several requests')


def _plain(name: str, value: Any) -> Any:
    """A value that JSON has; NaN and null are missing."""
    if isinstance(value, float) and math.isinf(value):
        raise Refusal(400, f'"{name}": {value} is not a finite number')
    if isinstance(value, dict):
        return {key: _plain(f"{name}.{key}", inner) for key, inner in value.items()}
    return value.total_seconds() if isinstance(value, timedelta) else value
