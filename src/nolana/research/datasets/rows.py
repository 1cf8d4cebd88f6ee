"""The rows of a data set from its files, checked against the catalogue."""

from pathlib import Path

import numpy as np

from nolana import sources as streams
from nolana.errors import DataError
from nolana.research.datasets import cache
from nolana.research.datasets.collection import record_of
from nolana.research.datasets.places import Directory, cache_directory, find
from nolana.research.datasets.records import DataSet, File, Floats, Targets
from nolana.sources.blocks import dense_rows

__all__ = ["check", "load"]

BLOCK_ROWS = 10_000


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
    cached = cache.RowCache.of(record, paths, cache_directory())
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
