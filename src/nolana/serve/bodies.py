"""Bodies of requests: JSON, JSON lines and Arrow streams as the lines, the labels and the id of a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from nolana.serve.arrow import arrow_lines
from nolana.serve.refusal import Refusal

__all__ = ["ARROW", "JSON", "LINES", "LONGEST_ID", "Body", "Choice", "read_body", "read_choice"]

JSON = "application/json"
LINES = ("application/x-ndjson", "application/jsonl", "application/ndjson")
ARROW = "application/vnd.apache.arrow.stream"
LONGEST_ID = 256  # characters


@dataclass(frozen=True)
class Body:
    """A request: its rows and labels as pieces of JSON, None if it has none, its id, and the level of its sets."""

    rows: list[bytes] | None
    labels: list[bytes] | None = None
    id: str | None = None
    level: float | None = None


@dataclass(frozen=True)
class Choice:
    """Labels in quarantine, as pieces of JSON: those to accept as classes, and those to discard with their rows."""

    accept: list[bytes]
    discard: list[bytes]


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
            return Body(arrow_lines(content), id=_checked_id(query.get("id")))
    except msgspec.MsgspecError as error:
        raise Refusal(400, f"the body is not as expected: {error}") from error
    except RecursionError as error:
        raise Refusal(400, "the body has arrays or objects that are nested too deeply") from error
    legal = f"{JSON}, {LINES[0]} and {ARROW}"
    raise Refusal(415, f"content type {kind[:100]!r} cannot be read; send one of {legal} in the header Content-Type")


def read_choice(content: bytes, kind: str) -> Choice:
    """The labels to accept and to discard."""
    if kind.partition(";")[0].strip().lower() != JSON:
        raise Refusal(415, f"send {JSON} in the header Content-Type")
    try:
        choice = _choice_decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refusal(400, f"the body is not as expected: {error}") from error
    if not choice.accept and not choice.discard:
        raise Refusal(400, 'send {"accept": [...]} or {"discard": [...]} with labels that GET /classes lists')
    return Choice([bytes(label) for label in choice.accept], [bytes(label) for label in choice.discard])


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
