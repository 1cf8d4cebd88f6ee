"""The log: every request to learn is in it, and on the disk, before it is learned.

One SQLite database in WAL mode with synchronous=FULL, held by one process. One transaction has the records, the ids and
the stored rows of a group of requests: after a crash all of it is there, or nothing.

    records   position, crc32, text: JSON lines with labels; positions have no gaps
    ids       id, position, crc32 of its labels: the ids of the last records, so that a request that is sent again is
              not learned again
    waiting   id, text: rows that were predicted and wait for their labels
    meta      the id of the log, and the last position that was deleted

and the table of `nolana.serve.quarantine`. A log of version 1, which had neither labels of ids nor a quarantine, is
brought to version 2 when it is opened.
"""

import contextlib
import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nolana.errors import LogError, Remedy
from nolana.serve import quarantine
from nolana.serve.quarantine import Quarantine

__all__ = ["DamagedLogError", "KnownId", "Log", "Record"]

FILE = "log.sqlite"
VERSION = 2
OVERHEAD = 100  # bytes of a waiting request beside its rows
LARGEST_CHECKED = 1 << 30  # bytes of a database that is checked as a whole when it is opened
PRIMARY = 0xFF  # the part of an error code of SQLite that names its kind
LARGEST_WAL = 1 << 26  # bytes that the write-ahead log keeps on the disk
BACKUP = "restore it from a backup"
NEW_LOG = Remedy(
    "new_log",
    True,
    "lets the model learn the records that can be read, renames the log and starts a new one; the other records, the "
    "ids and the quarantine are then lost",
)
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE records (position INTEGER PRIMARY KEY, crc INTEGER NOT NULL, text BLOB NOT NULL);
CREATE TABLE ids (id TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX ids_by_position ON ids (position);
CREATE TABLE waiting (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, text BLOB NOT NULL);
"""
UPGRADE = f"""
ALTER TABLE ids ADD COLUMN labels INTEGER;
{quarantine.SCHEMA}
UPDATE meta SET value = {VERSION} WHERE name = 'version';
"""  # from version 1


class DamagedLogError(LogError):
    """The log is not what was written to it."""


@dataclass(frozen=True)
class Record:
    """One request that was written: JSON lines with labels."""

    position: int
    text: bytes


@dataclass(frozen=True)
class KnownId:
    """The record of an id, and the checksum of the labels of its request; None: it was written by version 1."""

    position: int
    labels: int | None


class Log:
    """The log in a directory; it is created if there is none.

    Parameters
    ----------
    directory : of the log.
    most_ids : the ids of so many last records are remembered.
    most_waiting_bytes : rows that wait for their labels; the oldest are deleted first.
    """

    def __init__(self, directory: str | os.PathLike[str], *, most_ids: int, most_waiting_bytes: int) -> None:
        self.path = Path(directory) / FILE
        self._most_ids, self._most_waiting_bytes = most_ids, most_waiting_bytes
        try:
            Path(directory).mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise LogError(f"cannot open the log {self.path}: {why}; choose another directory") from error
        try:
            self._open()
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.Error):
                raise self._opening_error(error) from error
            raise

    def _open(self) -> None:
        db = self._db
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise LogError(f"{self.path}: this file system cannot hold a write-ahead log; choose a local directory")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync may stay in the disk's cache
        db.execute(f"PRAGMA journal_size_limit = {LARGEST_WAL}")
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._execute(SCHEMA)
            values = [("version", 1), ("id", secrets.token_hex(16)), ("deleted", 0)]
            db.executemany("INSERT INTO meta VALUES (?, ?)", values)
        if db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == (1,):
            self._execute(UPGRADE)
        db.execute("COMMIT")
        if self.path.stat().st_size <= LARGEST_CHECKED:
            verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise self._damage(f"the log is damaged ({verdict})")
        meta = dict(db.execute("SELECT name, value FROM meta"))
        if meta.get("version") != VERSION:
            raise LogError(f"{self.path}: the log has version {meta.get('version')!r}, this nolana reads {VERSION}")
        self.id, self.deleted = str(meta["id"]), int(meta["deleted"])
        self.last: int = db.execute("SELECT max(position) FROM records").fetchone()[0] or self.deleted
        self.waiting, length = db.execute("SELECT count(*), coalesce(sum(length(text)), 0) FROM waiting").fetchone()
        self.waiting_bytes = length + OVERHEAD * self.waiting
        self.quarantine = Quarantine(db)

    def _execute(self, statements: str) -> None:
        for statement in statements.split(";"):
            self._db.execute(statement)

    def _opening_error(self, error: sqlite3.Error) -> LogError:
        code = error.sqlite_errorcode & PRIMARY
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            hint = "stop it, or choose another directory"
            return LogError(f"the log {self.path} is in use by another process", hint=hint)
        if isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_CORRUPT:
            hint = "check its permissions, its disk, or choose another directory"
            return LogError(f"cannot open the log {self.path}: {error}", hint=hint)
        return self._damage(f"the log is damaged ({error})")

    def _damage(self, what: str) -> DamagedLogError:
        return DamagedLogError(what, place=str(self.path), hint=BACKUP, remedies=[NEW_LOG])

    # Writing

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Within this context all changes are one: all are on the disk at its end, or, after an error, none."""
        before = self.last, self.waiting, self.waiting_bytes
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("DELETE FROM ids WHERE position <= ?", (self.last - self._most_ids,))
            self._db.execute("COMMIT")
        except BaseException as error:
            self.last, self.waiting, self.waiting_bytes = before
            with contextlib.suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self.quarantine.reload()
            if isinstance(error, sqlite3.Error):
                raise LogError(f"cannot write the log {self.path}: {error}") from error
            raise

    def find(self, id: str) -> KnownId | None:
        """What was learned with this id; None if nothing was, or not among the last records."""
        row = self._db.execute("SELECT position, labels FROM ids WHERE id = ?", (id,)).fetchone()
        return None if row is None else KnownId(*row)

    def append(self, text: bytes, ids: Mapping[str, int] | None = None) -> int:
        """A new record with rows of requests with these ids, each with the checksum of its labels; its position."""
        self.last += 1
        self._db.execute("INSERT INTO records VALUES (?, ?, ?)", (self.last, zlib.crc32(text), text))
        for id, labels in (ids or {}).items():  # other rows of the request may have been learned before
            self._db.execute("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", (id, self.last, labels))
            self.forget_waiting(id)
        return self.last

    def waiting_rows(self, id: str) -> bytes | None:
        """The rows that were predicted with this id and wait for their labels."""
        row = self._db.execute("SELECT text FROM waiting WHERE id = ?", (id,)).fetchone()
        return None if row is None else bytes(row[0])

    def store_waiting(self, id: str, text: bytes) -> None:
        """Stores rows until their labels come; the oldest are deleted if there are too many."""
        self._db.execute("INSERT INTO waiting (id, text) VALUES (?, ?)", (id, text))
        self.waiting += 1
        self.waiting_bytes += len(text) + OVERHEAD
        while self.waiting_bytes > self._most_waiting_bytes and self.waiting > 1:
            oldest = self._db.execute("SELECT id FROM waiting ORDER BY number LIMIT 1").fetchone()
            self.forget_waiting(oldest[0])

    def forget_waiting(self, id: str) -> None:
        """Deletes the rows with this id, if there are any."""
        row = self._db.execute("SELECT length(text) FROM waiting WHERE id = ?", (id,)).fetchone()
        if row is not None:
            self._db.execute("DELETE FROM waiting WHERE id = ?", (id,))
            self.waiting -= 1
            self.waiting_bytes -= row[0] + OVERHEAD

    def delete_up_to(self, position: int) -> None:
        """Deletes the records that the model file has learned."""
        if position > self.deleted:
            with self.transaction():
                self._db.execute("DELETE FROM records WHERE position <= ?", (position,))
                self._db.execute("UPDATE meta SET value = ? WHERE name = 'deleted'", (position,))
            self.deleted = position

    # Reading

    def records(self, after: int) -> Iterator[Record]:
        """The records after a position; LogError if one is damaged or missing."""
        expected = after + 1
        try:
            rows = self._db.execute("SELECT position, crc, text FROM records WHERE position > ? ORDER BY 1", (after,))
            for position, crc, text in rows:
                if position != expected or not isinstance(text, bytes) or zlib.crc32(text) != crc:
                    raise self._damage(f"record {expected:,} of the log is damaged or missing")
                yield Record(position, text)
                expected += 1
        except sqlite3.Error as error:
            raise self._damage(f"record {expected:,} of the log is damaged or missing") from error

    @property
    def bytes(self) -> int:
        """Of the files on the disk."""
        return sum(file.stat().st_size for file in _files(self.path) if file.exists())

    @staticmethod
    def put_aside(directory: str | os.PathLike[str]) -> None:
        """Rename the files of a log, so that a new one can be started."""
        path, number = Path(directory) / FILE, 1
        while (other := path.with_name(f"{FILE}.{number}")).exists():
            number += 1
        for old, new in zip(_files(path), _files(other), strict=True):
            if old.exists():
                old.rename(new)

    def close(self) -> None:
        """Closes the database."""
        self._db.close()


def _files(path: Path) -> list[Path]:
    """The database and what belongs to it."""
    return [path.with_name(path.name + ending) for ending in ("-shm", "-wal", "")]
