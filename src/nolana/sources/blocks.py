"""What a stream yields: blocks of rows, each with its position."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns import EncodedRows

__all__ = ["Block", "Position", "dense_rows", "joined"]


@dataclass(frozen=True)
class Position:
    """How much of a stream was read."""

    rows: int  # yielded so far, this block included
    offset: int  # bytes of uncompressed text before the next row; rows of a Parquet or Arrow table before it
    line: int  # number of the next line, from 1; of the next row of a table; of the next message


@dataclass(frozen=True)
class Block:
    """Some rows of a stream: n rows, d features."""

    X: Any  # (n, d): `EncodedRows` of a schema, or an array; LIBSVM text of more than 256 features: a CSR matrix
    y: NDArray[Any] | None  # (n,) of int64, float64, bool or text; None if the stream has no target
    position: Position  # after these rows
    lines: NDArray[np.int64]  # (n,): the line where each row begins, from 1; the row of a table, the message of a topic
    messages: dict[str, list[Any]] | None = None  # places of the rows by field: partition and offset, or id; n of each

    @property
    def places(self) -> dict[str, list[Any]]:
        """Where the rows are, by field: their lines, or partition and offset, or id."""
        return {"line": self.lines.tolist()} if self.messages is None else self.messages


def dense_rows(x: Any) -> NDArray[np.float64]:
    """Rows as an array, which a block may have as a CSR matrix."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.toarray())


def joined(arrays: list[Any]) -> Any:
    """Arrays, or CSR matrices, as one; encoded rows keep their schema."""
    schema = getattr(arrays[0], "schema", None)
    if isinstance(arrays[0], np.ndarray):
        rows = np.concatenate(arrays)
        return rows if schema is None else EncodedRows.of(rows, schema)
    from scipy.sparse import vstack

    rows = vstack(arrays, format="csr")
    if schema is not None:
        rows.schema = schema
    return rows
