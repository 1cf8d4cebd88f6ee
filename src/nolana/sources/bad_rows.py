"""What is left out and counted: invalid rows; columns, keys and categories that the first block did not have.

Invalid rows are one error about all of a block, or are left out, or also written to a file. The file has one JSON
object a line: ``file``, ``line``, ``reason``, ``text`` (the row in the source), ``message``; of a message also its
place, ``partition`` and ``offset`` or ``id``, and ``line`` is its number in the order of reading.
"""

import json
import os
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, NotRequired, TypedDict

from nolana.errors import OptionError, Place, Remedy, StreamError, StreamWarning, joined_problems

__all__ = [
    "BadRow", "BadRows", "BadRowsState", "Counts", "NewCategory", "NewColumn", "NewColumnCounts", "Quarantine",
    "Refuse", "Skip", "policy",
]  # fmt: skip

NewColumns = Literal["warn", "ignore", "error"]
MOST_NAMES = 100  # that are counted one by one; a bound on memory
REST = "..."  # all others together
NEW_COLUMN = "column {column} is not in the first block. It is left out: a model cannot add a column"
NEW_CATEGORY = "{value} in column {column} has no column of its own: {why}. Such strings share one column"


@dataclass(frozen=True)
class BadRow:
    """An invalid row: the error that describes it, the reason in one word, and its text."""

    error: StreamError
    reason: str
    raw: str


class BadRowsState(TypedDict):
    """Counts by reason; the size of a quarantine when they were counted."""

    reasons: dict[str, int]
    quarantined_bytes: NotRequired[int]


class BadRows:
    """Counts invalid rows by reason; subclasses override ``put_aside``, which may raise."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    def add(self, row: BadRow) -> None:
        """Handles one more invalid row."""
        self.put_aside(row)
        self.reasons[row.reason] += 1

    def put_aside(self, row: BadRow) -> None:
        """Does nothing: the row is left out."""

    @property
    def refused(self) -> int:
        """Rows of this block that end the stream."""
        return 0

    def end_block(self) -> None:
        """All rows of a block were read; raises if one of them ends the stream."""

    def state(self) -> BadRowsState:
        """The counts, for a resumed stream."""
        return {"reasons": dict(self.reasons)}

    def resume(self, state: BadRowsState, path: str) -> None:
        """Continues from a state of the source at ``path``."""
        self.reasons = Counter({str(reason): int(count) for reason, count in state["reasons"].items()})

    def close(self) -> None:
        """Closes open files."""


class Refuse(BadRows):
    """Invalid rows are an error, one for all of a block."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[BadRow] = []

    def add(self, row: BadRow) -> None:
        self._rows.append(row)

    @property
    def refused(self) -> int:
        return len(self._rows)

    def end_block(self) -> None:
        if self._rows:
            raise joined_problems([row.error for row in self._rows])


class Skip(BadRows):
    """Invalid rows are left out and counted."""


class Quarantine(BadRows):
    """Invalid rows are left out, counted and appended to a file, which is flushed after each row.

    After a resume, rows that are read a second time are not written a second time: the state has the size of the
    file, and the rows after that size are remembered.

    Parameters
    ----------
    path : the file; it is created at the first invalid row.

    Examples
    --------
    >>> import io, json, tempfile, pathlib
    >>> import nolana
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bad.jsonl"
    >>> file = io.BytesIO(b"a,y\\n1,0\\n2,oops,1\\n3,1\\n")
    >>> with nolana.sources.open(file, on_bad_row=nolana.sources.Quarantine(path)) as stream:
    ...     X, y = stream.gather()
    >>> X.tolist(), stream.bad_rows, json.loads(path.read_text())["text"]
    ([[1.0], [3.0]], 1, '2,oops,1')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(path)
        self._file: IO[bytes] | None = None
        self._known: dict[tuple[str, int], int] = {}  # rows written after the resumed state, and their offsets

    def put_aside(self, row: BadRow) -> None:
        place = (str(row.error.path), int(row.error.line or 0))
        if self._known.pop(place, None) is not None:
            return
        record = {
            "file": row.error.path,
            "line": row.error.line,
            **dict(row.error.place.message if isinstance(row.error.place, Place) else ()),
            "reason": row.reason,
            "text": row.raw,
            "message": str(row.error),
        }
        try:
            self._write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        except OSError as error:
            raise row.error.changed(
                note=f"The row could not be written to {self.path}: {error.strerror or error}"
            ) from error

    def _write(self, line: bytes) -> None:
        if self._file is None:
            self._file = self.path.open("ab", buffering=0)
            if self._file.tell() and not self._ends_line():
                self._file.write(b"\n")  # an interrupted write stays a line of its own
        self._file.write(line)

    def _ends_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def state(self) -> BadRowsState:
        """The counts, and the offset of the next invalid row: before the remembered ones, else at the end."""
        return {**super().state(), "quarantined_bytes": min(self._known.values(), default=self._size())}

    def resume(self, state: BadRowsState, path: str) -> None:
        """Finds the rows of the source that were written after the state."""
        super().resume(state, path)
        length = int(state.get("quarantined_bytes", 0))
        if self._size() <= length:
            return
        with self.path.open("rb+") as file:
            file.seek(length)
            begin = length
            for line in file:
                if not line.endswith(b"\n"):  # an interrupted write
                    file.truncate(begin)
                    break
                try:
                    record = json.loads(line)
                    place = (str(record["file"]), int(record["line"]))
                except (ValueError, KeyError, TypeError):
                    place = ("", 0)  # not written by nolana
                if place[0] == path:
                    self._known[place] = begin
                begin += len(line)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def policy(on_bad_row: "str | BadRows") -> BadRows:
    """The object that ``"error"``, ``"skip"`` or ``"quarantine=FILE"`` names."""
    if isinstance(on_bad_row, BadRows):
        return on_bad_row
    if on_bad_row == "error":
        return Refuse()
    if on_bad_row == "skip":
        return Skip()
    name, _, path = str(on_bad_row).partition("=")
    if name == "quarantine" and path:
        return Quarantine(path)
    raise OptionError("on_bad_row", on_bad_row, "is not error, skip or quarantine=FILE, nor an object of class BadRows")


# Columns that the first block did not have


@dataclass(frozen=True)
class NewColumn:
    """A new column in some rows: its name, in how many rows it is, and the line of the first one."""

    name: str
    rows: int
    line: int


@dataclass(frozen=True)
class NewCategory(NewColumn):
    """Strings of a column without a column of their own: the first one, and how many may have one; None: no new one."""

    first: str
    largest: int | None


class Counts(TypedDict):
    """In how many rows, by column."""

    columns: dict[str, int]
    categories: dict[str, int]


class NewColumnCounts:
    """In how many rows each new column was, and each column of text had a text without a column of its own.

    Parameters
    ----------
    path : the source, for messages.
    unit : what a row is in messages: "line" or "row".
    policy : "warn": once for each column; "ignore": count only; "error": StreamError.
    """

    def __init__(self, path: str, unit: str, policy: NewColumns) -> None:
        self._path, self._unit, self._policy = path, unit, policy
        self.columns: Counter[str] = Counter()
        self.categories: Counter[str] = Counter()

    def add_column(self, column: NewColumn) -> None:
        """Some rows have a column that the first block did not have."""
        self._add(self.columns, column, NEW_COLUMN)

    def add_category(self, new: NewCategory) -> None:
        """Some rows have strings in a column that have no column of their own."""
        why = "the model does not know it" if new.largest is None else f"all {new.largest} categories are in use"
        self._add(self.categories, new, NEW_CATEGORY, new.first, why)

    def _add(self, counts: Counter[str], column: NewColumn, problem: str, value: str = "", why: str = "") -> None:
        facts = {"column": repr(column.name), "why": why}
        place = Place(self._path, column.line, unit=self._unit)
        name = column.name if column.name in counts or len(counts) < MOST_NAMES else REST
        if self._policy == "error":
            remedies = [Remedy("new_columns", "ignore", "accepts that")]
            raise StreamError(problem, place=place, remedies=remedies, value=value, facts=facts)
        if self._policy == "warn" and name not in counts:
            warnings.warn(StreamWarning(problem, place=place, value=value, facts=facts), stacklevel=1)
        counts[name] += column.rows

    def state(self) -> Counts:
        """The counts, for a resumed stream."""
        return {"columns": dict(self.columns), "categories": dict(self.categories)}

    def restore(self, state: Counts) -> None:
        """Continues from what ``state`` returned."""
        self.columns = Counter({str(name): int(count) for name, count in state["columns"].items()})
        self.categories = Counter({str(name): int(count) for name, count in state["categories"].items()})
