"""Batches of rows of Parquet files, Arrow files and Arrow streams; pyarrow reads them (the extra ``arrow``)."""

import importlib
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from nolana.errors import MissingExtraError, OtherSourceError, StreamError
from nolana.sources.blocks import Checksums, Cursor, SavedPosition
from nolana.sources.bytes import Bytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowFile", "ArrowStream", "Batches", "ParquetFile", "pyarrow"]

BATCH = 10_000  # rows read from a Parquet file at a time
CHECKED = 4096  # bytes of both ends of a file that identify it; the end has the offsets and sizes of all columns


def pyarrow(module: str = "pyarrow") -> ModuleType:
    """A module of pyarrow; MissingExtraError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(
            'reading Parquet and Arrow tables needs the package pyarrow; pip install "nolana[arrow]"'
        ) from None


class Batches(Cursor):
    """The record batches of a table; offset and line count its rows.

    ``waiting`` are batches that were read, of which rows are taken; ``offset`` is moved on by who has taken them.
    """

    magic: bytes  # its first bytes
    title: str  # its name in messages
    rows: int | None = None  # None: unknown
    schema: "pa.Schema"
    offset = 0
    final = False

    def __init__(self, source: Bytes) -> None:
        self._source, self._errors = source, (pyarrow().ArrowException, OSError)
        try:
            self._reader = self._open()
            self.schema = self._reader.schema_arrow if self.rows is not None else self._reader.schema
        except self._errors as error:
            raise StreamError(f"the {self.title} cannot be read: {error}", path=source.path) from error
        self.columns: dict[int, None] = {}  # to read: all that were selected before the first row
        self.waiting: list[pa.RecordBatch] = []
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._ends = zlib.crc32(self._identity())

    @abstractmethod
    def _open(self) -> "pa.RecordBatchReader | pa.RecordBatchFileReader | pa.parquet.ParquetFile":
        """The reader of pyarrow."""

    @abstractmethod
    def _batches_after(self, columns: list[int], skip: int) -> "tuple[Iterable[pa.RecordBatch], int]":
        """Batches that have all rows after the first ``skip`` ones, and how many of their own rows to skip."""

    def _identity(self) -> bytes:
        """The bytes that identify the table."""
        return self._source.head[:CHECKED]

    @property
    def line(self) -> int:
        return self.offset + 1

    @property
    def share(self) -> float | None:
        return self.offset / self.rows if self.rows else self._source.share

    def read_more(self) -> None:
        """Lets one more batch wait."""
        if self._batches is None:
            self._batches = self._from(self.offset)
        batch = next(self._batches, None)
        if batch is None:
            self.final = True
        elif batch.num_rows:
            self.waiting.append(batch)

    def _from(self, skip: int) -> "Iterator[pa.RecordBatch]":
        """Record batches without the first ``skip`` rows."""
        try:
            batches, skip = self._batches_after(list(self.columns), skip)
            for batch in batches:
                if skip < batch.num_rows:
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)
        except self._errors as error:
            raise StreamError(f"the data is damaged or cut off: {error}", path=self._source.path) from error
        if skip:
            what = f"it ends {skip:,} rows before the position to resume from"
            raise StreamError(what, path=self._source.path, hint="is it another file?")

    def take(self, most: int) -> "pa.RecordBatch":
        """Some of the rows that wait."""
        if not self.waiting:
            return pyarrow().RecordBatch.from_pylist([], schema=self.schema)
        piece, rest = self.waiting[0].slice(0, most), self.waiting[0].slice(most)
        self.waiting[:1] = [rest] if rest.num_rows else []
        return piece

    def checksums(self) -> Checksums:
        """Checksums of the names and types of the columns, and of both ends of the file."""
        schema = f"{[(field.name, str(field.type)) for field in self.schema]} {self.rows}"
        return {"head": zlib.crc32(schema.encode()), "tail": self._ends}

    def begins_like(self, position: SavedPosition) -> bool:
        own = self.checksums()
        return own["head"] == position["head"] and own["tail"] == position["tail"]

    def resembles(self, position: SavedPosition) -> bool:
        """Whether columns and number of rows are the same."""
        return self.checksums()["head"] == position["head"]

    def resume(self, position: SavedPosition) -> None:
        if not self.begins_like(position):
            what = f"cannot resume at row {int(position['line']):,}: the table has changed"
            raise OtherSourceError(what, path=self._source.path, hint="is it another file?")
        self.offset = int(position["offset"])

    def close(self) -> None:
        self._source.close()


class _File(Batches):
    """A table whose directory is at its end."""

    def __init__(self, source: Bytes) -> None:
        if not source.seekable:
            what = f"a {self.title} is read from its end: it must be a plain file; or use an Arrow stream"
            raise StreamError(what, path=source.path)
        if not source.head.startswith(self.magic):
            what = f"this is not a {self.title}: it does not begin with {self.magic.decode()}"
            raise StreamError(what, path=source.path)
        source.file.seek(0)
        super().__init__(source)

    def _identity(self) -> bytes:
        """The first and the last bytes, and the size."""
        file = self._source.file
        place, size = file.tell(), file.seek(0, 2)
        file.seek(max(0, size - CHECKED))
        last: bytes = file.read(CHECKED)
        file.seek(place)
        return super()._identity() + last + str(size).encode()


class ParquetFile(_File):
    """A Parquet file."""

    magic, title = b"PAR1", "Parquet file"

    def _open(self) -> "pa.parquet.ParquetFile":
        reader = pyarrow("pyarrow.parquet").ParquetFile(self._source.file, pre_buffer=False)
        self.rows = int(reader.metadata.num_rows)
        return reader

    def _batches_after(self, columns: list[int], skip: int) -> "tuple[Iterable[pa.RecordBatch], int]":
        metadata, group = self._reader.metadata, 0
        while group < metadata.num_row_groups and skip >= metadata.row_group(group).num_rows:
            skip -= metadata.row_group(group).num_rows
            group += 1
        names = [self.schema.names[j] for j in columns]
        groups = list(range(group, metadata.num_row_groups))
        if not groups:
            return [], skip
        return self._reader.iter_batches(batch_size=BATCH, row_groups=groups, columns=names), skip


class ArrowFile(_File):
    """An Arrow IPC file."""

    magic, title = b"ARROW1", "Arrow file"

    def _open(self) -> "pa.RecordBatchFileReader":
        return pyarrow("pyarrow.ipc").open_file(self._source.file)

    def _batches_after(self, columns: list[int], skip: int) -> "tuple[Iterable[pa.RecordBatch], int]":
        return (self._reader.get_batch(i) for i in range(self._reader.num_record_batches)), skip


class ArrowStream(Batches):
    """An Arrow IPC stream, which may still be written; it can be compressed."""

    magic, title = b"\xff\xff\xff\xff", "Arrow stream"

    def _open(self) -> "pa.RecordBatchReader":
        return pyarrow("pyarrow.ipc").open_stream(_Sequential(self._source))

    def _batches_after(self, columns: list[int], skip: int) -> "tuple[Iterable[pa.RecordBatch], int]":
        return self._reader, skip


class _Sequential:
    """A source as a file object that pyarrow reads from its beginning on."""

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
        return True

    def close(self) -> None:
        """Does nothing: the source is closed by its owner."""
