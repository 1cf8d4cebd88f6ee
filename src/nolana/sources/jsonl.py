"""JSON lines: one object a line; the first block decides which keys are columns, ``a.b`` for key b of object a."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nolana.backend import text_parsers
from nolana.errors import Place, StreamError
from nolana.sources.bad_rows import NewColumn
from nolana.sources.bytes import Bytes
from nolana.sources.cells import Cells, Flaw, TextCells, decode_json
from nolana.sources.columns import Columns
from nolana.sources.filters import Objects
from nolana.sources.options import Column, SourceOptions, Target
from nolana.sources.plan import Plan, TextFormat
from nolana.sources.reader import TextReader

if TYPE_CHECKING:
    from nolana.engine.protocol import CellRows, Problem  # loads the engine

__all__ = ["JsonReader"]

ARRAY = re.compile(rb"\s*\[\s*(\{|$)")  # the first line of an array of objects
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
DEEPEST = 64  # objects in objects
MEANING = {
    "json": 'this is not JSON from {value} on; a line is one object such as {"a": 1, "b": 2.5}',
    "object": '{value} is not an object; a line is one object such as {"a": 1, "b": 2.5}',
}


class JsonReader(TextReader):
    """The rows of JSON lines; keys that are not in the first block are counted and left out."""

    format = "jsonl"
    title = "JSON lines"
    endings = ("jsonl", "ndjson", "json")
    quoted_numbers = True
    own_options = ("comment",)
    decode = staticmethod(decode_json)

    def _normalise(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super()._normalise(source, options, plan)
        if source.messages is not None:  # an object in each
            return
        line = source.first_line()
        if ARRAY.match(line) or _is_open(line):
            source.filter(lambda file: Objects(file, array=ARRAY.match(line) is not None))

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super().__init__(source, options, plan)
        keys = self._infer_keys(options.block_rows) if plan is None else _planned_keys(plan, options.target)
        self._counts_new = plan is None or plan.known is not None  # a plan of nolana 0.1 does not have all keys
        self._new: list[tuple[bytes, int, int]] = []  # of the last rows
        self._line = 1  # where they begin
        self.columns = Columns(self.path, keys, len(keys), "the first block")
        self._keys = [key.encode("utf-8", "surrogatepass") for key in keys]

    @classmethod
    def recognises(cls, line: bytes) -> bool:
        """Whether the line begins an object, or an array of objects."""
        return line.lstrip().startswith(b"{") or ARRAY.match(line) is not None

    def plan_fields(self) -> TextFormat:
        return {"comment": self._comment}

    def _infer_keys(self, rows: int) -> list[str]:
        """The keys of the first row, its last one the default target, and before them those of later rows."""
        text = self.cursor
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
                keys = dict.fromkeys(_flat_keys(row))
                if not first:
                    first = keys
                later |= dict.fromkeys(key for key in keys if key not in first)
        if not first:
            what = f"no {self.unit} of the first block is a JSON object with keys"
            raise StreamError(what, path=self.path, line=None if self.by_message else text.line)
        return [*later, *first]

    def choose(self, options: SourceOptions) -> tuple[list[int], int | None]:
        """The columns that the options select; the name of an object selects all its keys."""

        def expand(names: Sequence[Column] | None) -> list[Column] | None:
            return None if names is None else [key for name in names for key in self._keys_of(name)]

        return self.columns.choose(options.target, expand(options.features), expand(options.ignore))

    def _keys_of(self, name: Column) -> list[Column]:
        keys = self.columns.names or []
        if not isinstance(name, str) or name in keys:
            return [name]
        return [key for key in keys if key.startswith(f"{name}.")] or [name]

    def _parse(self, start: int, limit: int) -> "CellRows":
        text = self.cursor
        parsed = text_parsers().json_cells(text.data, start, text.final, limit, self._keys, *self._wanted)
        self._new, self._line = parsed[-1], text.line
        return parsed[:-1]

    def new_columns(self, cells: Cells) -> list[NewColumn]:
        """The keys of these rows that the first block did not have."""
        if not self._counts_new:
            return []
        return [NewColumn(key.decode("utf-8", "replace"), n, self._line + line) for key, n, line in self._new]

    def cell_error(self, cells: Cells, row: int, column: int, flaw: Flaw) -> StreamError:
        assert isinstance(cells, TextCells)
        value = value_of_key(cells, row, self._keys[column])
        absent = "the value is null" if value else "there is no such key"
        return flaw.error(self._place(int(cells.lines[row]), column), value, absent)

    def _row_error(self, problem: "Problem") -> StreamError:
        kind, lines, _, begin, end = problem
        value = self.cursor.show(begin, end)
        place, remedies = self.cursor.place(self.cursor.line + lines), self._comment_remedies(value)
        what = MEANING[kind].replace("a line", f"a {self.unit}")
        return StreamError(what, place=place, value=value, remedies=remedies)

    def _place(self, line: int, column: int) -> Place:
        """Keys have no order: the message names the key and no column number."""
        return replace(super()._place(line, column), keyed=True)


def value_of_key(cells: TextCells, row: int, key: bytes) -> str:
    """The value of a key in a row as it is written there; empty if there is no such key."""
    begin, end = cells.rows[row].tolist()
    data, only = cells.data[begin:end], np.zeros(1, dtype=np.int64)
    begin, end = text_parsers().json_cells(data, 0, True, 1, [key], only - 1, only, 0, 1)[2][0, 0].tolist()
    return data[begin:end].decode("utf-8", "replace")


def _is_open(line: bytes) -> bool:
    """Whether an object begins on this line and continues on the next; a line that is cut off does not end so."""
    if not line.lstrip().startswith(b"{") or line.rstrip()[-1:] not in (b"{", b"[", b","):
        return False
    marks = STRING.sub(b"", line)
    return marks.count(b"{") > marks.count(b"}")


def _flat_keys(row: dict[str, object], prefix: str = "", depth: int = 1) -> Iterator[str]:
    """The keys of an object; ``a.b`` for key b of the object at key a."""
    for key, value in row.items():
        if isinstance(value, dict) and value and depth < DEEPEST:
            yield from _flat_keys(value, f"{prefix}{key}.", depth + 1)
        else:
            yield prefix + key


def _planned_keys(plan: Plan, target: Target) -> list[str]:
    """The keys of a plan: a row need not have them all."""
    label = plan.target if target is None else target
    keys = [column.column for column in plan.columns or ()] + ([] if label is None or label is False else [label])
    unnamed = [key for key in keys if not isinstance(key, str)]
    if unnamed:
        raise ValueError(f"the plan has column {unnamed[0]!r} by its index only, and JSON lines need names")
    return [*(str(key) for key in keys), *(name for name in plan.known or () if name not in keys)]
