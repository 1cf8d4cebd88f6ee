"""The rows of a data set from its files, checked against the catalogue, and a cache of them.

The cache is a file that can be memory-mapped: X (n, d) as float64, y (n,), then a seal. The seal is the SHA-256 of the
description of the source files, and the CRC-32 of X and of y. Shapes and types come from the record of the data set, so
nothing in the file is trusted before it is checked; an invalid file is ignored.
"""

import contextlib
import hashlib
import json
import os
import struct
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nolana import sources as streams
from nolana.errors import DataError
from nolana.research.datasets.collection import DataSet, File, Floats, Targets, record_of
from nolana.research.datasets.places import Directory, cache_directory, find
from nolana.sources.blocks import dense_rows

BLOCK_ROWS = 10_000
VERSION = 1  # of the format of the cache, and of the conversion of files to rows
SEAL = struct.Struct("<32sII")


def load(which: str | DataSet, directory: Directory | None = None) -> tuple[Floats, Targets]:
    """All rows of a data set in the order of its files: X (n, d) and y (n,), integers for classes.

    The parsed rows are cached in ``nolana`` in XDG_CACHE_HOME or ~/.cache and memory-mapped from there the next time,
    as long as the files are unchanged; several processes then share one copy in memory. The arrays may be written to:
    neither the cache nor other processes see the changes.

    Parameters
    ----------
    which : a name of the catalogue, or a record.
    directory : is searched first, as in ``find``.

    Raises ``nolana.errors.DataError`` if the data set is missing or differs from the catalogue, and
    ``nolana.errors.StreamError`` if a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import nolana
    >>> directory = tempfile.mkdtemp()
    >>> _ = (Path(directory) / "elec2.csv").write_text("period,demand,label\\n0.5,0.25,1\\n")
    >>> try:
    ...     X, y = nolana.research.datasets.load("elec2", directory)
    ... except nolana.errors.DataError as error:
    ...     print(str(error).partition(": ")[2])
    expected 8 features for the data set elec2, it has 2
    """
    record = record_of(which)
    paths = find(record, directory)
    place = cache_directory()
    if place is None:
        return _read(record, paths)
    cached = _RowCache.of(record, paths, place)
    rows = cached.read()
    if rows is None:
        rows = _read(record, paths)
        cached.write(*rows)
    return rows


def check(record: DataSet, file: File, path: Path) -> None:
    """Read one file completely; DataError or StreamError if it is not this file of the data set."""
    _fill(record, file, path, np.empty((file.rows, record.features)), np.empty(file.rows))


def _read(record: DataSet, paths: list[Path]) -> tuple[Floats, Targets]:
    X, y = np.empty((record.rows, record.features)), np.empty(record.rows)
    start = 0
    for file, path in zip(record.files, paths, strict=True):
        rows = slice(start, start + file.rows)
        _fill(record, file, path, X[rows], y[rows])
        start += file.rows
    if record.scale is not None:
        record.scale(X)
    return X, _classes(record, paths, y)


def _classes(record: DataSet, paths: list[Path], y: Floats) -> Targets:
    where = " and ".join(map(str, paths))
    try:
        targets = record.target(y)
    except ValueError as error:
        raise DataError(f"{where}: the labels are not those of the data set {record.name}: {error}") from error
    labels = np.unique(targets)
    if record.labels is not None and labels.tolist() != sorted(record.labels):
        expected, got = (", ".join(map(str, some)) for some in (sorted(record.labels), labels[:20].tolist()))
        raise DataError(f"{where}: expected the labels {expected} for the data set {record.name}, got {got}")
    return targets


def _fill(record: DataSet, file: File, path: Path, X: Floats, y: Floats) -> None:
    """Copy the rows of a file into X (n, d) and y (n,)."""
    # The width of a csv stream is known; without n_features a LIBSVM stream would read the file twice.
    width = record.features if record.format == "libsvm" else None
    try:
        with streams.open(
            path, format=record.format, labels="float", block_rows=BLOCK_ROWS, n_features=width
        ) as stream:
            _expect(record, path, stream.n_features, record.features, "features")
            count = 0
            for block in stream:
                end = count + len(block.lines)
                if end > file.rows:
                    raise DataError(f"{path}: expected {file.rows:,} rows for the data set {record.name}, it has more")
                X[count:end], y[count:end] = dense_rows(block.X), block.y
                count = end
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    _expect(record, path, count, file.rows, "rows")
    used = np.flatnonzero(X.any(axis=0))
    if record.format == "libsvm":  # it omits zeros: a narrower file would look like one with empty last columns
        _expect(record, path, int(used[-1]) + 1 if len(used) else 0, record.features, "features")


def _expect(record: DataSet, path: Path, got: int, expected: int, what: str) -> None:
    if got != expected:
        raise DataError(f"{path}: expected {expected:,} {what} for the data set {record.name}, it has {got:,}")


@dataclass(frozen=True)
class _RowCache:
    """The cached rows of a data set."""

    path: Path
    origin: bytes
    shape: tuple[int, int]
    kind: str  # of y: "f8" or "i8"

    @classmethod
    def of(cls, record: DataSet, paths: list[Path], directory: Path) -> "_RowCache":
        """The cache file of a data set: one for each set of paths, so that changed files replace their old rows."""
        named = [str(path.resolve()) for path in paths]
        states = [path.stat() for path in paths]
        origin = {
            "version": VERSION,
            "order": sys.byteorder,
            "name": record.name,
            "shape": [record.rows, record.features],
            "files": [[name, state.st_size, state.st_mtime_ns] for name, state in zip(named, states, strict=True)],
        }
        digest = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]
        return cls(
            directory / "datasets" / f"{record.name}-{digest}.rows",
            hashlib.sha256(json.dumps(origin).encode()).digest(),
            (record.rows, record.features),
            "f8" if record.task == "regression" else "i8",
        )

    def read(self) -> tuple[Floats, Targets] | None:
        """The rows; None if they are not cached, damaged, or from other files."""
        n, d = self.shape
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size != 8 * n * (d + 1) + SEAL.size:
                    return None
                # Private pages: processes share them until one writes, which then gets its own copy.
                X = np.memmap(file, dtype=np.float64, mode="c", shape=self.shape)
                file.seek(8 * n * d)
                y: Targets = np.fromfile(file, dtype=self.kind, count=n)
                seal = file.read()
        except (OSError, ValueError):
            return None
        return (np.asarray(X), y) if seal == self._seal(X, y) else None

    def write(self, X: Floats, y: Targets) -> None:
        """Store the rows if the directory is writable and has space; otherwise the next load is slow again."""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.stem)
            try:
                with open(handle, "wb") as file:
                    file.write(X.data)
                    file.write(y.astype(self.kind, copy=False).data)
                    file.write(self._seal(X, y))
                os.replace(name, self.path)
            except BaseException:
                os.unlink(name)
                raise

    def _seal(self, X: Floats, y: Targets) -> bytes:
        return SEAL.pack(self.origin, zlib.crc32(X.data), zlib.crc32(y.data))
