"""Parquet and Arrow tables as cells, a batch of rows at a time."""

import json
from abc import abstractmethod
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.columns import times
from nolana.columns.tables import ArrowTable
from nolana.columns.values import Values
from nolana.errors import Remedy, StreamError
from nolana.sources.bad_rows import BadRow
from nolana.sources.bytes import Bytes
from nolana.sources.cells import ABSENT, NESTED, NUMBER, TEXT, TIME, TRUTH, UNBOUNDED, UNKNOWN, Cells, Codes, Flaw
from nolana.sources.columns import Columns
from nolana.sources.options import SourceOptions
from nolana.sources.plan import Plan
from nolana.sources.reader import Reader
from nolana.sources.tables import ArrowFile, ArrowStream, Batches, ParquetFile, pyarrow

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

__all__ = ["ArrowCells", "ArrowReader", "ParquetReader", "convert"]

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
PIECE = 5000  # rows converted at a time: in small blocks the calls for each column take most of the time


def convert(pa: ModuleType, array: "Array") -> tuple[NDArray[np.float64], Codes]:
    """A column as numbers, and the codes of its values."""
    types, kind = pa.types, array.type
    if types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    n = len(array)
    codes = np.full(n, NUMBER, dtype=np.uint8)
    absent = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if types.is_boolean(kind):
        codes[:] = TRUTH
        values = _numpy(array, False).astype(np.float64)
    elif types.is_integer(kind) or types.is_floating(kind):
        values = _numpy(array, 0).astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            codes[np.isnan(values)] = UNKNOWN
            codes[np.isinf(values)] = UNBOUNDED
            values = np.where(np.isfinite(values), values, 0.0)
    elif types.is_decimal(kind):
        values = _numpy(array.cast(pa.float64()), 0.0).astype(np.float64, copy=False)
    elif types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind):
        codes[:] = NUMBER if types.is_duration(kind) else TIME
        values = _seconds(pa, array)
    else:
        codes[:] = ABSENT if types.is_null(kind) else NESTED if types.is_nested(kind) else TEXT
        values = np.zeros(n)
    if absent is not None:
        codes[absent] = ABSENT
    return values, codes


def _numpy(array: "Array", empty: float) -> NDArray[np.float64] | NDArray[np.int64]:
    return np.asarray((array.fill_null(empty) if array.null_count else array).to_numpy(zero_copy_only=False))


def _seconds(pa: ModuleType, array: "Array") -> NDArray[np.float64]:
    if pa.types.is_date32(array.type):
        return np.asarray(_numpy(array.cast(pa.int32()), 0) * 86400.0)
    unit = "ms" if pa.types.is_date64(array.type) else array.type.unit
    return np.asarray(_numpy(array.cast(pa.int64()), 0) / PER_SECOND[unit])


@dataclass(frozen=True)
class ArrowCells:
    """Some rows of a table."""

    pa: ModuleType
    batch: "RecordBatch"
    names: list[str]  # of the texts
    values: NDArray[np.float64]
    codes: Codes
    converted: list[tuple[NDArray[np.float64], Codes]]  # the texts as numbers, and their codes
    lines: NDArray[np.int64]

    @classmethod
    def read(
        cls, pa: ModuleType, batch: "RecordBatch", numbers: list[str], texts: list[str], before: int
    ) -> "ArrowCells":
        """These columns of a batch that follows so many rows."""
        n = batch.num_rows
        values, codes = np.empty((n, len(numbers))), np.empty((n, len(numbers)), dtype=np.uint8)
        for j, name in enumerate(numbers):
            values[:, j], codes[:, j] = convert(pa, batch.column(name))
        converted = [convert(pa, batch.column(name)) for name in texts]
        lines = np.arange(n, dtype=np.int64) + before + 1
        return cls(pa, batch, texts, values, codes, converted, lines)

    def part(self, begin: int, end: int | None) -> "ArrowCells":
        """Consecutive rows."""
        rows = slice(begin, end)
        return self._rows(self.batch.slice(begin, None if end is None else end - begin), rows)

    @property
    def text_codes(self) -> Codes:
        codes = [codes for _, codes in self.converted]
        return np.column_stack(codes) if codes else np.zeros((len(self.lines), 0), dtype=np.uint8)

    typed: ClassVar[bool] = True
    readable: ClassVar[bool] = True

    def text(self, place: int, row: int) -> str | None:
        return _text(self.batch.column(self.names[place])[row].as_py())

    def keys(self, place: int) -> NDArray[np.float64]:
        return self._column(place).keys()

    def seconds(self, place: int) -> NDArray[np.float64]:
        typed = (self.converted[place][1] == TIME).any()
        return self._column(place).seconds() if typed else times.column(self.texts(place))

    def _column(self, place: int) -> Values:
        return ArrowTable(self.batch.select([self.names[place]])).column(0)

    def texts(self, place: int) -> list[str | None]:
        """A column of texts; other values as text."""
        array = self.batch.column(self.names[place])
        if self.pa.types.is_string(array.type):
            return list(array.fill_null("").to_pylist())
        return [_text(value) for value in array.to_pylist()]

    def floats(self, place: int, *, quoted: bool = False) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        values, codes = self.converted[place]
        return values, np.isin(codes, (NUMBER, TIME))

    def integers(self, place: int, *, quoted: bool = False) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        array = self.batch.column(self.names[place])
        if not self.pa.types.is_integer(array.type):
            return np.zeros(len(array), dtype=np.int64), np.zeros(len(array), dtype=bool)
        values = _numpy(array, 0)
        valid = (self.converted[place][1] == NUMBER) & (values <= np.iinfo(np.int64).max)
        return np.where(valid, values, 0).astype(np.int64), valid

    def booleans(self, place: int) -> NDArray[np.bool_]:
        return np.asarray(self.converted[place][0] == 1.0)

    def raw(self, row: int) -> str:
        """A row as a JSON object."""
        values = {name: self.batch.column(name)[row].as_py() for name in self.batch.schema.names}
        return json.dumps(values, default=str, ensure_ascii=False)

    def where(self, rows: NDArray[np.bool_]) -> "ArrowCells":
        return self._rows(self.batch.filter(self.pa.array(rows)), rows)

    def _rows(self, batch: "RecordBatch", rows: slice | NDArray[np.bool_]) -> "ArrowCells":
        return replace(
            self,
            batch=batch,
            values=self.values[rows],
            codes=self.codes[rows],
            converted=[(values[rows], codes[rows]) for values, codes in self.converted],
            lines=self.lines[rows],
        )


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


class TableReader(Reader):
    """The rows of a Parquet or Arrow table."""

    unit = "row"
    cursor: Batches

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        self.path, self.live, self.encoding = source.path, source.live, None
        self.cursor, self._pa = self._open_table(source), pyarrow()
        names = list(self.cursor.schema.names)
        self.columns = Columns(self.path, names, len(names), "the table")
        self._piece: ArrowCells | None = None  # converted and not yet consumed
        self._numbers: list[str] = []
        self._texts: list[str] = []

    @abstractmethod
    def _open_table(self, source: Bytes) -> Batches: ...

    def peek(self, limit: int, columns: list[int]) -> Cells:
        self.select([], columns)
        table = self.cursor
        while sum(batch.num_rows for batch in table.waiting) < limit and not table.final:
            if self.live and table.waiting:
                break
            table.read_more()
        schema = self._pa.schema([table.schema.field(name) for name in self._texts])
        rows = self._pa.Table.from_batches([b.select(self._texts) for b in table.waiting], schema)
        batches = rows.slice(0, limit).combine_chunks().to_batches()
        first = batches[0] if batches else self._pa.RecordBatch.from_pylist([], schema=schema)
        return ArrowCells.read(self._pa, first, [], self._texts, table.offset)

    def select(self, numbers: list[int], texts: list[int]) -> None:
        schema = self.cursor.schema
        self._numbers, self._texts = [schema.names[j] for j in numbers], [schema.names[j] for j in texts]
        self.cursor.columns |= dict.fromkeys([*numbers, *texts])
        for name in (*self._numbers, *self._texts):
            same = schema.get_all_field_indices(name)
            if len(same) > 1:
                remedies = [Remedy("ignore", same, "leaves them out")]
                what = f"several columns are named {name!r}"
                raise StreamError(what, path=self.path, hint="rename them", remedies=remedies)
            kind, types = schema.field(name).type, self._pa.types
            if types.is_binary(kind) or types.is_large_binary(kind) or types.is_time(kind) or types.is_interval(kind):
                remedies = [Remedy("ignore", [name], "leaves it out")]
                what = f"column {name!r} has type {kind}, which is not supported"
                raise StreamError(what, path=self.path, remedies=remedies)

    def parse(self, limit: int) -> tuple[ArrowCells, BadRow | None]:
        table = self.cursor
        if self._piece is None or (table.waiting and not len(self._piece.lines)):
            self._piece = ArrowCells.read(self._pa, table.take(PIECE), self._numbers, self._texts, table.offset)
        cells, self._piece = self._piece.part(0, limit), self._piece.part(limit, None)
        table.offset += len(cells.lines)
        return cells, None

    def cell_error(self, cells: Cells, row: int, column: int, flaw: Flaw) -> StreamError:
        assert isinstance(cells, ArrowCells)
        value = cells.batch.column(self.cursor.schema.names[column])[row].as_py()
        place, text = self._place(int(cells.lines[row]), column), "" if value is None else str(value)
        return flaw.error(place, text, "the value is null")


class ParquetReader(TableReader):
    """The rows of a Parquet file."""

    format = "parquet"
    title = "Parquet"
    endings = ("parquet", "pq")
    magic = (ParquetFile.magic,)

    def _open_table(self, source: Bytes) -> Batches:
        return ParquetFile(source)


class ArrowReader(TableReader):
    """The rows of an Arrow file or an Arrow stream."""

    format = "arrow"
    title = "Arrow"
    endings = ("arrow", "arrows", "feather", "ipc")
    magic = (ArrowFile.magic, ArrowStream.magic)

    def _open_table(self, source: Bytes) -> Batches:
        is_file = source.compression is None and source.head.startswith(ArrowFile.magic)
        return ArrowFile(source) if is_file else ArrowStream(source)
