"""Blocks of rows, which a stream yields, and where they are in their source."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from nolana.columns import EncodedRows
from nolana.learner.rows import Matrix

__all__ = [
    "Block", "Checksums", "Cursor", "Places", "Position", "SavedMessages", "SavedPosition", "dense_rows", "joined",
]  # fmt: skip

Places = dict[str, list[int | str]]  # of rows, by field: line, or partition and offset, or id


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
    messages: Places | None = None  # places of the rows by field: partition and offset, or id; n of each

    @property
    def places(self) -> Places:
        """Where the rows are, by field: their lines, or partition and offset, or id."""
        return {"line": self.lines.tolist()} if self.messages is None else self.messages


class SavedMessages(TypedDict):
    """The last message that was consumed of each partition, and where each ended when the source was opened."""

    source: str
    marks: dict[str, list[int | str | None]]  # place and checksum
    ends: dict[str, int | str]


class Checksums(TypedDict):
    """What identifies a source up to a position."""

    head: int  # of the beginning
    tail: int  # of what is just before the position
    text: NotRequired[int]  # of all text before it
    lines: NotRequired[list[int]]  # a sketch of the first lines
    messages: NotRequired[SavedMessages]


class SavedPosition(Checksums):
    """A position in the state of a stream, which model files have too."""

    rows: int
    offset: int
    line: int
    target: bool  # whether labels are read
    encoding: NotRequired[str | None]  # of text


class Cursor(ABC):
    """A place in a source that moves on as its rows are read."""

    unfinished_line: int | None = None  # a last line that was left because it has no line end

    @property
    @abstractmethod
    def offset(self) -> int: ...  # bytes of text, or rows of a table, before the next row
    @property
    @abstractmethod
    def line(self) -> int: ...  # number of the next line, row or message, from 1
    @property
    @abstractmethod
    def final(self) -> bool: ...  # whether nothing follows what was read
    @property
    @abstractmethod
    def share(self) -> float | None: ...  # the part that was read, from 0 to 1; None if it is unknown

    def places(self, lines: list[int]) -> Places | None:
        """The places of consumed rows in a source of messages; None: their lines are their places."""
        return None

    @abstractmethod
    def read_more(self) -> None:
        """Reads on."""

    @abstractmethod
    def checksums(self) -> Checksums:
        """What identifies the source and the place."""

    @abstractmethod
    def resume(self, position: SavedPosition) -> None:
        """Continues from a position; OtherSourceError if the checksums differ."""

    @abstractmethod
    def begins_like(self, position: SavedPosition) -> bool:
        """Whether the source begins as the one of a position did; it may be the same."""

    @abstractmethod
    def resembles(self, position: SavedPosition) -> bool:
        """Whether the source has much in common with the one of a position; it may be a changed one."""

    @abstractmethod
    def close(self) -> None:
        """Closes what was opened."""


def dense_rows(x: Matrix) -> NDArray[np.float64]:
    """Rows as an array, which a block may have as a CSR matrix."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.toarray())


def joined(arrays: list[Any]) -> Any:
    """Arrays, or CSR matrices, as one; encoded rows keep their schema."""
    if len(arrays) == 1:
        return arrays[0]
    schema = getattr(arrays[0], "schema", None)
    if isinstance(arrays[0], np.ndarray):
        rows = np.concatenate(arrays)
        return rows if schema is None else EncodedRows.of(rows, schema)
    from scipy.sparse import vstack

    rows = vstack(arrays, format="csr")
    if schema is not None:
        rows.schema = schema
    return rows
