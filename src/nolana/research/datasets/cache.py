"""A cache of parsed rows, in a file that can be memory-mapped: X (n, d) as float64, y (n,), then a seal.

The seal is the SHA-256 of the description of the source files, and the CRC-32 of X and of y. Shapes and types come from
the record of the data set, so nothing in the file is trusted before it is checked; an invalid file is ignored.
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
from typing import Any

import numpy as np

from nolana.metrics.label_index import Labels
from nolana.research.datasets.records import DataSet, Floats, Targets

__all__ = ["RowCache"]

VERSION = 1  # of this format, and of the conversion of files to rows
SEAL = struct.Struct("<32sII")


@dataclass(frozen=True)
class RowCache:
    """The cached rows of a data set; `path` is None if there is no cache directory."""

    path: Path | None
    origin: bytes
    shape: tuple[int, int]
    kind: type[np.float64] | type[np.int64]

    @classmethod
    def of(cls, record: DataSet, paths: list[Path], directory: Path | None) -> "RowCache":
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
            None if directory is None else directory / "datasets" / f"{record.name}-{digest}.rows",
            hashlib.sha256(json.dumps(origin).encode()).digest(),
            (record.rows, record.features),
            np.float64 if record.task == "regression" else np.int64,
        )

    def read(self) -> tuple[Floats, Targets] | None:
        """The rows; None if they are not cached, damaged, or from other files."""
        if self.path is None:
            return None
        n, d = self.shape
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size != 8 * n * (d + 1) + SEAL.size:
                    return None
                # Private pages: processes share them until one writes, which then gets its own copy.
                X = np.memmap(file, dtype=np.float64, mode="c", shape=self.shape)
                file.seek(8 * n * d)
                y: Any = np.fromfile(file, dtype=self.kind, count=n)
                seal = file.read()
        except (OSError, ValueError):
            return None
        return (np.asarray(X), y) if seal == self._seal(X, y) else None

    def write(self, X: Floats, y: Targets) -> None:
        """Store the rows if the directory is writable and has space; otherwise the next load is slow again."""
        if self.path is None:
            return
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

    def _seal(self, X: Labels, y: Labels) -> bytes:
        return SEAL.pack(self.origin, zlib.crc32(X.data), zlib.crc32(y.data))
