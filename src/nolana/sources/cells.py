"""Rows of a table as cells: numbers for the columns read as numbers, texts for those read as text.

n rows, d numbers, t texts.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nolana.backend import text_parsers
from nolana.columns import key, keys, times
from nolana.errors import MOST_PROBLEMS, Diagnostic, Place, Remedy, Setting, StreamError

__all__ = [
    "ABSENT", "NESTED", "NUMBER", "TEXT", "TIME", "TRUTH", "UNBOUNDED", "UNKNOWN", "Cells", "Codes", "Flaw",
    "RowFlaws", "TextCells", "is_missing",
]  # fmt: skip

Codes = NDArray[np.uint8]
E = TypeVar("E", bound=Diagnostic)
N = TypeVar("N", np.float64, np.int64)

# What a field is by its letters alone (core/cells.hpp has the same numbers); TIME, a date or time in seconds, comes
# from typed tables only.
NUMBER, ABSENT, UNKNOWN, UNBOUNDED, TEXT, TRUTH, NESTED, TIME = range(8)


def is_missing(codes: Codes) -> NDArray[np.bool_]:
    """Whether nothing is there, or what says so."""
    return np.asarray((codes == ABSENT) | (codes == UNKNOWN))


@dataclass(frozen=True)
class Flaw:
    """Why a row is invalid: its first invalid cell, and the others.

    Parameters
    ----------
    feature : of the cell; None: it is the label.
    reason : in one word, for counts.
    problem, remedies, facts : what an error says, as for `nolana.errors.Diagnostic`.
    absent : whether nothing is there; each source has its own words for that.
    numeric : whether a number was expected and something else came.
    others : the next invalid cells of the row; more: how many there are after them.
    """

    feature: int | None
    reason: str
    problem: str = ""
    remedies: tuple[Remedy, ...] = ()
    facts: dict[str, Setting] = field(default_factory=dict)
    absent: bool = False
    numeric: bool = False
    others: tuple["Flaw", ...] = ()
    more: int = 0

    def beside(self, label: "Flaw") -> "Flaw":
        """The same with a flaw of the label."""
        return replace(self, others=(*self.others, label))

    def each(self, error: Callable[["Flaw"], E]) -> E:
        """One error about all cells of the row, of the function that makes the error about one of them."""
        return error(self).with_others([error(other) for other in self.others], self.more)

    def error(self, place: Place, value: str, absent: str = "the value is missing") -> StreamError:
        """The error about the cell; ``absent`` is the problem if nothing is there."""
        problem = absent if self.absent else self.problem
        return StreamError(problem, place=place, remedies=self.remedies, value=value, facts=self.facts)


class RowFlaws:
    """Collects the flaws of rows: all are counted, the first of each row are listed."""

    def __init__(self) -> None:
        self._listed: dict[int, list[Flaw]] = {}
        self._more: Counter[int] = Counter()

    def add(self, row: int, flaw: Flaw) -> None:
        """One more flaw of a row."""
        listed = self._listed.setdefault(row, [])
        if len(listed) < MOST_PROBLEMS:
            listed.append(flaw)
        else:
            self._more[row] += 1

    def add_cells(self, invalid: NDArray[np.bool_], flaw: Callable[[int, int], Flaw]) -> None:  # (n, d)
        """Those of the invalid cells; `flaw` makes that of a row and a place."""
        for row in np.flatnonzero(invalid.any(axis=1)).tolist():
            places = np.flatnonzero(invalid[row]).tolist()
            for place in places[:MOST_PROBLEMS]:
                self.add(row, flaw(row, place))
            self._more[row] += max(0, len(places) - MOST_PROBLEMS)

    def by_row(self) -> dict[int, Flaw]:
        """The first flaw of each row in the order of the features, with the others."""
        found = {}
        for row, flaws in self._listed.items():
            first, *others = sorted(flaws, key=lambda flaw: flaw.feature or 0)
            found[row] = replace(first, others=tuple(others), more=self._more[row])
        return found


class Cells(Protocol):
    """Some rows of a source."""

    @property
    def values(self) -> NDArray[np.float64]: ...  # (n, d): the numbers
    @property
    def codes(self) -> Codes: ...  # (n, d): what they are
    @property
    def text_codes(self) -> Codes: ...  # (n, t): what the texts are
    @property
    def lines(self) -> NDArray[np.int64]: ...  # (n,): the line of each row, or the row in a table without lines, from 1
    @property
    def typed(self) -> bool: ...  # whether the source distinguishes numbers from strings
    @property
    def readable(self) -> bool: ...  # whether all texts can be decoded; False: perhaps not

    def texts(self, place: int) -> list[str | None]:
        """A column of texts; None if a text cannot be decoded."""

    def text(self, place: int, row: int) -> str | None:
        """One of them."""

    def keys(self, place: int) -> NDArray[np.float64]:
        """A column of texts as keys of categories (`nolana.columns.keys`), NaN for a missing value."""

    def seconds(self, place: int) -> NDArray[np.float64]:
        """A column of texts as seconds since the epoch, NaN for a missing value or one that is no date or time."""

    def floats(self, place: int, *, quoted: bool = False) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A column of texts as doubles, and which of them are valid; quoted: "1" of JSON is a number too."""

    def integers(self, place: int, *, quoted: bool = False) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """A column of texts as 64-bit integers, and which of them are valid; quoted: "1" of JSON is a number too."""

    def booleans(self, place: int) -> NDArray[np.bool_]:
        """A column of texts as true and false; valid only where the code is TRUTH."""

    def raw(self, row: int) -> str:
        """The text of a row in the source."""

    def where(self, rows: NDArray[np.bool_]) -> "Cells":
        """The rows where it is true."""


@dataclass(frozen=True)
class TextCells:
    """Rows of one window of text."""

    values: NDArray[np.float64]
    codes: Codes
    spans: NDArray[np.int64]  # (n, t, 2): begin, end
    text_codes: Codes
    rows: NDArray[np.int64]  # (n, 2): begin, end
    lines: NDArray[np.int64]
    data: bytes
    decode: Callable[[bytes], str]
    _decoded: dict[int, list[str | None]] = field(default_factory=dict)
    _seconds: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def texts(self, place: int) -> list[str | None]:
        if place in self._decoded:
            return self._decoded[place]
        data, decode = self.data, self.decode
        spans = self.spans[:, place].tolist()
        texts: list[str | None]
        try:
            texts = [decode(data[begin:end]) for begin, end in spans]
        except ValueError:
            texts = [_decode_or_none(decode, data[begin:end]) for begin, end in spans]
        self._decoded[place] = texts
        return texts

    def text(self, place: int, row: int) -> str | None:
        begin, end = self.spans[row, place].tolist()
        return _decode_or_none(self.decode, self.data[begin:end])

    @property
    def typed(self) -> bool:
        return self.decode is decode_json

    @cached_property
    def readable(self) -> bool:
        if not len(self.rows):
            return True
        text = self.data[int(self.rows[0, 0]) : int(self.rows[-1, 1])]
        if self.typed and b"\\" in text:  # it may be half of a surrogate pair
            return False
        if text.isascii():
            return True
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def keys(self, place: int) -> NDArray[np.float64]:
        codes = self.text_codes[:, place]
        missing = is_missing(codes)
        if self.decode not in (decode_csv, decode_json):  # the text was changed for the parser
            texts = self.texts(place)
            return keys([None if gone else text for text, gone in zip(texts, missing.tolist(), strict=True)])
        spans = np.ascontiguousarray(self.spans[:, place])
        spans[missing] = -1
        found = text_parsers().hash_fields(self.data, spans, self.typed)
        if self.typed:
            for row in np.flatnonzero((np.isnan(found) & ~missing) | (codes == NUMBER)).tolist():
                text = self.text(place, row)
                is_fraction = codes[row] == NUMBER and text is not None and not text.lstrip("-").isdigit()
                found[row] = key(float(text or "") if is_fraction else text)
        return found

    def seconds(self, place: int) -> NDArray[np.float64]:
        if place not in self._seconds:
            self._seconds[place] = times.column(self.texts(place))
        return self._seconds[place]

    def floats(self, place: int, *, quoted: bool = False) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return self._each(text_parsers().number_fields, place, quoted)

    def integers(self, place: int, *, quoted: bool = False) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        values, valid = self._each(text_parsers().integer_fields, place, quoted)
        return values.view(np.int64), valid  # NumPy has two names for int64, and only one is np.int64

    def _each(
        self, parse: Callable[[bytes, NDArray[np.int64]], tuple[NDArray[N], int]], place: int, quoted: bool
    ) -> tuple[NDArray[N], NDArray[np.bool_]]:
        spans = np.zeros((len(self.lines), 3), dtype=np.int64)
        spans[:, :2] = self.spans[:, place]
        valid = (self.text_codes[:, place] != TEXT) | quoted  # 1 is a number, "1" in JSON only if one is expected
        values, invalid = parse(self.data, spans)
        at = invalid if invalid >= 0 else len(spans)
        while at < len(spans):  # a few rows at a time, or many invalid ones would cost their square
            some, invalid = parse(self.data, spans[at : at + 64])
            count = invalid if invalid >= 0 else len(some)
            values[at : at + count] = some[:count]
            at += count
            if invalid >= 0:
                valid[at] = False
                at += 1
        return values, valid

    def booleans(self, place: int) -> NDArray[np.bool_]:
        return np.array([(text or "").strip().lower() == "true" for text in self.texts(place)], dtype=bool)

    def raw(self, row: int) -> str:
        begin, end = self.rows[row].tolist()
        return self.data[begin:end].decode("utf-8", "replace")

    def where(self, rows: NDArray[np.bool_]) -> "TextCells":
        return replace(
            self,
            values=self.values[rows],
            codes=self.codes[rows],
            spans=self.spans[rows],
            text_codes=self.text_codes[rows],
            rows=self.rows[rows],
            lines=self.lines[rows],
            _decoded={p: [t for t, k in zip(c, rows, strict=True) if k] for p, c in self._decoded.items()},
            _seconds={place: seconds[rows] for place, seconds in self._seconds.items()},
        )


def _decode_or_none(decode: Callable[[bytes], str], field: bytes) -> str | None:
    try:
        return decode(field)
    except ValueError:
        return None


def decode_csv(field: bytes, errors: str = "strict") -> str:
    """The text of a CSV field; ValueError if it is not UTF-8."""
    if field[:1] == b'"' and field[-1:] == b'"' and len(field) >= 2:
        field = field[1:-1].replace(b'""', b'"')
    return field.decode("utf-8", errors)


def decode_json(value: bytes) -> str:
    """The text of a JSON string, or the letters of another value; ValueError if it is not Unicode."""
    if not value.startswith(b'"'):
        return value.decode("utf-8")
    if b"\\" not in value:
        return value[1:-1].decode("utf-8")
    text = str(json.loads(value.decode("utf-8"), strict=False))
    text.encode("utf-8")  # half of a surrogate pair is not text
    return text
