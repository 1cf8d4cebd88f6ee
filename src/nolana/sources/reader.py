"""What every format implements: rows as cells, a position to resume from, and errors that name a place."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from nolana.backend import text_parsers
from nolana.errors import Place, Remedy, StreamError
from nolana.sources.bad_rows import BadRow, NewColumn
from nolana.sources.blocks import Cursor, joined
from nolana.sources.bytes import Bytes
from nolana.sources.cells import Cells, Flaw, TextCells
from nolana.sources.columns import Columns
from nolana.sources.filters import Lines, blank_comments
from nolana.sources.infer import infer_plan
from nolana.sources.options import Column, SourceOptions, Target
from nolana.sources.plan import Plan, TextFormat
from nolana.sources.text import MessageText, Text

if TYPE_CHECKING:
    from nolana.engine.protocol import CellRows, Integers, Problem  # loads the engine

__all__ = ["Reader", "TextReader"]

T = TypeVar("T")
COMMENTS = ("#", "//", "%")
LONGEST_RAW = 1000  # bytes of a row without an end that are reported


class Reader(ABC):
    """The rows of a source in one format.

    A format is a subclass that declares the names below, listed in ``formats.py``; detection, help texts and errors
    follow from them. It is constructed from a source, its options, and the plan of another stream or None.
    """

    format: ClassVar[str]  # its name
    title: ClassVar[str]  # its name in prose
    endings: ClassVar[tuple[str, ...]]  # of file names
    magic: ClassVar[tuple[bytes, ...]] = ()  # first bytes of a binary format; a text format has none
    own_options: ClassVar[tuple[str, ...]] = ()  # options that other formats do not have
    quoted_numbers: ClassVar[bool] = False  # whether a text in a column of numbers is the number that it contains
    unit: str = "line"  # what a row is in messages
    indexed: ClassVar[bool] = False  # whether all columns are numbers known by their index

    path: str
    live: bool  # rows must be returned as soon as they have come
    encoding: str | None  # of text
    columns: Columns
    cursor: Cursor

    @abstractmethod
    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None: ...

    @classmethod
    def recognises(cls, line: bytes) -> bool:
        """Whether the first line of a text is in this format."""
        return False

    # Which columns are read

    def choose(self, options: SourceOptions) -> tuple[list[int], int | None]:
        """The indices of the features and of the target that the options select."""
        return self.columns.choose(options.target, options.features, options.ignore)

    def match(self, plan: Plan, target: Target) -> tuple[list[int], int | None]:
        """The indices of the features and of the target of a plan: by name in any order, else by index."""
        label: Column | None = plan.target if target is None else None if target is False else target
        keys = [column.column for column in plan.columns or ()]
        names, width = self.columns.names, self.columns.width
        if plan.named:
            present = set(names or ())
            absent = [key for key in [*keys, label] if isinstance(key, str) and key not in present]
            if absent:
                has = "has no column names" if names is None else f"has: {', '.join(map(repr, names))}"
                remedies = [Remedy("target", False, "reads without labels")] if absent == [label] else []
                what = f"no column is named {', '.join(map(repr, absent))}; the source {has}"
                hint = self.columns.hint if width == 1 else ""
                raise StreamError(what, path=self.path, remedies=remedies, hint=hint)
        elif width != plan.width:
            removed = plan.target if target is False and isinstance(plan.target, int) else None
            if removed is None or width != (plan.width or 0) - 1:
                what = f"expected {plan.width} columns, as in the plan, got {width} without names to match"
                raise StreamError(what, path=self.path)
            keys = [key - (key > removed) if isinstance(key, int) else key for key in keys]
        if names is not None and plan.known is not None:
            known = set(plan.known)
            self._new_names = [name for name in names if name not in known]
        columns = [self.columns.index(key, "plan") for key in keys]
        return columns, None if label is None else self.columns.index(label, "target")

    def infer_plan(self, options: SourceOptions) -> Plan:
        """The plan for the columns that the options select, inferred from the first block."""
        return infer_plan(self, options, *self.choose(options))

    def check_labels(self, cells: Cells, place: int, target: int) -> None:  # noqa: B027  (most formats have nothing to check)
        """StreamError if the labels of the first block are hardly what the user means."""

    def check_strings(self, cells: Cells, place: int, column: int) -> None:  # noqa: B027
        """StreamError if the strings of a column of the first block are hardly categories."""

    def plan_fields(self) -> TextFormat:
        """What the format itself adds to a plan."""
        return {}

    _new_names: Sequence[str] = ()  # columns that the first block of the plan did not have

    def new_columns(self, cells: Cells) -> list[NewColumn]:
        """The columns of the rows that were just parsed that the first block of the plan did not have."""
        lines = cells.lines
        return [NewColumn(name, len(lines), int(lines[0])) for name in self._new_names if len(lines)]

    # Rows

    def _place(self, line: int, column: int) -> Place:
        """A cell, by the index of its column."""
        return Place(self.path, line, column + 1, self.columns.name(column), self.unit)

    def original(self, text: str) -> str:
        """A row or field, from the text that was parsed, as the source has it."""
        return text

    @abstractmethod
    def peek(self, limit: int, columns: list[int]) -> Cells:
        """The first rows with these columns as texts, without consuming them; malformed rows are left out."""

    @abstractmethod
    def select(self, numbers: list[int], texts: list[int]) -> None:
        """Sets which columns are read as numbers and which as texts."""

    @abstractmethod
    def parse(self, limit: int) -> tuple[Cells, BadRow | None]:
        """At most so many rows of what was read, and the row after them if it is malformed."""

    @abstractmethod
    def cell_error(self, cells: Cells, row: int, column: int, flaw: Flaw) -> StreamError:
        """The error about a cell."""


class TextReader(Reader):
    """What text formats share; ``_parse`` calls the engine, ``_row_error`` describes a problem."""

    cursor: Text
    cells: ClassVar[type[TextCells]] = TextCells
    decode: Callable[[bytes], str]
    _wanted: "tuple[Integers, Integers, int, int]"  # the place of each column among numbers and texts; how many

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        text_parsers()  # an error before anything is read
        self._normalise(source, options, plan)
        self.by_message = source.messages is not None
        if source.messages is None:
            self.cursor = Text(source, options.chunk_bytes, leave_last_line=options.last_line == "leave")
        else:
            self.cursor, self.unit = MessageText(source, source.messages, options.chunk_bytes), source.messages.unit
        self.path, self.live, self.encoding = source.path, source.live, source.encoding
        self._too_long: list[BadRow] = []  # rows without an end before the first row, not yet returned

    def _normalise(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        """Changes the text to what the engine reads."""
        self._comment = options.comment or (None if plan is None else plan.comment)
        if self._comment:
            blank = blank_comments(self._comment)
            source.filter(lambda file: Lines(file, blank))

    def _comment_remedies(self, row: str) -> tuple[Remedy, ...]:
        """What to do if a row looks like a comment."""
        marks = [mark for mark in COMMENTS if row.lstrip().startswith(mark)]
        return tuple(Remedy("comment", mark, f"if lines that begin with {mark} are comments") for mark in marks[:1])

    def _place(self, line: int, column: int) -> Place:
        return replace(self.cursor.place(line), column=column + 1, name=self.columns.name(column))

    def select(self, numbers: list[int], texts: list[int]) -> None:
        of_numbers, of_texts = np.full((2, self.columns.width), -1, dtype=np.int64)
        of_numbers[numbers], of_texts[texts] = np.arange(len(numbers)), np.arange(len(texts))
        self._wanted = of_numbers, of_texts, len(numbers), len(texts)

    def peek(self, limit: int, columns: list[int]) -> Cells:
        self.select([], columns)
        return _join(self._scan_block(limit, self._window_cells))

    def _window_cells(self, limit: int) -> tuple[list[TextCells], int, int]:
        """The cells of rows of the window, how many rows they are, and their end."""
        at, parts, count = self.cursor.start, list[TextCells](), 0
        while count < limit:
            cells, end, _, problem = self._cells(at, limit - count)
            parts.append(cells)
            count += len(cells.lines)
            at = end if problem is None else self._next_line(end)
            if problem is None:
                break
        return parts, count, at

    def _scan_block(self, limit: int, scan: Callable[[int], tuple[T, int, int]]) -> T:
        """What ``scan`` finds in a window of so many rows, or of all; it returns their number and their end too.

        A row without an end is left out.
        """
        text, ends = self.cursor, 1 if self.live else limit
        while True:
            text.read_lines(ends)
            found, rows, end = scan(limit)
            if rows == limit or text.final or (text.live and rows) or len(text.data) - end > text.longest:
                if end > text.start or not text.is_too_long:
                    return found
                self._too_long.append(self._leave_long_row())
            ends = text.line_ends() * (1 if text.live else 2) + 1  # there are blank lines, or rows of several lines

    def parse(self, limit: int) -> tuple[TextCells, BadRow | None]:
        text = self.cursor
        if self._too_long:
            return self._cells(text.start, 0)[0], self._too_long.pop(0)
        cells, end, lines, problem = self._cells(text.start, limit)
        if problem is None:
            text.consume(end, lines)
            return cells, self._leave_long_row() if text.is_too_long and not len(cells.lines) else None
        after = self._next_line(end)
        raw = text.data[end:after].rstrip(b"\r\n").decode("utf-8", "replace")
        refused = text.refused(text.line + problem[1])
        if refused is None:
            row = BadRow(self._row_error(problem), "format", self.original(raw))
        else:
            what, reason, raw = refused
            remedies = [Remedy("on_bad_row", "skip", "leaves it out")]
            row = BadRow(StreamError(what, place=text.place(text.line + problem[1]), remedies=remedies), reason, raw)
        text.consume(after, lines + 1)
        return cells, row

    def _leave_long_row(self) -> BadRow:
        """The row that has no end, of which its first line is left out."""
        text = self.cursor
        begin = self.original(text.show(text.start, text.start + LONGEST_RAW))
        row = BadRow(text.too_long(), "format", begin)
        text.skip_line()
        return row

    def _next_line(self, at: int) -> int:
        """The offset of the next line: of a malformed row only its first line is lost."""
        end = self.cursor.data.find(b"\n", at)
        return len(self.cursor.data) if end < 0 else end + 1

    def _cells(self, start: int, limit: int) -> "tuple[TextCells, int, int, Problem | None]":
        """Rows of the window from an offset: cells, their end, their line ends, the problem that ended them."""
        values, codes, spans, span_codes, rows, end, lines, problem = self._parse(start, limit)
        text, lines_of = self.cursor, rows[:, 2] + self.cursor.line
        cells = self.cells(values, codes, spans, span_codes, rows[:, :2], lines_of, text.data, self.decode)
        return cells, end, lines, problem

    @abstractmethod
    def _parse(self, start: int, limit: int) -> "CellRows":
        """Lets the engine parse rows of the window."""

    @abstractmethod
    def _row_error(self, problem: "Problem") -> StreamError:
        """The error about a malformed row."""


def _join(parts: list[TextCells]) -> TextCells:
    """Rows of one window as one; their spans point into the same data."""
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        values=joined([part.values for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
        spans=np.concatenate([part.spans for part in parts]),
        text_codes=np.concatenate([part.text_codes for part in parts]),
        rows=np.concatenate([part.rows for part in parts]),
        lines=np.concatenate([part.lines for part in parts]),
    )
