"""CSV: which columns there are; the engine parses the rows.

RFC 4180 (Y. Shafranovich, 2005); blanks around fields and blank lines are ignored.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nolana.backend import text_parsers
from nolana.columns.times import seconds
from nolana.errors import OptionError, Remedy, StreamError
from nolana.sources.bytes import Bytes
from nolana.sources.cells import NUMBER, TEXT, Cells, Flaw, TextCells, decode_csv
from nolana.sources.columns import Columns
from nolana.sources.filters import Lines, decimal_points
from nolana.sources.options import SourceOptions, Target
from nolana.sources.plan import Plan, TextFormat
from nolana.sources.reader import TextReader

if TYPE_CHECKING:
    from nolana.engine.protocol import CellRows, Integers, Problem  # loads the engine

__all__ = ["CsvReader"]

DELIMITERS = (",", ";", "\t")
DECIMAL_COMMA = re.compile(r'"?\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*"?')
DECIMAL_POINT = re.compile(DECIMAL_COMMA.pattern.replace(",", r"\."))
MEANING = {
    "quote": "text after the closing quote: {value}",
    "open": "the quote that begins here is not closed before the end of the file",
}


class CsvReader(TextReader):
    """The rows of a CSV text.

    The first line has names if the options say so or name a column, or if none of its features is a number.
    """

    format = "csv"
    title = "CSV"
    endings = ("csv", "tsv")
    own_options = ("header", "names", "delimiter", "decimal", "comment")
    decode: Callable[[bytes], str] = staticmethod(decode_csv)

    def _normalise(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super()._normalise(source, options, plan)
        self._decimal = options.decimal or (plan and plan.decimal) or "."
        if self._decimal == ",":
            self._points = decimal_points(options.delimiter or (None if plan is None else plan.delimiter))
            source.filter(lambda file: Lines(file, self._points))
            self.decode = self._decode_original
        if source.messages is not None:
            refuse = source.messages.refuse_open_quotes
            source.filter(lambda file: Lines(file, refuse))

    def _decode_original(self, field: bytes) -> str:
        return decode_csv(self._points(field))

    def original(self, text: str) -> str:
        return self._points(text.encode()).decode() if self._decimal == "," else text

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super().__init__(source, options, plan)
        target, features, ignore = options.target, options.features, options.ignore
        header, delimiter = options.header, options.delimiter
        if plan is not None:  # it selects the columns, not the options
            target, features, ignore = False, None, None
            header = (plan.named or bool(plan.header)) if header is None else header
            delimiter = delimiter or plan.delimiter
        by_message = self.by_message
        self.delimiter = delimiter or self._infer_delimiter()
        self.header = self._inferred_no_header = False
        self._first_line, self._has_width = self.cursor.line, ""
        if options.names is not None:
            self._name_columns(list(options.names), header=bool(options.header))
            return
        if by_message and plan is not None:
            self._take_columns(plan, options.target)
            return
        first, self._first_line, end, lines = self._first_row()
        named = [which for which in (target, *(features or ()), *(ignore or ())) if isinstance(which, str)]
        if named and by_message:
            remedies = [Remedy("names", ..., "names the columns of messages")]
            what = f"{named[0]!r} is a name, and CSV in messages has no header"
            raise StreamError(what, path=self.path, remedies=remedies)
        if named and header is False:
            raise OptionError("header", False, f"says that columns have no names, but {named[0]!r} is one")
        header = False if by_message else header
        names = [decode_csv(field, "replace") for field in first] if named or header is not False else None
        self.columns = self._columns(names, len(first))
        chosen, _ = self.columns.choose(target, features, ignore)
        if header is None and not named and any(_is_value(first[j]) for j in chosen):
            self.columns = self._columns(None, len(first))
        self.header = self.columns.names is not None
        self._inferred_no_header = header is None and not self.header
        if self.header:
            self.cursor.consume(end, lines)

    def _name_columns(self, names: list[str], *, header: bool) -> None:
        """The names are known, and replace those of a header."""
        if header:
            _, self._first_line, end, lines = self._first_row()
            self.cursor.consume(end, lines)
        self._has_width = f"there are {len(names)} names"
        self.header, self.columns = header, self._columns(names, len(names))

    def _take_columns(self, plan: Plan, target: Target) -> None:
        """Messages have the columns of the plan, in its order; those to predict may have no label."""
        keys = [column.column for column in plan.columns or ()]
        names = list(plan.known or ()) or [key for key in keys if isinstance(key, str)]
        width = len(names) or int(plan.width or 0)
        label = plan.target
        if target is False and label is not None and len(self._fields(self.delimiter)[0]) == width - 1:
            names, width = [name for name in names if name != label], width - 1
        self._has_width = f"the model has {width}"
        self.columns = self._columns(names or None, width)

    @classmethod
    def recognises(cls, line: bytes) -> bool:
        """Whether the line has a delimiter."""
        return any(delimiter.encode() in line for delimiter in DELIMITERS)

    def plan_fields(self) -> TextFormat:
        return {
            "delimiter": self.delimiter,
            "header": self.header,
            "decimal": self._decimal,
            "comment": self._comment,
        }

    def check_labels(self, cells: Cells, place: int, target: int) -> None:
        texts, other = cells.texts(place), DECIMAL_COMMA if self._decimal == "." else DECIMAL_POINT
        if texts and all(text is not None and other.fullmatch(text) for text in texts):
            name, mark = ("comma", ",") if self._decimal == "." else ("point", ".")
            remedies = (Remedy("decimal", mark, "reads it"), Remedy("labels", "text", "makes it a class"))
            what = f"label {{value}} is a number with a decimal {name}"
            raise self.cell_error(cells, 0, target, Flaw(None, "label", what, remedies))

    def check_strings(self, cells: Cells, place: int, column: int) -> None:
        """Numbers with another decimal character are not categories, nor are numbers under a name."""
        other = DECIMAL_COMMA if self._decimal == "." else DECIMAL_POINT
        codes = cells.text_codes[:, place]
        strings = np.flatnonzero(codes == TEXT).tolist()
        texts = cells.texts(place)
        are_numbers = strings and all(other.fullmatch(texts[row] or "") for row in strings)
        if are_numbers or (self._inferred_no_header and strings == [0] and (codes[1:] == NUMBER).any()):
            flaw = Flaw(place, "number", "{value} is not a number", numeric=True)
            raise self.cell_error(cells, strings[0], column, flaw)

    def _infer_delimiter(self) -> str:
        """The one that makes most fields of the first row; not the comma of a decimal number where two do."""
        fields = {delimiter: len(self._fields(delimiter)[0]) for delimiter in DELIMITERS}
        if self._decimal == ",":
            del fields[","]
        most = max(fields.values())
        best = [delimiter for delimiter, count in fields.items() if count == most]
        return best[-1] if most > 1 else DELIMITERS[0]

    def _columns(self, names: list[str] | None, width: int) -> Columns:
        line, remedies = self._first_line, self._comment_remedies(names[0]) if names else ()
        hint = f"is the delimiter {self.delimiter!r}?"
        where = f"the first {self.unit}" if self.by_message else f"line {line}"
        return Columns(self.path, names, width, where, None if self.by_message else line, hint, remedies)

    def _parse(self, start: int, limit: int) -> "CellRows":
        text = self.cursor
        return text_parsers().csv_cells(text.data, start, text.final, limit, self.delimiter, *self._wanted)

    def cell_error(self, cells: Cells, row: int, column: int, flaw: Flaw) -> StreamError:
        assert isinstance(cells, TextCells)
        begin, end = cells.rows[row].tolist()
        data = cells.data[begin:end]
        begin, end, lines = text_parsers().csv_fields(data, 0, True, self.delimiter)[0][column].tolist()
        line = int(cells.lines[row]) + lines
        value = self.original(data[begin:end].decode("utf-8", "replace"))
        remedies = flaw.remedies
        if flaw.numeric and self._decimal == "," and DECIMAL_POINT.fullmatch(value):
            flaw = replace(flaw, problem="{value} is not a number with a decimal comma")
            remedies = (Remedy("decimal", ".", "reads decimal points"),)
        elif flaw.numeric and self._decimal == "." and DECIMAL_COMMA.fullmatch(value):
            flaw = replace(flaw, problem="{value} is not a number")
            remedies = (Remedy("decimal", ",", "reads decimal commas"),)
        elif column == 0:
            remedies += self._comment_remedies(value)
        if self._inferred_no_header and line == self._first_line and flaw.numeric:
            remedies += (Remedy("header", True, "if this line has the names of the columns"),)
        return replace(flaw, remedies=remedies).error(self._place(line, column), value, "the field is empty")

    def _row_error(self, problem: "Problem") -> StreamError:
        kind, lines, column, begin, end = problem
        value, what = self.original(self.cursor.show(begin, end)), MEANING.get(kind, "")
        remedies: tuple[Remedy, ...] = ()
        width = self.columns.width
        if kind == "width":
            count, column = column, min(column, width) + 1
            has_width = self._has_width or f"{self.columns.where} has {width}"
            what = f"the row has {count} field{'s' * (count != 1)}, {has_width}"
            what = ("missing: " if count < width else "too many: ") + what
            remedies = self._comment_remedies(value)
        place = self._place(self.cursor.line + lines, column - 1)
        return StreamError(what, place=place, value=value, remedies=remedies)

    def _fields(self, delimiter: str) -> "tuple[Integers, int, int, Problem | None]":
        """Spans of the first row, its end, its line ends and its problem; messages that are no rows are left out."""
        text, at = self.cursor, 0
        while True:
            spans, end, lines, problem = text_parsers().csv_fields(text.data, text.start + at, text.final, delimiter)
            if problem is not None and self.by_message:
                at = self._next_line(end) - text.start
            elif len(spans) or text.final:
                return spans, end, lines, problem
            else:
                text.read_more()

    def _first_row(self) -> tuple[list[bytes], int, int, int]:
        """Fields of the first row, the number of its line, its end and its line ends."""
        spans, end, lines, problem = self._fields(self.delimiter)
        text = self.cursor
        if problem is not None:
            kind, line, column, begin, stop = problem
            value = text.show(begin, stop)
            raise StreamError(MEANING[kind], path=self.path, line=text.line + line, column=column, value=value)
        if not len(spans):
            if text.unfinished_line is not None:
                remedies = [Remedy("last_line", "take", "reads it")]
                what, line = "its only line has no line end", text.unfinished_line
                raise StreamError(what, path=self.path, line=line, remedies=remedies)
            raise StreamError("the source is empty: it has neither a header nor rows", path=self.path)
        fields = [text.data[begin:stop] for begin, stop, _ in spans.tolist()]
        return fields, text.line + int(spans[0, 2]), end, lines


def _is_value(field: bytes) -> bool:
    """Whether a field is a number, a date or a time, and so hardly the name of a column."""
    whole = np.array([[0, len(field), 0]], dtype=np.int64)
    return bool(text_parsers().number_fields(field, whole)[1] < 0) or seconds(decode_csv(field, "replace")) is not None
