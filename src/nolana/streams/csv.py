"""CSV: which columns there are; the engine parses the rows.

RFC 4180 (Y. Shafranovich, 2005); blanks around fields and blank lines are ignored.
"""

from typing import Any

import numpy as np

from nolana._backend import engine
from nolana.errors import StreamError
from nolana.streams.cells import Cells, TextCells, decode_csv
from nolana.streams.columns import Columns
from nolana.streams.options import SourceOptions
from nolana.streams.plan import Plan
from nolana.streams.reader import Problem, TextReader
from nolana.streams.sources import Bytes, fail, stream_error
from nolana.streams.times import seconds

__all__ = ["CsvReader"]

DELIMITERS = (",", ";", "\t")
MEANING = {
    "quote": "text after the closing quote: {value}",
    "open": "the quote that begins here is not closed before the end of the file",
}


class CsvReader(TextReader):
    """The rows of a CSV text.

    The first line has names where the options say so or name a column, or where none of its features is a number.
    """

    format = "csv"
    title = "CSV"
    endings = ("csv", "tsv")
    own_options = ("header", "delimiter")
    decode = staticmethod(decode_csv)

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super().__init__(source, options, plan)
        target, features, ignore = options.target, options.features, options.ignore
        header, delimiter = options.header, options.delimiter
        if plan is not None:  # it selects the columns, not the options
            target, features, ignore = False, None, None
            header = (plan.named or bool(plan.header)) if header is None else header
            delimiter = delimiter or plan.delimiter
        self.delimiter = self._key = delimiter or max(DELIMITERS, key=lambda d: len(self._fields(d)[0]))
        first, self._first_line, end, lines = self._first_row()
        named = [which for which in (target, *(features or ()), *(ignore or ())) if isinstance(which, str)]
        if named and header is False:
            raise ValueError(f"column {named[0]!r} is a name, but header=False says that columns have none")
        names = [decode_csv(field, "replace") for field in first] if named or header is not False else None
        self.columns = self._columns(names, len(first))
        chosen, _ = self.columns.choose(target, features, ignore)
        if header is None and not named and any(_is_value(first[j]) for j in chosen):
            self.columns = self._columns(None, len(first))
        self.header = self.columns.names is not None
        self._inferred_no_header = header is None and not self.header
        if self.header:
            self.text.consume(end, lines)

    @classmethod
    def recognises(cls, line: bytes) -> bool:
        """Whether the line has a delimiter."""
        return any(delimiter.encode() in line for delimiter in DELIMITERS)

    def plan_fields(self) -> dict[str, Any]:
        """Delimiter and header."""
        return {"delimiter": self.delimiter, "header": self.header}

    def _columns(self, names: list[str] | None, width: int) -> Columns:
        line, hint = self._first_line, f"; is the delimiter {self.delimiter!r}?"
        return Columns(self.path, names, width, f"line {line}", line, hint)

    def _parse(self, *arguments: Any) -> Any:
        return engine().csv_cells(*arguments)

    def cell_error(self, cells: Cells, row: int, column: int, what: str) -> StreamError:
        assert isinstance(cells, TextCells)
        begin, end = cells.rows[row].tolist()
        data = cells.data[begin:end]
        begin, end, lines = engine().csv_fields(data, 0, True, self.delimiter)[0][column].tolist()
        line = int(cells.lines[row]) + lines
        if self._inferred_no_header and line == self._first_line and "not a number" in what:
            what += "; header=True if this line has the names of the columns"
        return self._column_error(what, line, column, data[begin:end].decode("utf-8", "replace"))

    def _row_error(self, problem: Problem) -> StreamError:
        kind, lines, column, begin, end = problem
        value, what = self.text.show(begin, end), MEANING.get(kind, "")
        width = self.columns.width
        if kind == "width":
            count, column = column, min(column, width) + 1
            what = f"the row has {count} field{'s' * (count != 1)}, line {self._first_line} has {width}"
            what = ("missing: " if count < width else "too many: ") + what
        return self._column_error(what, self.text.line + lines, column - 1, value)

    def _fields(self, delimiter: str) -> tuple[Any, int, int, Any]:
        """Spans of the first row, its end, its line ends and its problem."""
        text = self.text
        while True:
            spans, end, lines, problem = engine().csv_fields(text.data, text.start, text.final, delimiter)
            if len(spans) or text.final:
                return spans, end, lines, problem
            text.read_more()

    def _first_row(self) -> tuple[list[bytes], int, int, int]:
        """Fields of the first row, the number of its line, its end and its line ends."""
        spans, end, lines, problem = self._fields(self.delimiter)
        text = self.text
        if problem is not None:
            kind, line, column, begin, stop = problem
            value = text.show(begin, stop)
            raise stream_error(self.path, MEANING[kind], line=text.line + line, column=column, value=value)
        if not len(spans):
            if text.unfinished_line is not None:
                fail(self.path, 'its only line has no line end; last_line="take" reads it', line=text.unfinished_line)
            fail(self.path, "the source is empty: it has neither a header nor rows")
        fields = [text.data[begin:stop] for begin, stop, _ in spans.tolist()]
        return fields, text.line + int(spans[0, 2]), end, lines


def _is_value(field: bytes) -> bool:
    """Whether a field is a number, a date or a time, and so hardly the name of a column."""
    whole = np.array([[0, len(field), 0]], dtype=np.int64)
    return bool(engine().number_fields(field, whole)[1] < 0) or seconds(decode_csv(field, "replace")) is not None
