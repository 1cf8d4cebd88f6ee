"""Parquet and Arrow tables, a batch of rows at a time; pyarrow reads them (the extra ``arrow``)."""

import importlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import MissingExtraError, OtherSourceError, StreamError
from nolana.streams.bad_rows import BadRow
from nolana.streams.blocks import Position
from nolana.streams.cells import ABSENT, NESTED, NUMBER, TEXT, TIME, TRUTH, UNBOUNDED, UNKNOWN, Cells, Codes
from nolana.streams.columns import Columns
from nolana.streams.sources import Bytes, fail, is_binary_table, trouble

__all__ = ["ArrowReader"]

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
BATCH = 10_000  # rows read from a Parquet file at a time
PIECE = 5000  # rows converted at a time: in small blocks the calls for each column are most of the time
MARKED = 4096  # bytes of both ends of a file by which it is known again; an end has the places and sizes of all columns


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError:
        raise MissingExtraError(
            'reading Parquet and Arrow tables needs the package pyarrow; pip install "nolana[arrow]"'
        ) from None


class _Whole:
    """A source as a file object that pyarrow can read from its beginning on."""

    closed = False

    def __init__(self, source: Bytes) -> None:
        self._source = source

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer only at the end."""
        parts: list[bytes] = []
        while size != 0 and (part := self._source.read1(size if size > 0 else 1 << 20)):
            parts.append(part[:])
            size -= len(part) if size > 0 else 0
        return b"".join(parts)

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """The source is closed by its owner."""


class Table:
    """Batches of a Parquet file, an Arrow file or an Arrow stream, from any row on."""

    def __init__(self, source: Bytes, format: str) -> None:
        self._arrow = _pyarrow()
        self._path, self._source = source.path, source
        kind = is_binary_table(source.head) if source.packing is None else None
        self._stream = format == "arrow" and kind in ("arrows", None)
        if format == "parquet" and kind != "parquet":
            fail(source.path, "this is not Parquet: it does not begin with PAR1")
        if not self._stream and not source.seekable:
            fail(source.path, "Parquet and Arrow files are read from their end; give a file, or an Arrow stream")
        try:
            self._open(format)
        except (self._arrow.ArrowException, OSError) as error:
            fail(source.path, f"the {format} data cannot be read: {error}")

    def _open(self, format: str) -> None:
        self.rows: int | None = None  # told by Parquet alone
        file: Any = _Whole(self._source)
        if not self._stream:
            file = self._source.file
            file.seek(0)
        if format == "parquet":
            self._reader = importlib.import_module("pyarrow.parquet").ParquetFile(file, pre_buffer=False)
            self.schema = self._reader.schema_arrow
            self.rows = int(self._reader.metadata.num_rows)
            return
        ipc = importlib.import_module("pyarrow.ipc")
        self._reader = ipc.open_stream(file) if self._stream else ipc.open_file(file)
        self.schema = self._reader.schema

    def ends(self) -> bytes:
        """What a file begins and ends with; of a stream, which may still be written, only what it begins with."""
        first = self._source.head[:MARKED]
        if self._stream:
            return first
        file = self._source.file
        place, size = file.tell(), file.seek(0, 2)
        file.seek(max(0, size - MARKED))
        last: bytes = file.read(MARKED)
        file.seek(place)
        return first + last + str(size).encode()

    def batches(self, columns: list[int], skip: int) -> Iterator[Any]:
        """Record batches with these columns, the first rows left out."""
        try:
            yield from self._all(columns, skip)
        except (self._arrow.ArrowException, OSError) as error:
            fail(self._path, f"the data is damaged or cut off: {error}")

    def _all(self, columns: list[int], skip: int) -> Iterator[Any]:
        if self.rows is not None:
            metadata, group = self._reader.metadata, 0
            while group < metadata.num_row_groups and skip >= metadata.row_group(group).num_rows:
                skip -= metadata.row_group(group).num_rows
                group += 1
            names = [self.schema.names[j] for j in columns]
            groups = list(range(group, metadata.num_row_groups))
            found = self._reader.iter_batches(batch_size=BATCH, row_groups=groups, columns=names) if groups else []
        elif self._stream:
            found = self._reader
        else:
            found = (self._reader.get_batch(i) for i in range(self._reader.num_record_batches))
        for batch in found:
            if skip < batch.num_rows:
                yield batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
        if skip:
            fail(self._path, f"it ends {skip:,} rows before the position to go on from; is it another file?")


def _convert(pa: Any, array: Any) -> tuple[NDArray[np.float64], Codes]:
    """A column as numbers, and what each of its values is."""
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
        values = _numpy(array.cast(pa.float64()), 0.0)
    elif types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind):
        codes[:] = NUMBER if types.is_duration(kind) else TIME
        values = _seconds(pa, array)
    else:
        codes[:] = ABSENT if types.is_null(kind) else NESTED if types.is_nested(kind) else TEXT
        values = np.zeros(n)
    if absent is not None:
        codes[absent] = ABSENT
    return values, codes


def _numpy(array: Any, empty: Any) -> NDArray[Any]:
    return np.asarray((array.fill_null(empty) if array.null_count else array).to_numpy(zero_copy_only=False))


def _seconds(pa: Any, array: Any) -> NDArray[np.float64]:
    if pa.types.is_date32(array.type):
        return _numpy(array.cast(pa.int32()), 0) * 86400.0
    unit = "ms" if pa.types.is_date64(array.type) else array.type.unit
    return np.asarray(_numpy(array.cast(pa.int64()), 0) / PER_SECOND[unit])


@dataclass(frozen=True)
class ArrowCells:
    """Some rows of a table."""

    pa: Any
    batch: Any
    names: list[str]  # of the texts
    values: NDArray[np.float64]
    codes: Codes
    told: list[tuple[NDArray[np.float64], Codes]]  # the texts as numbers, and what each is
    lines: NDArray[np.int64]

    @classmethod
    def read(cls, pa: Any, batch: Any, numbers: list[str], texts: list[str], before: int) -> "ArrowCells":
        """These columns of a batch that has so many rows before it."""
        n = batch.num_rows
        values, codes = np.empty((n, len(numbers))), np.empty((n, len(numbers)), dtype=np.uint8)
        for j, name in enumerate(numbers):
            values[:, j], codes[:, j] = _convert(pa, batch.column(name))
        told = [_convert(pa, batch.column(name)) for name in texts]
        lines = np.arange(n, dtype=np.int64) + before + 1
        return cls(pa, batch, texts, values, codes, told, lines)

    def part(self, begin: int, end: int | None) -> "ArrowCells":
        """Rows that follow each other."""
        rows = slice(begin, end)
        told = [(values[rows], codes[rows]) for values, codes in self.told]
        batch = self.batch.slice(begin, None if end is None else end - begin)
        return replace(
            self, batch=batch, values=self.values[rows], codes=self.codes[rows], told=told, lines=self.lines[rows]
        )

    @property
    def text_codes(self) -> Codes:
        """What the texts are, (n, t)."""
        told = [codes for _, codes in self.told]
        return np.column_stack(told) if told else np.zeros((len(self.lines), 0), dtype=np.uint8)

    def texts(self, place: int) -> list[str | None]:
        """A column of texts; of other values what they look like."""
        array = self.batch.column(self.names[place])
        if self.pa.types.is_string(array.type):
            return list(array.fill_null("").to_pylist())
        return [_text(value) for value in array.to_pylist()]

    def reals(self, place: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A column as doubles, and which of its values are."""
        values, codes = self.told[place]
        return values, np.isin(codes, (NUMBER, TIME))

    def integers(self, place: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """A column as 64-bit integers, and which of its values are."""
        array = self.batch.column(self.names[place])
        if not self.pa.types.is_integer(array.type):
            return np.zeros(len(array), dtype=np.int64), np.zeros(len(array), dtype=bool)
        values = _numpy(array, 0)
        fits = (self.told[place][1] == NUMBER) & (values <= np.iinfo(np.int64).max)
        return np.where(fits, values, 0).astype(np.int64), fits

    def truths(self, place: int) -> NDArray[np.bool_]:
        """A column as truth values."""
        return np.asarray(self.told[place][0] == 1.0)

    def raw(self, row: int) -> str:
        """A row as an object of JSON."""
        values = {name: self.batch.column(name)[row].as_py() for name in self.batch.schema.names}
        return json.dumps(values, default=str, ensure_ascii=False)

    def show(self, row: int, name: str) -> str:
        """A value as it stands in a message."""
        value = self.batch.column(name)[row].as_py()
        return "" if value is None else str(value)

    def keep(self, rows: NDArray[np.bool_]) -> "ArrowCells":
        """The rows where it is true."""
        return replace(
            self,
            batch=self.batch.filter(self.pa.array(rows)),
            values=self.values[rows],
            codes=self.codes[rows],
            told=[(values[rows], codes[rows]) for values, codes in self.told],
            lines=self.lines[rows],
        )


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


class ArrowReader:
    """The rows of a Parquet or Arrow table; offsets and lines count its rows."""

    typed = True

    def __init__(self, source: Bytes, format: str) -> None:
        self.format, self.path, self.live = format, source.path, source.live
        self._source, self._table, self._pa = source, Table(source, format), _pyarrow()
        names = list(self._table.schema.names)
        self.columns = Columns(self.path, names, len(names), "the table")
        self.final = False
        self._batches: Iterator[Any] | None = None
        self._waiting: list[Any] = []
        self._piece: ArrowCells | None = None  # converted and not yet taken
        self._taken = 0  # rows
        self._ends = zlib.crc32(self._table.ends())
        self._wanted: dict[int, None] = {}  # columns to read: all that were arranged before the first row
        self._numbers: list[str] = []
        self._texts: list[str] = []

    @property
    def place(self) -> tuple[int, int]:
        """Rows taken, and the number of the row that comes next."""
        return self._taken, self._taken + 1

    @property
    def share(self) -> float | None:
        """How many of the rows were taken, from 0 to 1; None where nobody knows."""
        return self._taken / self._table.rows if self._table.rows else self._source.share

    def look(self, limit: int, columns: list[int]) -> Cells:
        """The first rows with these columns as texts, without taking them."""
        self.arrange([], columns)
        while sum(batch.num_rows for batch in self._waiting) < limit and not self.final:
            if self.live and self._waiting:
                break
            self.more()
        schema = self._pa.schema([self._table.schema.field(name) for name in self._texts])
        rows = self._pa.Table.from_batches([b.select(self._texts) for b in self._waiting], schema)
        batch = rows.slice(0, limit).combine_chunks()
        return ArrowCells.read(self._pa, _one_batch(self._pa, batch), [], self._texts, self._taken)

    def arrange(self, numbers: list[int], texts: list[int]) -> None:
        """Which columns are read as numbers and which as texts from now on."""
        names = self._table.schema.names
        self._numbers, self._texts = [names[j] for j in numbers], [names[j] for j in texts]
        self._wanted |= dict.fromkeys([*numbers, *texts])
        for name in (*self._numbers, *self._texts):
            if names.count(name) > 1:
                fail(self.path, f"several columns are named {name!r}; rename them, or ignore=[{name!r}]")
            kind = self._table.schema.field(name).type
            types = self._pa.types
            if types.is_binary(kind) or types.is_large_binary(kind) or types.is_time(kind) or types.is_interval(kind):
                fail(self.path, f"column {name!r} has type {kind}, which is not read; ignore=[{name!r}] leaves it out")

    def parse(self, limit: int) -> tuple[ArrowCells, BadRow | None]:
        """At most so many rows of the batch that waits."""
        if self._piece is None or (self._waiting and not len(self._piece.lines)):
            self._piece = ArrowCells.read(self._pa, self._next_piece(), self._numbers, self._texts, self._taken)
        cells, self._piece = self._piece.part(0, limit), self._piece.part(limit, None)
        self._taken += len(cells.lines)
        return cells, None

    def _next_piece(self) -> Any:
        """The next rows of what waits, few enough for the cache."""
        if not self._waiting:
            return self._pa.RecordBatch.from_pylist([], schema=self._table.schema)
        piece, rest = self._waiting[0].slice(0, PIECE), self._waiting[0].slice(PIECE)
        self._waiting[:1] = [rest] if rest.num_rows else []
        return piece

    def more(self) -> None:
        """Reads the next batch."""
        if self._batches is None:
            self._batches = self._table.batches(list(self._wanted), self._taken)
        batch = next(self._batches, None)
        if batch is None:
            self.final = True
        elif batch.num_rows:
            self._waiting.append(batch)

    def wrong(self, cells: Cells, row: int, column: int, what: str) -> StreamError:
        """The error of a cell."""
        assert isinstance(cells, ArrowCells)
        name = self._table.schema.names[column]
        return trouble(
            self.path,
            what.replace("the field is empty", "the value is null"),
            line=int(cells.lines[row]),
            column=column + 1,
            name=self.columns.name(column),
            value=cells.show(row, name),
            unit="row",
        )

    def marks(self) -> dict[str, int]:
        """The table's columns, and what its file begins and ends with."""
        told = f"{[(field.name, str(field.type)) for field in self._table.schema]} {self._table.rows}"
        return {"head": zlib.crc32(told.encode()), "tail": self._ends}

    def jump(self, position: Position, marks: dict[str, Any]) -> None:
        """Goes on from a row; StreamError where the table is another."""
        if self.marks() != {name: int(marks[name]) for name in ("head", "tail")}:
            raise OtherSourceError(
                f"{self.path}: cannot go on from row {position.line:,}: the table is not the one of then; "
                "is it another file?",
                path=self.path,
            )
        self._taken = position.offset

    def close(self) -> None:
        """Closes what was opened."""
        self._source.close()


def _one_batch(pa: Any, table: Any) -> Any:
    batches = table.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
