"""Batches of rows of Parquet files, Arrow files and Arrow streams; pyarrow reads them (the extra ``arrow``)."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from nolana.errors import MissingExtraError
from nolana.sources.sources import Bytes, fail

__all__ = ["ArrowFile", "ArrowStream", "ParquetFile", "Table", "pyarrow"]

BATCH = 10_000  # rows read from a Parquet file at a time
CHECKED = 4096  # bytes of both ends of a file that identify it; the end has the offsets and sizes of all columns


def pyarrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow; MissingExtraError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(
            'reading Parquet and Arrow tables needs the package pyarrow; pip install "nolana[arrow]"'
        ) from None


class Table(ABC):
    """Record batches of a table, from any row on; ``rows`` is their number, None if it is unknown."""

    magic: bytes  # its first bytes
    title: str  # its name in messages
    rows: int | None = None
    schema: Any

    def __init__(self, source: Bytes) -> None:
        self._source, self._errors = source, (pyarrow().ArrowException, OSError)
        try:
            self._reader = self._open()
            self.schema = self._reader.schema_arrow if self.rows is not None else self._reader.schema
        except self._errors as error:
            fail(source.path, f"the {self.title} cannot be read: {error}")

    @abstractmethod
    def _open(self) -> Any:
        """The reader of pyarrow."""

    @abstractmethod
    def _batches_after(self, columns: list[int], skip: int) -> tuple[Iterable[Any], int]:
        """Batches that have all rows after the first ``skip`` ones, and how many of their own rows to skip."""

    def batches(self, columns: list[int], skip: int) -> Iterator[Any]:
        """Record batches with these columns, without the first ``skip`` rows."""
        try:
            batches, skip = self._batches_after(columns, skip)
            for batch in batches:
                if skip < batch.num_rows:
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)
        except self._errors as error:
            fail(self._source.path, f"the data is damaged or cut off: {error}")
        if skip:
            fail(
                self._source.path,
                f"it ends {skip:,} rows before the position to resume from",
                hint="is it another file?",
            )

    def ends(self) -> bytes:
        """The bytes that identify the table."""
        return self._source.head[:CHECKED]


class _File(Table):
    """A table whose directory is at its end."""

    def __init__(self, source: Bytes) -> None:
        if not source.seekable:
            fail(source.path, f"a {self.title} is read from its end: it must be a plain file; or use an Arrow stream")
        if not source.head.startswith(self.magic):
            fail(source.path, f"this is not a {self.title}: it does not begin with {self.magic.decode()}")
        super().__init__(source)

    def _file(self) -> Any:
        self._source.file.seek(0)
        return self._source.file

    def ends(self) -> bytes:
        """The first and the last bytes, and the size."""
        file = self._source.file
        place, size = file.tell(), file.seek(0, 2)
        file.seek(max(0, size - CHECKED))
        last: bytes = file.read(CHECKED)
        file.seek(place)
        return super().ends() + last + str(size).encode()


class ParquetFile(_File):
    """A Parquet file."""

    magic, title = b"PAR1", "Parquet file"

    def _open(self) -> Any:
        reader = pyarrow("pyarrow.parquet").ParquetFile(self._file(), pre_buffer=False)
        self.rows = int(reader.metadata.num_rows)
        return reader

    def _batches_after(self, columns: list[int], skip: int) -> tuple[Iterable[Any], int]:
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

    def _open(self) -> Any:
        return pyarrow("pyarrow.ipc").open_file(self._file())

    def _batches_after(self, columns: list[int], skip: int) -> tuple[Iterable[Any], int]:
        return (self._reader.get_batch(i) for i in range(self._reader.num_record_batches)), skip


class ArrowStream(Table):
    """An Arrow IPC stream, which may still be written; it can be compressed."""

    magic, title = b"\xff\xff\xff\xff", "Arrow stream"

    def _open(self) -> Any:
        return pyarrow("pyarrow.ipc").open_stream(_Sequential(self._source))

    def _batches_after(self, columns: list[int], skip: int) -> tuple[Iterable[Any], int]:
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
