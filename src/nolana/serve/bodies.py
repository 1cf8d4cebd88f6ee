"""Bodies of requests, received within limits: JSON, JSON lines and Arrow streams as lines, labels and id."""

import asyncio
import math
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from starlette.requests import Request

from nolana.serve.jobs import Classes
from nolana.serve.refusal import RETRY, Refusal
from nolana.serve.status import Counters
from nolana.sources.tables import pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ARROW", "JSON", "LINES", "LONGEST_ID", "Body", "Intake", "read_body", "read_choice"]

T = TypeVar("T")

SMALL = 1 << 12  # bytes of a body that is read by the thread of the event loop
READERS = 2  # threads for larger bodies
BODIES = 8  # largest bodies that may be in memory at a time
EXPANSION = 4  # bytes of memory for each byte of a body: rows as numbers need more than their text
MEMORY = "nolana.memory"  # the key of the bytes that a request holds
JSON = "application/json"
LINES = ("application/x-ndjson", "application/jsonl", "application/ndjson")
ARROW = "application/vnd.apache.arrow.stream"
FORM = 'send an object such as {"rows": [{"a": 1, "b": 2.5}]}'
LONGEST_ID = 256  # characters
MOST_ROWS = 100_000  # of an Arrow stream
LARGEST_TEXT = 1 << 26  # bytes of the texts of a dictionary column, written out
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # kinds of messages
SIMPLE = (
    "is_null", "is_boolean", "is_integer", "is_floating", "is_decimal", "is_temporal", "is_string", "is_large_string",
)  # fmt: skip


class Intake:
    """Receives bodies within limits of size, time and memory.

    Parameters
    ----------
    counters : of refused requests.
    max_request : bytes of a body.
    timeout : seconds in which it must have come.
    """

    def __init__(self, counters: Counters, max_request: int, timeout: float) -> None:
        self._counters, self._max_request, self._timeout = counters, max_request, timeout
        self._memory = BODIES * max_request  # bytes that are left for bodies
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

    async def read(self, request: Request, call: Callable[[bytes, str, Mapping[str, str]], T]) -> T:
        """What a call makes of the body, its type and the query; large bodies do not hold up the others."""
        content, kind = await self._receive(request), request.headers.get("content-type", "")
        if len(content) <= SMALL:
            return call(content, kind, request.query_params)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, call, content, kind, request.query_params)

    def release(self, request: Request) -> None:
        """The request is answered: its body is no longer in memory."""
        self._memory += request.scope.pop(MEMORY, 0)

    async def _receive(self, request: Request) -> bytes:
        declared = request.headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > self._max_request:
            raise self._too_large()
        parts: list[bytes] = []
        held, more = 0, True
        try:
            async with asyncio.timeout(self._timeout):
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "the client has disconnected", close=True)
                    part, more = message.get("body", b""), message.get("more_body", False)
                    needed = EXPANSION * len(part)
                    if held + needed > EXPANSION * self._max_request:
                        raise self._too_large()
                    if needed > self._memory:
                        self._counters.overloads += 1
                        what = "too many large requests at a time; retry later"
                        raise Refusal(429, what, retry_after=RETRY, close=True)
                    self._memory -= needed
                    held += needed
                    request.scope[MEMORY] = held
                    parts.append(part)
        except TimeoutError as error:
            what = f"the request did not come within {self._timeout:g} s"
            raise Refusal(408, what, retry_after=RETRY, close=True) from error
        return b"".join(parts)

    def _too_large(self) -> Refusal:
        return Refusal(413, f"a request may have {self._max_request:,} bytes; send several requests", close=True)


@dataclass(frozen=True)
class Body:
    """A request: its rows and labels as pieces of JSON, None if it has none, its id, and the level of its sets."""

    rows: list[bytes] | None
    labels: list[bytes] | None = None
    id: str | None = None
    level: float | None = None


class _Json(msgspec.Struct, forbid_unknown_fields=True):
    rows: list[msgspec.Raw] | None = None
    labels: list[msgspec.Raw] | None = None
    label: msgspec.Raw = msgspec.Raw()
    id: str | int | None = None
    level: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None


class _Choice(msgspec.Struct, forbid_unknown_fields=True):
    accept: list[msgspec.Raw] = []
    discard: list[msgspec.Raw] = []


_decoder = msgspec.json.Decoder(_Json)
_choice_decoder = msgspec.json.Decoder(_Choice)


def read_body(content: bytes, kind: str, query: Mapping[str, str]) -> Body:
    """The request of a body whose content type is ``kind``; the id of lines and Arrow streams is in the query."""
    kind = kind.partition(";")[0].strip().lower()
    try:
        if kind == JSON:
            return _of_json(content)
        if kind in LINES:
            lines = [line for line in (line.strip() for line in content.split(b"\n")) if line]
            return Body(lines, id=_checked_id(query.get("id")))
        if kind == ARROW:
            return Body(_arrow_lines(content), id=_checked_id(query.get("id")))
    except msgspec.MsgspecError as error:
        what = f"the body is not as expected: {error}"
        raise Refusal(400, what, hint=FORM if kind == JSON and "at `$" not in str(error) else "") from error
    except RecursionError as error:
        raise Refusal(400, "the body has arrays or objects that are nested too deeply") from error
    legal = f"{JSON}, {LINES[0]} and {ARROW}"
    raise Refusal(415, f"content type {kind[:100]!r} cannot be read; send one of {legal} in the header Content-Type")


def read_choice(content: bytes, kind: str, _: Mapping[str, str]) -> Classes:
    """The labels to accept as classes and to discard with their rows."""
    if kind.partition(";")[0].strip().lower() != JSON:
        raise Refusal(415, f"send {JSON} in the header Content-Type")
    try:
        choice = _choice_decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refusal(400, f"the body is not as expected: {error}") from error
    if not choice.accept and not choice.discard:
        raise Refusal(400, 'send {"accept": [...]} or {"discard": [...]} with labels that GET /classes lists')
    return Classes([bytes(label) for label in choice.accept], [bytes(label) for label in choice.discard])


def _of_json(content: bytes) -> Body:
    body = _decoder.decode(content)
    rows = None if body.rows is None else [bytes(row) for row in body.rows]
    labels = None if body.labels is None else [bytes(label) for label in body.labels]
    label = bytes(body.label)
    if label and labels is not None:
        raise Refusal(400, 'send either "label", of one row, or "labels", one for each row')
    return Body(rows, [label] if label else labels, _checked_id(body.id), body.level)


def _checked_id(id: str | int | None) -> str | None:
    if id is None:
        return None
    text = str(id)
    if not text or len(text) > LONGEST_ID or "\0" in text:
        raise Refusal(400, f"an id is a text of 1 to {LONGEST_ID} characters without NUL, got {len(text):,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refusal(400, "the id is not valid Unicode") from error
    return text


# Arrow


def _arrow_lines(content: bytes) -> list[bytes]:
    """Each row as a JSON object; Refusal if the stream is invalid, or larger than it looks.

    A few bytes of Arrow can stand for gigabytes: compressed buffers, long dictionary texts that many rows share,
    columns of nothing. So the heads of the messages are looked at before anything is decoded, and such streams are
    refused.
    """
    arrow = pyarrow()
    try:
        _check_messages(content)
        with pyarrow("pyarrow.ipc").open_stream(content) as reader:
            for field in reader.schema:
                _check_type(field.name, field.type)
            table = reader.read_all()
        table.validate(full=True)
        for name, column in zip(table.column_names, table.columns, strict=True):
            for chunk in column.chunks:
                _check_texts(name, chunk)
        rows = table.to_pylist()
    except (arrow.ArrowException, OSError, ValueError, OverflowError, struct.error) as error:
        raise Refusal(400, f"the Arrow stream cannot be read: {str(error)[:200]}") from error
    encode = msgspec.json.Encoder(decimal_format="number").encode
    return [encode({name: _plain(name, value) for name, value in row.items()}) for row in rows]


def _check_messages(content: bytes) -> None:
    """No compressed buffers, and not too many rows, by the heads of the messages (format of Arrow, Message.fbs)."""
    count = 0
    for message in pyarrow("pyarrow.ipc").MessageReader.open_stream(content):
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


def _check_type(name: str, kind: "pa.DataType") -> None:
    types = pyarrow("pyarrow.types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_struct(kind):
        for i in range(kind.num_fields):
            _check_type(f"{name}.{kind.field(i).name}", kind.field(i).type)
    elif not any(getattr(types, check)(kind) for check in SIMPLE):
        raise Refusal(400, f'column "{name[:100]}" is {str(kind)[:100]}, not numbers, texts, times or bools')


def _check_texts(name: str, array: "pa.Array") -> None:
    """A text of a dictionary is written out for each row that has it."""
    types, compute = pyarrow("pyarrow.types"), pyarrow("pyarrow.compute")
    if types.is_struct(array.type):
        for i in range(array.type.num_fields):
            _check_texts(f"{name}.{array.type.field(i).name}", array.field(i))
    elif types.is_dictionary(array.type) and len(array.dictionary):
        longest = compute.max(compute.binary_length(array.dictionary)).as_py() or 0
        if longest * len(array) > LARGEST_TEXT:
            raise Refusal(413, f'column "{name[:100]}" has texts of {longest:,} bytes; send several requests')


def _plain(name: str, value: object) -> object:
    """A value that JSON has; NaN and null are missing."""
    if isinstance(value, float) and math.isinf(value):
        raise Refusal(400, f'"{name}": {value} is not a finite number')
    if isinstance(value, dict):
        return {key: _plain(f"{name}.{key}", inner) for key, inner in value.items()}
    return value.total_seconds() if isinstance(value, timedelta) else value
