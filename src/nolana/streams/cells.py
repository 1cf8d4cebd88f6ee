"""Rows of a table as cells: numbers for the columns read as numbers, texts for those read as text.

n rows, d numbers, t texts.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana._backend import engine

__all__ = [
    "ABSENT", "NESTED", "NUMBER", "TEXT", "TIME", "TRUTH", "UNBOUNDED", "UNKNOWN", "Cells", "Codes", "TextCells",
]  # fmt: skip

Codes = NDArray[np.uint8]

# What a field says, told from its letters alone (the same numbers stand in core/cells.hpp), and in TIME what only
# typed tables say: a value that is a date or a time, in seconds.
NUMBER, ABSENT, UNKNOWN, UNBOUNDED, TEXT, TRUTH, NESTED, TIME = range(8)


class Cells(Protocol):
    """Some rows of a source."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The numbers, (n, d)."""

    @property
    def codes(self) -> Codes:
        """What the numbers are, (n, d)."""

    @property
    def text_codes(self) -> Codes:
        """What the texts are, (n, t)."""

    @property
    def lines(self) -> NDArray[np.int64]:
        """The line of each row, or the row in a table without lines, from 1, (n,)."""

    def texts(self, place: int) -> list[str | None]:
        """A column of texts; None where a text cannot be read."""

    def reals(self, place: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A column of texts as doubles, and which of them are."""

    def integers(self, place: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """A column of texts as 64-bit integers, and which of them are."""

    def truths(self, place: int) -> NDArray[np.bool_]:
        """A column of texts as truth values; only where the code says so."""

    def raw(self, row: int) -> str:
        """A row as it stands in the source."""

    def keep(self, rows: NDArray[np.bool_]) -> "Cells":
        """The rows where it is true."""


@dataclass(frozen=True)
class TextCells:
    """Rows out of one window of text."""

    values: NDArray[np.float64]
    codes: Codes
    spans: NDArray[np.int64]  # (n, t, 2): begin, end
    text_codes: Codes
    rows: NDArray[np.int64]  # (n, 2): begin, end
    lines: NDArray[np.int64]
    data: bytes
    decode: Callable[[bytes], str]
    _decoded: dict[int, list[str | None]] = field(default_factory=dict)

    def texts(self, place: int) -> list[str | None]:
        """A column of texts; None where a text cannot be read."""
        if place in self._decoded:
            return self._decoded[place]
        data, decode = self.data, self.decode
        spans = self.spans[:, place].tolist()
        found: list[str | None]
        try:
            found = [decode(data[begin:end]) for begin, end in spans]
        except ValueError:
            found = [_readable(decode, data[begin:end]) for begin, end in spans]
        self._decoded[place] = found
        return found

    def reals(self, place: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A column of texts as doubles, and which of them are."""
        return self._each(engine().number_fields, place)

    def integers(self, place: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """A column of texts as 64-bit integers, and which of them are."""
        values, fits = self._each(engine().integer_fields, place)
        return values.view(np.int64), fits  # NumPy has two names for int64, and only one is np.int64

    def _each(self, parse: Callable[[bytes, Any], Any], place: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        spans = np.zeros((len(self.lines), 3), dtype=np.int64)
        spans[:, :2] = self.spans[:, place]
        fits = self.text_codes[:, place] != TEXT  # 1 is a number, "1" in JSON is not
        values, unfit = parse(self.data, spans)
        at = unfit if unfit >= 0 else len(spans)
        while at < len(spans):  # a few rows at a time, or many that do not fit would cost their square
            some, unfit = parse(self.data, spans[at : at + 64])
            good = unfit if unfit >= 0 else len(some)
            values[at : at + good] = some[:good]
            at += good
            if unfit >= 0:
                fits[at] = False
                at += 1
        return values, fits

    def truths(self, place: int) -> NDArray[np.bool_]:
        """A column of texts as truth values; only where the code says so."""
        return np.array([(text or "").strip().lower() == "true" for text in self.texts(place)], dtype=bool)

    def raw(self, row: int) -> str:
        """A row as it stands in the text."""
        begin, end = self.rows[row].tolist()
        return self.data[begin:end].decode("utf-8", "replace")

    def keep(self, rows: NDArray[np.bool_]) -> "TextCells":
        """The rows where it is true."""
        return replace(
            self,
            values=self.values[rows],
            codes=self.codes[rows],
            spans=self.spans[rows],
            text_codes=self.text_codes[rows],
            rows=self.rows[rows],
            lines=self.lines[rows],
            _decoded={p: [t for t, k in zip(c, rows, strict=True) if k] for p, c in self._decoded.items()},
        )


def _readable(decode: Callable[[bytes], str], field: bytes) -> str | None:
    try:
        return decode(field)
    except ValueError:
        return None


def decode_csv(field: bytes) -> str:
    """What a CSV field says; ValueError where it is not UTF-8."""
    if field[:1] == b'"' and field[-1:] == b'"' and len(field) >= 2:
        field = field[1:-1].replace(b'""', b'"')
    return field.decode("utf-8")


def decode_json(value: bytes) -> str:
    """What a JSON string says, or the letters of another value; ValueError where it is not Unicode."""
    if not value.startswith(b'"'):
        return value.decode("utf-8")
    if b"\\" not in value:
        return value[1:-1].decode("utf-8")
    text = str(json.loads(value.decode("utf-8"), strict=False))
    text.encode("utf-8")  # half of a surrogate pair is no text
    return text
