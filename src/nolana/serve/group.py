"""What one transaction writes: the waiting requests as records, ids, stored rows and rows in quarantine.

All decisions are made here, once. A job that is refused has written nothing. The records are learned when they are on
the disk; after a crash they are learned again as they are.
"""

import json
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from nolana.errors import ConflictError, Place, Remedy, Setting
from nolana.metrics import Predictions
from nolana.serve.jobs import Classes, Decided, Learn, Learned, Store
from nolana.serve.log import Log
from nolana.serve.model import NewModel, ServedModel
from nolana.serve.options import ServeOptions
from nolana.serve.quarantine import LONGEST_LABEL, Admission, HeldRow, label_key
from nolana.serve.refusal import Refusal, no_model
from nolana.serve.rows import Label, RowReader, Rows, split_moments, with_label, with_moments
from nolana.serve.status import note

__all__ = ["Group", "Written"]

RELEASED_AT_ONCE = 1000  # rows of one record that leave the quarantine
MOST_LISTED = 20  # classes of a message
MOST_SHOWN = 60  # characters of a label in a message

Records = list[tuple[Rows, dict[str, int]]]  # rows, and the ids of their requests with the checksums of the labels


@dataclass(frozen=True)
class Written:
    """A record that is in the log and not yet learned; the job that it belongs to."""

    rows: Rows
    position: int
    job: Learn | Classes | None = None

    def learned(self, outcome: Predictions | Refusal) -> None:
        """Its rows were learned; if not, that is the result of the job."""
        if isinstance(outcome, Refusal):
            if self.job is None:
                note(f"{len(self.rows):,} rows of the quarantine were not learned: {outcome}")
            else:
                self.job.result = outcome
        elif isinstance(self.job, Learn) and isinstance(self.job.result, Learned):
            self.job.result = replace(self.job.result, rows=outcome)


class Group:
    """The requests of one transaction.

    Parameters
    ----------
    log : the log, in a transaction.
    model : None: it is created by the first record.
    new : how it is created.
    options : what is done with labels that are no class of the model.
    """

    def __init__(self, log: Log, model: ServedModel | None, new: NewModel, options: ServeOptions) -> None:
        self.model, self.written, self.held = model, list[Written](), 0
        self._log, self._new, self._options = log, new, options
        self._admission = None if model is None else Admission(options, model)

    def write(self, job: Learn | Store | Classes) -> None:
        """Write what a job changes, and its result as far as it is known before rows are learned."""
        try:
            if isinstance(job, Store):
                job.result = self._store(job)
            elif isinstance(job, Classes):
                job.result = self._decide(job)
            else:
                job.result = self._write_rows(job)
        except (Refusal, ConflictError) as error:  # nothing is written
            job.result = Refusal.of(error)

    # Rows

    def _write_rows(self, job: Learn) -> Learned:
        quarantine = self._log.quarantine
        again = self._sent_again(job)
        if again is not None:
            return again
        text = self._text(job)
        model = self.model or self._new.create(text, self._log.id)
        rows = job.rows if job.rows is not None and text is job.text else model.reader.read(text, labelled=True)
        admission = self._admission or Admission(self._options, model)
        labels, columns = _checksum(rows.labels), rows.unknown_columns
        if changed := admission.changed(rows.labels):  # in the log, so that replay decides nothing
            rows = model.reader.read_logged(_relabelled(rows, changed, model.reader.target))
        new = admission.new(rows.labels)
        unknown = {label: n for label, n in new.items() if not admission.accepts(label, n, quarantine, job.id)}
        if unknown and (self.model is None or not admission.holds):
            raise _no_class(rows, next(iter(unknown)), admission)
        for label in unknown:
            if len(str(label)) > LONGEST_LABEL:
                raise _no_class(rows, label, admission)
        # From here on nothing is refused.
        self.model, self._admission = model, admission
        if job.id is not None:
            quarantine.delete_id(job.id)  # of the same request with other labels
        for label, count in new.items():
            if label not in unknown and not self._try_release(label_key(label), model):
                unknown[label] = count
        held: list[HeldRow] = []
        if unknown:
            kept = []
            for i, (label, line) in enumerate(zip(rows.labels, rows.lines, strict=True)):
                if label in unknown:
                    held.append(HeldRow(label_key(label), admission.rows, job.id, i + 1, labels, line))
                else:
                    kept.append(line)
            quarantine.add(held)
            self.held += len(held)
            if not kept:
                return Learned(None, held=held, unknown_columns=columns)
            rows = model.reader.read_logged(b"\n".join(kept))
        position = self._log.append(rows.text, {} if job.id is None else {job.id: labels})
        self._add(Written(rows, position, job))
        return Learned(position, held=held, unknown_columns=columns)

    def _sent_again(self, job: Learn) -> Learned | None:
        """The answer to a request that is known by its id; Refusal if it was learned with another label."""
        if job.id is None or self.model is None:
            return None
        known, held = self._log.find(job.id), self._log.quarantine.of_id(job.id)
        if known is None and not held:
            return None
        labels = _labels(job, self.model.reader)
        if known is not None and known.labels not in (None, _checksum(labels)):
            what = "another label" if len(labels) == 1 else "other labels"
            raise Refusal(409, f"the id {job.id!r} was learned with {what}, which cannot be changed; choose another id")
        if known is None and held[0].labels != _checksum(labels):
            return None  # a correction
        return Learned(None if known is None else known.position, duplicate=True, held=held)

    def _add(self, written: Written) -> None:
        assert self._admission is not None
        self.written.append(written)
        self._admission.add(written.rows.labels)

    def _text(self, job: Learn) -> bytes:
        """The lines of a request, with labels; those of stored rows if only the labels came.

        Rows that were predicted with the same id are learned with the moment of their prediction.
        """
        stored = None if job.id is None else self._log.waiting_rows(job.id)
        if job.text is not None:
            moments = [] if stored is None else split_moments(stored)[1]
            known = any(moments) and len(moments) == job.text.count(b"\n") + 1
            return with_moments(job.text, moments) if known else job.text
        if stored is None:
            raise Refusal(
                404, f"no rows are stored for the id {job.id!r}: predict them with this id first, or send rows"
            )
        lines, labels = stored.split(b"\n"), job.labels
        if len(lines) != len(labels):
            raise Refusal(400, f"{len(lines)} rows are stored for the id {job.id!r}, but {len(labels)} labels came")
        target = self._new.target if self.model is None else self.model.reader.target
        return b"\n".join(with_label(line, target, label) for line, label in zip(lines, labels, strict=True))

    def _store(self, job: Store) -> bool:
        """Whether the rows wait for their labels now; they do not if they were learned already."""
        if self._log.find(job.id) is not None:
            return False
        stored = self._log.waiting_rows(job.id)
        if stored is None:
            self._log.store_waiting(job.id, job.text)
        elif split_moments(stored)[0] != split_moments(job.text)[0]:
            raise Refusal(409, f"other rows are stored for the id {job.id!r}; choose another id")
        return True

    # Quarantine

    def release_known(self) -> None:
        """Write the rows in quarantine whose label is a class now, by the options or by the model file."""
        if self.model is None or self._admission is None:
            return
        for key in list(self._log.quarantine.counts):
            if not self._admission.new([json.loads(key)]):
                self._try_release(key, self.model)

    def _decide(self, job: Classes) -> Decided:
        """Accept or discard labels in quarantine."""
        if self.model is None or self._admission is None:
            raise no_model()
        if job.accept and self._admission.closed:
            raise Refusal(
                409,
                "the classes are fixed by {classes}",
                facts={"classes": Setting("classes", self._options.classes)},
                hint="restart the service with the new one among them, and its rows in quarantine are learned",
            )
        quarantine, model = self._log.quarantine, self.model
        accept, discard = _keys(model.reader, job.accept), _keys(model.reader, job.discard)
        for key in accept + discard:
            if key not in quarantine.counts:
                raise Refusal(404, f"no row in quarantine has the label {key[:MOST_SHOWN]}; GET /classes lists them")
        if set(accept) & set(discard):
            raise Refusal(400, "a label is either accepted or discarded")
        records = {key: self._held_records(key, model) for key in accept}
        discarded = sum(map(quarantine.delete_label, discard))
        for key, some in records.items():
            self._release(key, some, job)
        return Decided(sum(len(rows) for some in records.values() for rows, _ in some), discarded)

    def _held_records(self, key: str, model: ServedModel) -> Records:
        """The rows in quarantine with a label as records to write; Refusal if the options have changed since."""
        held, records = self._log.quarantine.of_label(key), Records()
        size = min(model.reader.most_rows, RELEASED_AT_ONCE)
        for i in range(0, len(held), size):
            some = held[i : i + size]
            ids = {row.id: row.labels for row in some if row.id is not None}
            records.append((model.reader.read_logged(b"\n".join(row.text for row in some)), ids))
        return records

    def _release(self, key: str, records: Records, job: Classes | None = None) -> None:
        for rows, ids in records:
            self._add(Written(rows, self._log.append(rows.text, ids), job))
        self._log.quarantine.delete_label(key)

    def _try_release(self, key: str, model: ServedModel) -> bool:
        """Whether no row with a label is in quarantine any more."""
        try:
            if key in self._log.quarantine.counts:
                self._release(key, self._held_records(key, model))
        except Refusal as refusal:
            note(f"the rows with the label {key[:MOST_SHOWN]} stay in quarantine: {refusal}")
            return False
        return True


def _labels(job: Learn, reader: RowReader) -> list[Label]:
    if job.rows is not None:
        return job.rows.labels
    if job.text is not None:
        return reader.read(job.text, labelled=True).labels
    return reader.labels(job.labels)


def _keys(reader: RowReader, labels: Sequence[bytes]) -> list[str]:
    return [label_key(label) for label in dict.fromkeys(reader.labels(labels))] if labels else []


def _relabelled(rows: Rows, changed: Mapping[Hashable, str], target: str) -> bytes:
    """The lines of rows, with these labels in other letters."""
    return b"\n".join(
        with_label(line, target, json.dumps(changed[label]).encode()) if label in changed else line
        for line, label in zip(rows.lines, rows.labels, strict=True)
    )


def _checksum(labels: list[Label]) -> int:
    """Of the labels of a request."""
    return zlib.crc32(json.dumps(labels).encode())


def _no_class(rows: Rows, label: Label, admission: Admission) -> Refusal:
    known = ", ".join(sorted(map(str, admission.classes))[:MOST_LISTED])
    remedy = Remedy("new_classes", "quarantine", "keeps such rows")
    return Refusal(
        400,
        "label {value} is not a class of the model ({expected})",
        place=Place(line=rows.labels.index(label) + 1, unit="row"),
        value=str(label)[:MOST_SHOWN],
        expected=known,
        hint="correct it",
        remedies=[Remedy("classes", ..., "must have it") if admission.closed else remedy],
    )
