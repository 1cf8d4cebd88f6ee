"""The rows of a data set out of its files, checked against the catalogue."""

from pathlib import Path
from typing import Any

import numpy as np

from nolana import streams
from nolana.datasets import cache
from nolana.datasets.collection import record_of
from nolana.datasets.places import Directory, cache_directory, find
from nolana.datasets.records import DataSet, File, Floats, Targets
from nolana.errors import DataError

__all__ = ["check", "load"]

BLOCK_ROWS = 10_000


def load(which: str | DataSet, directory: Directory | None = None) -> tuple[Floats, Targets]:
    """All rows of a data set in the order of its files: X (n, d) and y (n,), integers for classes.

    The parsed rows are kept in ``nolana`` in XDG_CACHE_HOME or ~/.cache and mapped from there the next time, as long
    as the files are the same; several processes then share one copy in memory. The arrays may be written to: that
    changes neither the cache nor what others see.

    Parameters
    ----------
    which : a name of the catalogue, or a record.
    directory : is searched first, as ``find`` does.

    Raises ``nolana.errors.DataError`` where it is missing or is not what the catalogue says, and
    ``nolana.errors.StreamError`` where a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import nolana
    >>> directory = tempfile.mkdtemp()
    >>> _ = (Path(directory) / "elec2.csv").write_text("period,demand,label\\n0.5,0.25,1\\n")
    >>> try:
    ...     X, y = nolana.datasets.load("elec2", directory)
    ... except nolana.errors.DataError as error:
    ...     print(str(error).partition(": ")[2])
    expected 8 features for the data set elec2, it has 2
    """
    record = record_of(which)
    paths = find(record, directory)
    kept = cache.Kept.of(record, paths, cache_directory())
    rows = kept.read()
    if rows is None:
        rows = _read(record, paths)
        kept.write(*rows)
    return rows


def check(record: DataSet, file: File, path: Path) -> None:
    """Reads one file through; DataError or StreamError where it is not that file of the data set."""
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
    found = np.unique(targets)
    if record.labels is not None and found.tolist() != sorted(record.labels):
        expected, came = (", ".join(map(str, labels)) for labels in (sorted(record.labels), found[:20].tolist()))
        raise DataError(f"{where}: expected the labels {expected} for the data set {record.name}, found {came}")
    return targets


def _fill(record: DataSet, file: File, path: Path, X: Floats, y: Floats) -> None:
    """Puts the rows of a file into X (n, d) and y (n,)."""
    # A csv stream tells its width; a LIBSVM stream has to be told, or it would read the file twice.
    options: dict[str, Any] = {"n_features": record.features} if record.format == "libsvm" else {}
    try:
        with streams.open(path, format=record.format, labels="float", block_rows=BLOCK_ROWS, **options) as stream:
            _expect(record, path, stream.n_features, record.features, "features")
            seen = 0
            for block in stream:
                end = seen + len(block.X)
                if end > file.rows:
                    raise DataError(f"{path}: expected {file.rows:,} rows for the data set {record.name}, it has more")
                X[seen:end], y[seen:end] = block.X, block.y
                seen = end
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    _expect(record, path, seen, file.rows, "rows")
    used = np.flatnonzero(X.any(axis=0))
    if record.format == "libsvm":  # which leaves zeros out, so that a narrower file only looks empty at its end
        _expect(record, path, int(used[-1]) + 1 if len(used) else 0, record.features, "features")


def _expect(record: DataSet, path: Path, came: int, expected: int, what: str) -> None:
    if came != expected:
        raise DataError(f"{path}: expected {expected:,} {what} for the data set {record.name}, it has {came:,}")
