"""JSON lines: one flat object a line; the first block decides which keys are columns."""

import json
from typing import Any

import numpy as np

from nolana._backend import engine
from nolana.errors import StreamError
from nolana.streams.cells import Cells, TextCells, decode_json
from nolana.streams.columns import Columns
from nolana.streams.options import SourceOptions, Target
from nolana.streams.plan import Plan
from nolana.streams.reader import Problem, TextReader
from nolana.streams.sources import Bytes, fail, stream_error

__all__ = ["JsonReader"]

MEANING = {
    "json": 'this is not JSON from {value} on; a line is one object such as {"a": 1, "b": 2.5}',
    "object": '{value} is not an object; a line is one object such as {"a": 1, "b": 2.5}',
}


class JsonReader(TextReader):
    """The rows of JSON lines; keys that are not in the first block are ignored."""

    format = "jsonl"
    title = "JSON lines"
    endings = ("jsonl", "ndjson", "json")
    typed = True
    decode = staticmethod(decode_json)

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super().__init__(source, options, plan)
        keys = self._infer_keys(options.block_rows) if plan is None else _planned_keys(plan, options.target)
        self.columns = Columns(self.path, keys, len(keys), "the first block")
        self._key = [key.encode("utf-8", "surrogatepass") for key in keys]

    @classmethod
    def recognises(cls, line: bytes) -> bool:
        """Whether the line begins an object."""
        return line.lstrip().startswith(b"{")

    def _infer_keys(self, rows: int) -> list[str]:
        """The keys of the first row, its last one the default target, and before them those of later rows."""
        text = self.text
        text.read_lines(1 if text.live else rows)
        while not text.final and not text.data[text.start :].rpartition(b"\n")[0].strip():  # blank lines
            if text.is_too_long:
                self._too_long.append(self._leave_long_row())
            else:
                text.read_more()
        first: dict[str, None] = {}
        later: dict[str, None] = {}
        window = text.data[text.start :].split(b"\n")
        for line in window[:rows] if text.final else window[:-1][:rows]:
            try:
                row = json.loads(line.decode("utf-8", "surrogateescape"), strict=False)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict) and row:
                if not first:
                    first = dict.fromkeys(row)
                later |= dict.fromkeys(key for key in row if key not in first)
        if not first:
            fail(self.path, "no line of the first block is a JSON object with keys", line=text.line)
        return [*later, *first]

    def _parse(self, *arguments: Any) -> Any:
        return engine().json_cells(*arguments)

    def cell_error(self, cells: Cells, row: int, column: int, what: str) -> StreamError:
        assert isinstance(cells, TextCells)
        begin, end = cells.rows[row].tolist()
        data, only = cells.data[begin:end], np.zeros(1, dtype=np.int64)
        spans = engine().json_cells(data, 0, True, 1, [self._key[column]], only - 1, only, 0, 1)[2]
        begin, end = spans[0, 0].tolist()
        if begin == end:
            what = what.replace("the field is empty", "there is no such key")
        return self._column_error(what, int(cells.lines[row]), column, data[begin:end].decode("utf-8", "replace"))

    def _row_error(self, problem: Problem) -> StreamError:
        kind, lines, _, begin, end = problem
        return stream_error(self.path, MEANING[kind], line=self.text.line + lines, value=self.text.show(begin, end))

    def _column_error(self, what: str, line: int, column: int, value: str) -> StreamError:
        """Keys have no order: the message names the key and no column number."""
        name = json.dumps((self.columns.names or [])[column], ensure_ascii=False)
        error = stream_error(self.path, f"key {name}: {what}", line=line, value=value)
        error.column = column + 1
        return error


def _planned_keys(plan: Plan, target: Target) -> list[str]:
    """The keys of a plan: a row need not have them all."""
    label = plan.target if target is None else target
    keys = [column.column for column in plan.columns or ()] + ([] if label is None or label is False else [label])
    unnamed = [key for key in keys if not isinstance(key, str)]
    if unnamed:
        raise ValueError(f"the plan has column {unnamed[0]!r} by its index only, and JSON lines need names")
    return [str(key) for key in keys]
