"""JSON lines: one flat object a line; which keys there are is told by the first block."""

import json

import numpy as np

from nolana._backend import engine
from nolana.errors import StreamError
from nolana.streams.cells import Cells, TextCells, decode_json
from nolana.streams.columns import Columns
from nolana.streams.reader import Problem, TextReader
from nolana.streams.sources import fail, trouble
from nolana.streams.text import Text

__all__ = ["JsonReader"]

MEANING = {
    "json": 'this is not JSON from {value} on; a line is one object such as {"a": 1, "b": 2.5}',
    "object": '{value} is not an object; a line is one object such as {"a": 1, "b": 2.5}',
}


class JsonReader(TextReader):
    """The rows of JSON lines. Keys that the first block does not have are passed over later."""

    format = "jsonl"
    typed = True
    decode = staticmethod(decode_json)

    def __init__(self, text: Text, block_rows: int, names: list[str] | None) -> None:
        super().__init__(text)
        keys = self._keys(block_rows) if names is None else names
        self.columns = Columns(self.path, keys, len(keys), "the first block")
        self._bytes = [key.encode("utf-8", "surrogatepass") for key in keys]

    def _keys(self, rows: int) -> list[str]:
        """The keys of the first row, its last one the target by default, and before them those of later rows."""
        text = self.text
        text.hold(1 if text.live else rows)
        while not text.final and not text.data[text.start :].rpartition(b"\n")[0].strip():  # blank lines
            text.more()
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

    def _cells(self, start: int, limit: int) -> tuple[TextCells, int, int, Problem | None]:
        text = self.text
        return self._gather(
            engine().json_cells(
                text.data, start, text.final, limit, self._bytes, *self._places, len(self._numbers), len(self._texts)
            )
        )

    def wrong(self, cells: Cells, row: int, column: int, what: str) -> StreamError:
        """The error of a cell."""
        assert isinstance(cells, TextCells)
        begin, end = cells.rows[row].tolist()
        data, only = cells.data[begin:end], np.zeros(1, dtype=np.int64)
        spans = engine().json_cells(data, 0, True, 1, [self._bytes[column]], only - 1, only, 0, 1)[2]
        begin, end = spans[0, 0].tolist()
        if begin == end:
            what = what.replace("the field is empty", "there is no such key")
        return self._trouble(what, int(cells.lines[row]), column, data[begin:end].decode("utf-8", "replace"))

    def _broken(self, problem: Problem) -> StreamError:
        kind, lines, _, begin, end = problem
        return trouble(self.path, MEANING[kind], line=self.text.line + lines, value=self.text.show(begin, end))

    def _trouble(self, what: str, line: int, column: int, value: str) -> StreamError:
        """Keys have no number: the name alone tells the column."""
        name = json.dumps((self.columns.names or [])[column], ensure_ascii=False)
        error = trouble(self.path, f"key {name}: {what}", line=line, value=value)
        error.column = column + 1
        return error
