"""Bodies of requests: JSON, JSON lines and Arrow streams as the lines, the labels and the id of a request."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from nolana.serve.arrow import arrow_lines
from nolana.serve.refusal import Refusal

__all__ = ["ARROW", "JSON", "LINES", "LONGEST_ID", "Body", "read_body"]

JSON = "application/json"
LINES = ("application/x-ndjson", "application/jsonl", "application/ndjson")
ARROW = "application/vnd.apache.arrow.stream"
LONGEST_ID = 256  # characters


@dataclass(frozen=True)
class Body:
    """A request: its rows and labels as pieces of JSON, None where it has none, and its id."""

    rows: list[bytes] | None
    labels: list[bytes] | None = None
    id: str | None = None


class _Json(msgspec.Struct, forbid_unknown_fields=True):
    rows: list[msgspec.Raw] | None = None
    labels: list[msgspec.Raw] | None = None
    label: msgspec.Raw = msgspec.Raw()
    id: str | int | None = None


_decoder = msgspec.json.Decoder(_Json)


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
            return Body(arrow_lines(content), id=_checked_id(query.get("id")))
    except msgspec.MsgspecError as error:
        raise Refusal(400, f"the body is not as expected: {error}") from error
    except RecursionError as error:
        raise Refusal(400, "the body has arrays or objects that are nested too deeply") from error
    legal = f"{JSON}, {LINES[0]} and {ARROW}"
    raise Refusal(415, f"content type {kind[:100]!r} cannot be read; send one of {legal} in the header Content-Type")


def _of_json(content: bytes) -> Body:
    body = _decoder.decode(content)
    rows = None if body.rows is None else [bytes(row) for row in body.rows]
    labels = None if body.labels is None else [bytes(label) for label in body.labels]
    label = bytes(body.label)
    if label and labels is not None:
        raise Refusal(400, 'send either "label", of one row, or "labels", one for each row')
    return Body(rows, [label] if label else labels, _checked_id(body.id))


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
