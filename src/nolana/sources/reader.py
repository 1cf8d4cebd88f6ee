"""What every format implements: rows as cells, a position to resume from, and errors that name a place."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nolana.backend import text_parsers
from nolana.columns.infer import are_prose, both_declared
from nolana.errors import Place, Remedy, StreamError, StreamWarning, joined_problems
from nolana.sources.bad_rows import BadRow
from nolana.sources.blocks import Position, joined
from nolana.sources.categories import infer_slots
from nolana.sources.cells import ABSENT, Cells, Flaw, TextCells
from nolana.sources.columns import Columns
from nolana.sources.growing import infer_growth
from nolana.sources.labels import infer_label_kind
from nolana.sources.new_columns import NewColumn
from nolana.sources.options import Column, ColumnKind, SourceOptions, Target
from nolana.sources.plan import Plan, PlannedColumn, infer_column
from nolana.sources.sources import Bytes, fail, warn
from nolana.sources.text import text_of

__all__ = ["Problem", "Reader", "TextReader"]

COMMENTS = ("#", "//", "%")
DECLARED = ("categorical_features", "text_features")
LONGEST_RAW = 1000  # bytes of a row without an end that are reported
Problem = tuple[str, int, int, int, int]  # kind, line ends before it, column, begin, end


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
    typed: ClassVar[bool] = False  # whether the source distinguishes numbers, true and false from text
    quoted_numbers: ClassVar[bool] = False  # whether a text in a column of numbers is the number that it contains
    unit: str = "line"  # what a row is in messages
    indexed: ClassVar[bool] = False  # whether all columns are numbers known by their index

    path: str
    live: bool  # rows must be returned as soon as they have come
    encoding: str | None  # of text
    columns: Columns

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
                fail(self.path, what, remedies=remedies)
        elif width != plan.width:
            removed = plan.target if target is False and isinstance(plan.target, int) else None
            if removed is None or width != (plan.width or 0) - 1:
                fail(self.path, f"expected {plan.width} columns, as in the plan, got {width} without names to match")
            keys = [key - (key > removed) if isinstance(key, int) else key for key in keys]
        if names is not None and plan.known is not None:
            known = set(plan.known)
            self._new_names = [name for name in names if name not in known]
        columns = [self.columns.index(key, "plan") for key in keys]
        return columns, None if label is None else self.columns.index(label, "target")

    def infer_plan(self, options: SourceOptions, columns: list[int], target: int | None) -> Plan:
        """The plan for these columns, inferred from the first block."""
        cells = self.peek(options.block_rows, columns if target is None else [*columns, target])
        kept = {self.columns.index(which, "keep_column") for which in options.keep_column or ()}
        declared = self._declared(options)
        encoding = options.columns_as_numbers
        planned, left_out, refused = list[PlannedColumn](), dict[int, str](), list[StreamError]()
        for place, column in enumerate(columns):
            growing = "keep" if column in kept else options.growing
            key = self.columns.key(column)
            inferred, text = infer_column(key, cells, place, encoding.categories, growing, self.quoted_numbers)
            if text >= 0:
                refused.append(self.cell_error(cells, text, column, _column_of_strings(place, key)))
            if column in declared:
                inferred = PlannedColumn(key, declared[column])
            elif inferred.kind == "text":
                self._check_strings(cells, place, column)
                if encoding.categories == "native" and are_prose(cells.texts(place)):
                    what = f"{self.columns.describe(column)} looks like text, and is learned as a category"
                    remedies = [
                        Remedy("text_features", [key], "learns its words"),
                        Remedy("ignore", [key], "leaves it out"),
                    ]
                    warn(StreamWarning(what, place=self.path, remedies=remedies))
            sized = encoding.categories == "onehot" and "max_categories" not in options.specified and not self.live
            if inferred.kind == "text" and sized:  # the first rows of a pipe are as many as have come: no sample
                inferred = replace(inferred, slots=infer_slots(cells.texts(place), options.max_categories))
            planned.append(inferred)
            if inferred.kind == "number" and growing == "leave_out" and options.features is None:
                values, valid = cells.floats(place, quoted=self.quoted_numbers)
                values = values[valid & np.isfinite(values) & (cells.text_codes[:, place] != ABSENT)]
                if (growth := infer_growth(values)) is not None:
                    left_out[place] = growth
        if refused:
            raise joined_problems(refused)
        if target is not None and options.labels is None and options.growing == "leave_out":
            self._check_labels(cells, len(columns), target)
        if len(left_out) == len(planned):  # at least one feature must be left
            left_out = {}
        for place, growth in left_out.items():
            column = columns[place]
            what = f"is a {growth}: it grows in all of the first {len(cells.lines):,} rows. It is left out"
            remedies = [Remedy("keep_column", [self.columns.key(column)], "learns from it")]
            warn(StreamWarning(f"{self.columns.describe(column)} {what}", place=self.path, remedies=remedies))
        names = self.columns.names
        return Plan(
            self.format,
            tuple(column for place, column in enumerate(planned) if place not in left_out),
            left_out={self.columns.title(columns[place]): growth for place, growth in left_out.items()},
            known=None if names is None else tuple(names),
            target=None if target is None else self.columns.key(target),
            labels=None if target is None else infer_label_kind(cells, len(columns), self.typed),
            width=self.columns.width,
            options=encoding,
            **self.plan_fields(),
        )

    def _declared(self, options: SourceOptions) -> dict[int, ColumnKind]:
        """The kinds that the options declare, by column."""
        categories, texts = (
            {self.columns.index(which, option) for which in getattr(options, option) or ()} for option in DECLARED
        )
        for column in sorted(categories & texts):
            raise both_declared(options.text_features, self.columns.key(column))
        kinds: dict[int, ColumnKind] = dict.fromkeys(texts, "words")
        return kinds | dict.fromkeys(categories, "text")

    def _check_labels(self, cells: Cells, place: int, target: int) -> None:  # noqa: B027  (most formats have nothing to check)
        """StreamError if the labels of the first block are hardly what the user means."""

    def _check_strings(self, cells: Cells, place: int, column: int) -> None:  # noqa: B027
        """StreamError if the strings of a column of the first block are hardly categories."""

    def plan_fields(self) -> dict[str, Any]:
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

    def places(self, lines: list[int]) -> dict[str, list[Any]] | None:
        """The places of the last rows in a source of messages, by field; None: they have lines."""
        return None

    def original(self, text: str) -> str:
        """A row or field, from the text that was parsed, as the source has it."""
        return text

    @property
    @abstractmethod
    def final(self) -> bool:
        """Whether nothing follows what was read."""

    @property
    @abstractmethod
    def place(self) -> tuple[int, int]:
        """Offset and line of the next row."""

    @property
    @abstractmethod
    def share(self) -> float | None:
        """The part that was read, from 0 to 1; None if it is unknown."""

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
    def read_more(self) -> None:
        """Reads on."""

    @abstractmethod
    def cell_error(self, cells: Cells, row: int, column: int, flaw: Flaw) -> StreamError:
        """The error about a cell."""

    @abstractmethod
    def checksums(self) -> dict[str, Any]:
        """Checksums that identify the source and the position."""

    @abstractmethod
    def resume(self, position: Position, checksums: Mapping[str, Any]) -> None:
        """Continues from a position; OtherSourceError if the checksums differ."""

    @abstractmethod
    def begins_like(self, position: Mapping[str, Any]) -> bool:
        """Whether the source begins as the one of a position did; it may be the same."""

    @abstractmethod
    def resembles(self, position: Mapping[str, Any]) -> bool:
        """Whether the source has much in common with the one of a position; it may be a changed one."""

    @property
    def unfinished_line(self) -> int | None:
        """A last line that was left because it has no line end."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Closes what was opened."""


class TextReader(Reader):
    """What text formats share; ``_parse`` calls the engine with ``_key``, ``_row_error`` describes a problem."""

    decode: Callable[[bytes], str]
    _key: Any  # what the engine needs to know about the columns

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        text_parsers()  # an error before anything is read
        self._normalise(source, options, plan)
        self.text = text_of(source, options.chunk_bytes, leave_last_line=options.last_line == "leave")
        self.by_message = source.messages is not None
        self.unit = "line" if source.messages is None else source.messages.unit
        self.path, self.live, self.encoding = source.path, source.live, source.encoding
        self._numbers: list[int] = []
        self._texts: list[int] = []
        self._places = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._too_long: list[BadRow] = []  # rows without an end before the first row, not yet returned

    def _normalise(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        """Changes the text to what the engine reads."""

    def _comment_remedies(self, row: str) -> tuple[Remedy, ...]:
        """What to do if a row looks like a comment."""
        marks = [mark for mark in COMMENTS if row.lstrip().startswith(mark)]
        return tuple(Remedy("comment", mark, f"if lines that begin with {mark} are comments") for mark in marks[:1])

    def _place(self, line: int, column: int) -> Place:
        return replace(self.text.place(line), column=column + 1, name=self.columns.name(column))

    def places(self, lines: list[int]) -> dict[str, list[Any]] | None:
        return self.text.places(lines)

    @property
    def final(self) -> bool:
        return self.text.final

    @property
    def place(self) -> tuple[int, int]:
        return self.text.offset, self.text.line

    @property
    def share(self) -> float | None:
        return self.text.source.share

    def read_more(self) -> None:
        self.text.read_more()

    def checksums(self) -> dict[str, Any]:
        return self.text.checksums()

    def resume(self, position: Position, checksums: Mapping[str, Any]) -> None:
        self.text.resume(position, checksums)

    def begins_like(self, position: Mapping[str, Any]) -> bool:
        return self.text.begins_like(position)

    def resembles(self, position: Mapping[str, Any]) -> bool:
        return self.text.resembles(position)

    @property
    def unfinished_line(self) -> int | None:
        return self.text.unfinished_line

    def close(self) -> None:
        self.text.source.close()

    def select(self, numbers: list[int], texts: list[int]) -> None:
        self._numbers, self._texts = numbers, texts
        self._places = tuple(np.full(self.columns.width, -1, dtype=np.int64) for _ in range(2))  # type: ignore[assignment]
        self._places[0][numbers] = np.arange(len(numbers))
        self._places[1][texts] = np.arange(len(texts))

    def peek(self, limit: int, columns: list[int]) -> Cells:
        self.select([], columns)
        text, ends = self.text, 1 if self.live else limit
        while True:
            text.read_lines(ends)
            at, parts, count = text.start, list[TextCells](), 0
            while count < limit:
                cells, end, _, problem = self._cells(at, limit - count)
                parts.append(cells)
                count += len(cells.lines)
                at = end if problem is None else self._next_line(end)
                if problem is None:
                    break
            if count == limit or text.final or (text.live and count) or len(text.data) - at > text.longest:
                if at > text.start or not text.is_too_long:
                    return _join(parts)
                self._too_long.append(self._leave_long_row())
            ends = text.line_ends() * (1 if text.live else 2) + 1  # there are blank lines, or rows of several lines

    def parse(self, limit: int) -> tuple[TextCells, BadRow | None]:
        text = self.text
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
        text = self.text
        begin = self.original(text.show(text.start, text.start + LONGEST_RAW))
        row = BadRow(text.too_long(), "format", begin)
        text.skip_line()
        return row

    def _next_line(self, at: int) -> int:
        """The offset of the next line: of a malformed row only its first line is lost."""
        end = self.text.data.find(b"\n", at)
        return len(self.text.data) if end < 0 else end + 1

    def _cells(self, start: int, limit: int) -> tuple[TextCells, int, int, Problem | None]:
        """Rows of the window from an offset: cells, their end, their line ends, the problem that ended them."""
        text, widths = self.text, (len(self._numbers), len(self._texts))
        parsed = self._parse(text.data, start, text.final, limit, self._key, *self._places, *widths)
        values, codes, spans, span_codes, rows, end, lines, problem = parsed
        lines_of, decode = rows[:, 2] + text.line, self.decode
        return (
            TextCells(values, codes, spans, span_codes, rows[:, :2], lines_of, text.data, decode),
            end,
            lines,
            problem,
        )

    def _parse(self, *arguments: Any) -> Any:
        """Calls the engine."""
        raise NotImplementedError

    @abstractmethod
    def _row_error(self, problem: Problem) -> StreamError:
        """The error about a malformed row."""


def _join(parts: list[TextCells]) -> TextCells:
    """Rows of one window as one; their spans point into the same data."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    arrays: dict[str, Any] = {
        name: joined([getattr(part, name) for part in parts])
        for name in ("values", "codes", "spans", "text_codes", "rows", "lines")
    }
    return TextCells(**arrays, data=first.data, decode=first.decode)


def _column_of_strings(feature: int, key: Column) -> Flaw:
    """Why a column without a number cannot be learned."""
    remedies = (
        Remedy("categories", "hash"),
        Remedy("categories", "onehot", "turns strings into numbers"),
        Remedy("ignore", [key], "leaves the column out"),
    )
    what = "{value} is not a number, nor is any value of this column in the first block"
    return Flaw(feature, "number", what, remedies, numeric=True)
