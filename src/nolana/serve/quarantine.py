"""The quarantine: rows whose label is no class of the model yet, kept in the database of the log and not learned.

    quarantine   label (JSON), learned (rows that the model had learned), id, row and labels of the request, crc32, text

A row leaves it when its class is accepted: it is then a row of a record of the log, written in the same transaction. So
replay decides nothing: what was learned is in the records, what was not is here.
"""

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["LONGEST_LABEL", "HeldRow", "Quarantine", "label_key"]

LARGEST = 1 << 24  # bytes; the last 100,000 rows or so are enough to learn a class from
OVERHEAD = 100  # bytes of a row beside its text
MOST_LISTED = 100  # labels
LONGEST_LABEL = 256  # characters; labels are listed and sent back
SCHEMA = """
CREATE TABLE quarantine (
    number INTEGER PRIMARY KEY AUTOINCREMENT, label TEXT NOT NULL, learned INTEGER NOT NULL, id TEXT,
    row INTEGER NOT NULL, labels INTEGER NOT NULL, crc INTEGER NOT NULL, text BLOB NOT NULL
);
CREATE INDEX quarantine_by_label ON quarantine (label, learned);
CREATE INDEX quarantine_by_id ON quarantine (id);
"""
FIELDS = "label, learned, id, row, labels, text"


def label_key(label: Any) -> str:
    """A label as the quarantine names it."""
    return json.dumps(label)


@dataclass(frozen=True)
class HeldRow:
    """A row in quarantine.

    Parameters
    ----------
    label : its label, as `label_key`.
    learned : the rows that the model had learned when it came.
    id : of its request, if it had one.
    row : its number in the request, from 1.
    labels : the checksum of all labels of the request.
    text : the row as a JSON line, with its label.
    """

    label: str
    learned: int
    id: str | None
    row: int
    labels: int
    text: bytes


class Quarantine:
    """The rows in quarantine; changes are part of the transaction of the log.

    ``rows`` are in quarantine now, ``counts`` has them by label; ``dropped`` were deleted for lack of room.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.counts: Counter[str] = Counter()
        self.rows = self.dropped = self._bytes = 0
        self.reload()

    def reload(self) -> None:
        """Count the rows again, after a transaction that was rolled back."""
        groups = self._db.execute("SELECT label, count(*), sum(length(text)) FROM quarantine GROUP BY label").fetchall()
        self.counts = Counter({label: count for label, count, _ in groups})
        self.rows = self.counts.total()
        self._bytes = sum(length + OVERHEAD * count for _, count, length in groups)

    def add(self, rows: Iterable[HeldRow]) -> None:
        """Keep rows; the oldest ones are deleted if there are too many."""
        for held in rows:
            self._db.execute(
                f"INSERT INTO quarantine ({FIELDS}, crc) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (held.label, held.learned, held.id, held.row, held.labels, held.text, zlib.crc32(held.text)),
            )
            self.counts[held.label] += 1
            self.rows += 1
            self._bytes += len(held.text) + OVERHEAD
        while self._bytes > LARGEST and self.rows > 1:
            self.dropped += self._delete("number = (SELECT min(number) FROM quarantine)", ())

    def of_label(self, label: str) -> list[HeldRow]:
        """The rows with a label, in the order in which they came; a damaged one is left out."""
        return self._select("label = ?", label)

    def of_id(self, id: str) -> list[HeldRow]:
        """The rows of a request."""
        return self._select("id = ?", id) if self.rows else []

    def listed(self, most: int = MOST_LISTED) -> list[tuple[Any, int]]:
        """The most frequent labels, with their rows."""
        return [(json.loads(label), count) for label, count in self.counts.most_common(most)]

    def count_since(self, label: str, learned: int, besides: str | None = None) -> int:
        """The rows with a label that came after the model had learned so many rows, but for those of a request."""
        query = (
            "SELECT count(*) FROM quarantine WHERE label = ? AND learned > ? AND (id IS NULL OR ? IS NULL OR id <> ?)"
        )
        return int(self._db.execute(query, (label, learned, besides, besides)).fetchone()[0])

    def delete_label(self, label: str) -> int:
        """Delete the rows with a label; their number."""
        return self._delete("label = ?", (label,))

    def delete_id(self, id: str) -> int:
        """Delete the rows of a request; their number."""
        return self._delete("id = ?", (id,)) if self.rows else 0

    def _select(self, condition: str, value: str) -> list[HeldRow]:
        rows = self._db.execute(f"SELECT {FIELDS}, crc FROM quarantine WHERE {condition} ORDER BY number", (value,))
        return [HeldRow(*row) for *row, crc in rows if zlib.crc32(row[-1]) == crc]

    def _delete(self, condition: str, values: tuple[Any, ...]) -> int:
        deleted = self._db.execute(f"SELECT label, length(text) FROM quarantine WHERE {condition}", values).fetchall()
        self._db.execute(f"DELETE FROM quarantine WHERE {condition}", values)
        self.rows -= len(deleted)
        for label, length in deleted:
            self._bytes -= length + OVERHEAD
            self.counts[label] -= 1
            if not self.counts[label]:
                del self.counts[label]
        return len(deleted)
