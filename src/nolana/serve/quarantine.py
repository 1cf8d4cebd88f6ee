"""Labels that are no class of the model yet: a typo must not become a class.

    class         a label of the option ``classes``; without it one that the model has learned
    accepted      a label becomes a class by name; or, without ``classes``, while the model has learned fewer than
                  LEARNED_FIRST rows, and later when ENOUGH rows with it came while the last LEARNED_FIRST were learned
    quarantine    a row with another label is kept in the database of the log, and not learned until it is accepted

A held row is learned late, a class that was learned stays: so the rule errs on the side of holding. A class that is
rarer than 1 % of the rows needs someone who accepts it, a slip that is more frequent needs ``classes``.

The table ``quarantine`` has label (JSON), learned (rows that the model had learned), id, row and labels of the request,
crc32, text. A row that leaves it is a row of a record of the log, written in the same transaction. So replay decides
nothing: what was learned is in the records, what was not is here.
"""

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from nolana.errors import ConflictError, Setting
from nolana.serve.model import ServedModel
from nolana.serve.options import ServeOptions
from nolana.serve.rows import Label
from nolana.sources.labels import Spellings
from nolana.sources.options import LabelKind

__all__ = ["LONGEST_LABEL", "Admission", "HeldRow", "Quarantine", "label_key"]

LEARNED_FIRST = 1000  # rows: a class of 1 % is among them but for a chance of 0.00004
ENOUGH = 10  # rows: 1 % of LEARNED_FIRST
NOUNS = {"int": "an integer", "float": "a number", "bool": "true or false"}
TRUTHS = {"true": True, "false": False}
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


def label_key(label: Label) -> str:
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
        self.dropped = 0
        self.reload()

    def reload(self) -> None:
        """Count the rows again, after a transaction that was rolled back."""
        groups = self._db.execute("SELECT label, count(*), sum(length(text)) FROM quarantine GROUP BY label").fetchall()
        self.counts = Counter[str]({label: count for label, count, _ in groups})
        self.rows = self.counts.total()
        self._bytes: int = sum(length + OVERHEAD * count for _, count, length in groups)

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
            self.dropped += self._delete("number = (SELECT min(number) FROM quarantine)")

    def of_label(self, label: str) -> list[HeldRow]:
        """The rows with a label, in the order in which they came; a damaged one is left out."""
        return self._select("label = ?", label)

    def of_id(self, id: str) -> list[HeldRow]:
        """The rows of a request."""
        return self._select("id = ?", id) if self.rows else []

    def listed(self, most: int = MOST_LISTED) -> list[tuple[Label, int]]:
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
        return self._delete("label = ?", label)

    def delete_id(self, id: str) -> int:
        """Delete the rows of a request; their number."""
        return self._delete("id = ?", id) if self.rows else 0

    def _select(self, condition: str, value: str) -> list[HeldRow]:
        rows = self._db.execute(f"SELECT {FIELDS}, crc FROM quarantine WHERE {condition} ORDER BY number", (value,))
        return [HeldRow(*row) for *row, crc in rows if zlib.crc32(row[-1]) == crc]

    def _delete(self, condition: str, *values: str) -> int:
        deleted = self._db.execute(f"SELECT label, length(text) FROM quarantine WHERE {condition}", values).fetchall()
        self._db.execute(f"DELETE FROM quarantine WHERE {condition}", values)
        self.rows -= len(deleted)
        for label, length in deleted:
            self._bytes -= length + OVERHEAD
            self.counts[label] -= 1
            if not self.counts[label]:
                del self.counts[label]
        return len(deleted)


class Admission:
    """Which labels are classes while a group of requests is written: those of the model, and of the requests before.

    ConflictError if a label of the option ``classes`` has another type than those of the model.
    """

    def __init__(self, options: ServeOptions, model: ServedModel) -> None:
        self._any = model.task == "regression" or options.new_classes == "accept"
        self.holds = options.new_classes == "quarantine"  # otherwise requests with new labels are refused
        self.closed = options.classes is not None
        self.rows = model.rows
        self._regression, self.classes = model.task == "regression", set(model.classes)
        if options.classes is not None:
            named = [_label(text, model.reader.plan.labels) for text in options.classes]
            changed = self.changed(named)
            self.classes = {changed.get(label, label) for label in named}

    def changed(self, labels: Iterable[Label]) -> Mapping[Hashable, str]:
        """The labels that say true or false in other letters than the classes do, and their class."""
        new = [label for label in labels if isinstance(label, str) and label not in self.classes]
        return Spellings(sorted(each for each in self.classes if isinstance(each, str))).changed(new) if new else {}

    def new(self, labels: Iterable[Label]) -> dict[Label, int]:
        """The labels that are no class, in the order in which they come, with their rows."""
        if self._any:
            return {}
        return {label: count for label, count in Counter(labels).items() if label not in self.classes}

    def accepts(self, label: Label, count: int, quarantine: Quarantine, id: str | None = None) -> bool:
        """Whether so many more rows with a label make it a class; those of the same request so far do not count."""
        if self.closed or self.rows < LEARNED_FIRST:
            return not self.closed
        since = self.rows - LEARNED_FIRST
        return self.holds and quarantine.count_since(label_key(label), since, id) + count >= ENOUGH

    def add(self, labels: list[Label]) -> None:
        """Rows that are written, and learned after all requests before them."""
        self.rows += len(labels)
        if not self.closed and not self._regression:
            self.classes.update(labels)


def _label(text: str, kind: LabelKind | None) -> Label:
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
        return TRUTHS[text.lower()] if kind == "bool" else text
    except (KeyError, ValueError):
        raise ConflictError(
            f"{{setting}} is not {NOUNS[str(kind)]}, as the labels of the model are",
            value=text,
            facts={"setting": Setting("classes", text)},
        ) from None
