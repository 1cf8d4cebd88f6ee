"""The thread that writes: waiting requests are one transaction of the log (group commit), then they are learned.

A request is answered when its record is on the disk and its rows are learned. After a crash the records behind the last
checkpoint are learned again, so each request is learned exactly once. Queues are bounded: more requests than they hold
are refused.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nolana.errors import LogError, NolanaError
from nolana.runs.checkpoints import Interval
from nolana.serve.log import Log, Record
from nolana.serve.model import NewModel, Outcome, ServedModel, load
from nolana.serve.notes import note, note_error
from nolana.serve.refusal import Refusal
from nolana.serve.rows import Rows, with_label
from nolana.serve.status import Counters, summary

__all__ = ["FetchModel", "Job", "Learn", "Learned", "Service", "Store", "deliver"]

MOST_AT_ONCE = 256  # requests of one transaction
PAUSE = 0.2  # seconds until an idle thread looks at the time, and between two summaries
RETRY = 1  # seconds


@dataclass
class Job:
    """Something for the thread that writes; ``done`` is called with the result, a Refusal where it is refused."""

    done: Callable[[Any], None]
    abandoned: bool = field(default=False, init=False)  # nobody waits for it any more: it is not begun


@dataclass
class Learn(Job):
    """Rows to learn: their text, and the rows where they were read already; or labels of rows that wait."""

    text: bytes | None = None
    rows: Rows | None = None
    labels: list[bytes] | None = None
    id: str | None = None


@dataclass
class Store(Job):
    """Rows that were predicted, to be stored until their labels come."""

    text: bytes = b""
    id: str = ""


@dataclass
class FetchModel(Job):
    """The bytes of the model file as it is now."""


@dataclass(frozen=True)
class Learned:
    """The result of `Learn`: the position of the record; its outcome, None where the id was known already."""

    position: int
    outcome: Outcome | None


@dataclass(frozen=True)
class _Written:
    """A record that is in the log and not yet learned."""

    job: Learn
    rows: Rows
    position: int


class Service:
    """A model, its log, and the thread that writes both.

    Parameters
    ----------
    path : the model file.
    model : what the file has; None: there is no file yet.
    new : how a model is made of the first rows.
    log : None: the service is read-only, and loads the file again when it has changed.
    every : the interval of checkpoints.
    keep_log : whether records stay in the log when the model file has them.
    most_jobs : that wait; more are refused.
    """

    def __init__(
        self,
        path: Path,
        model: ServedModel | None,
        new: NewModel,
        log: Log | None,
        *,
        every: Interval,
        keep_log: bool = False,
        most_jobs: int = 1024,
    ) -> None:
        self.path, self.model, self.new, self.log = path, model, new, log
        self._every, self._keep_log, self._most_jobs = every, keep_log, most_jobs
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.counters = Counters()
        self.summary: dict[str, Any] = {}
        self.failure: str | None = None  # why the thread has ended
        self.log_failure: str | None = None  # why the log could not be written the last time
        self.checkpoint_failure: str | None = None
        self.checkpoint_position = 0 if model is None else model.position
        self.stopping = False
        self.deliver: Callable[[list[tuple[Job, Any]]], None] = deliver
        self._rows_since, self._checkpoint_time, self._summary_time = 0, time.monotonic(), 0.0
        self._identity = _identity(path)
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    # Before and after

    def replay(self) -> int:
        """Learn the records of the log that the model file does not have; their number."""
        if self.log is None:
            return 0
        count, group = 0, list[Record]()
        try:
            for record in self.log.records(0 if self.model is None else self.model.position):
                group.append(record)
                count += 1
                if len(group) == MOST_AT_ONCE:
                    self._replay(group)
                    group = []
        finally:  # also before a record that is damaged
            if group:
                self._replay(group)
        return count

    def _replay(self, records: list[Record]) -> None:
        assert self.log is not None
        try:
            if self.model is None:
                self.model = self._create(records[0].text)
            rows = [self.model.reader.read(record.text, labelled=True) for record in records]
        except Refusal as error:
            place = f"{self.log.path}, records {records[0].position:,} to {records[-1].position:,}"
            what = f"{place}: they do not fit the model: {error.message}"
            raise LogError(f"{what}; start with the options with which the log was written") from error
        self._learn(self.model, rows, records[-1].position)

    def start(self) -> None:
        """Start the thread."""
        self._summarize()
        self._thread.start()

    def stop(self) -> None:
        """Finish all jobs, write the last checkpoint, end the thread."""
        self.stopping = True
        self._jobs.put(None)
        self._thread.join()
        if self.log is not None:
            self.log.close()

    # Jobs

    def submit(self, job: Job) -> None:
        """Hand over a job; Refusal where too many wait."""
        if self.failure is not None or self.stopping:
            why = "has failed and ends" if self.failure else "ends"
            raise Refusal(503, f"the service {why}; try again", retry_after=RETRY)
        if self.waiting >= self._most_jobs:
            self.counters.overloads += 1
            raise Refusal(429, f"{self.waiting:,} requests wait already; try again", retry_after=RETRY)
        self._jobs.put(job)

    @property
    def waiting(self) -> int:
        """Jobs that wait."""
        return self._jobs.qsize()

    def _run(self) -> None:
        group: list[Job] = []
        try:
            last = False
            while not last:
                group, last = self._next_group()
                if group:
                    self._process(group)
                    group = []
                if self._is_due():
                    self.checkpoint()
                if self.log is None:
                    self._reload()
                if time.monotonic() - self._summary_time >= PAUSE:
                    self._summarize()
            self.checkpoint()
        except BaseException as error:
            note_error()
            self.failure = f"{type(error).__name__}: {error}"
            while not self._jobs.empty():  # nobody may wait without end
                job = self._jobs.get()
                group += [] if job is None else [job]
            refusal = Refusal(503, "the service has failed and ends; try again", retry_after=RETRY)
            self.deliver([(job, refusal) for job in group])

    def _next_group(self) -> tuple[list[Job], bool]:
        """The jobs that wait, none after a pause; and whether they are the last ones."""
        group: list[Job] = []
        try:
            job = self._jobs.get(timeout=PAUSE)
            while job is not None:
                if not job.abandoned:
                    group.append(job)
                if len(group) == MOST_AT_ONCE:
                    return group, False
                job = self._jobs.get_nowait()
        except queue.Empty:
            return group, False
        return group, True

    def _process(self, group: list[Job]) -> None:
        results: list[tuple[Job, Any]] = []
        jobs = [job for job in group if isinstance(job, Learn | Store)]
        if jobs:
            try:
                results += self._write_and_learn(jobs)
                self.log_failure = None
            except LogError as error:
                self.log_failure = str(error)
                self.counters.log_failures += 1
                what = f"{error}. Nothing of this request was learned; try again with the same id"
                results += [(job, Refusal(507, what, retry_after=RETRY)) for job in jobs]
        fetches = [job for job in group if isinstance(job, FetchModel)]
        if fetches:
            content = _no_model() if self.model is None else self.model.packed()
            results += [(job, content) for job in fetches]
        self.deliver(results)

    def _write_and_learn(self, jobs: Sequence[Learn | Store]) -> list[tuple[Job, Any]]:
        assert self.log is not None
        results: list[tuple[Job, Any]] = []
        written: list[_Written] = []
        model = self.model
        with self.log.transaction():
            for job in jobs:
                try:
                    if isinstance(job, Store):
                        results.append((job, self._store(job)))
                        continue
                    known = None if job.id is None else self.log.position_of(job.id)
                    if known is not None:
                        results.append((job, Learned(known, None)))
                        continue
                    text = self._text(job)
                    model = model or self._create(text)
                    rows = job.rows or model.reader.read(text, labelled=True)
                    written.append(_Written(job, rows, self.log.append(text, job.id)))
                except Refusal as refusal:
                    results.append((job, refusal))
        if not written:
            return results
        assert model is not None
        self.model = model
        outcomes = self._learn(model, [each.rows for each in written], written[-1].position)
        for each, outcome in zip(written, outcomes, strict=True):
            result = outcome if isinstance(outcome, Refusal) else Learned(each.position, outcome)
            results.append((each.job, result))
        return results

    def _create(self, text: bytes) -> ServedModel:
        """A model that begins with these rows."""
        assert self.log is not None
        model = self.new.create(text)
        model.log = self.log.id
        return model

    def _text(self, job: Learn) -> bytes:
        """The lines of a request, with labels; those of stored rows where only the labels came."""
        assert self.log is not None
        if job.text is not None:
            return job.text
        stored = None if job.id is None else self.log.waiting_rows(job.id)
        if stored is None:
            raise Refusal(
                404, f"no rows are stored for the id {job.id!r}: predict them with this id first, or send rows"
            )
        lines, labels = stored.split(b"\n"), job.labels or []
        if len(lines) != len(labels):
            raise Refusal(400, f"{len(lines)} rows are stored for the id {job.id!r}, but {len(labels)} labels came")
        target = self.new.target if self.model is None else self.model.reader.target
        return b"\n".join(with_label(line, target, label) for line, label in zip(lines, labels, strict=True))

    def _store(self, job: Store) -> bool:
        """Whether the rows wait for their labels now; they do not where they were learned already."""
        assert self.log is not None
        if self.log.position_of(job.id) is not None:
            return False
        stored = self.log.waiting_rows(job.id)
        if stored is None:
            self.log.store_waiting(job.id, job.text)
        elif stored != job.text:
            raise Refusal(409, f"other rows are stored for the id {job.id!r}; choose another id")
        return True

    def _learn(self, model: ServedModel, rows: list[Rows], position: int) -> list[Outcome | Refusal]:
        outcomes = model.learn(rows)
        model.position = position
        count = sum(len(some) for some, outcome in zip(rows, outcomes, strict=True) if isinstance(outcome, Outcome))
        self._rows_since += count
        self.counters.rows += count
        return outcomes

    # Checkpoints

    def _is_due(self) -> bool:
        rows, seconds = self._every.rows, self._every.seconds
        if self.log is None or self.model is None or self.model.position == self.checkpoint_position:
            return False
        passed = time.monotonic() - self._checkpoint_time
        if self.checkpoint_failure is not None and passed < RETRY:
            return False
        return (rows is not None and self._rows_since >= rows) or (seconds is not None and passed >= seconds)

    def checkpoint(self, *, always: bool = False) -> None:
        """Write the model file, then delete the records that it has learned; a failure is tried again later.

        always: also where it has learned no record since the last time.
        """
        model, log = self.model, self.log
        if model is None or log is None or (model.position == self.checkpoint_position and not always):
            return
        self._checkpoint_time = time.monotonic()
        try:
            model.save(self.path)
            self.checkpoint_position, self._rows_since = model.position, 0
            self.checkpoint_failure = None
            self.counters.checkpoints += 1
            if not self._keep_log:
                log.delete_up_to(model.position)
        except NolanaError as error:
            self.checkpoint_failure = str(error)
            self.counters.checkpoint_failures += 1
            note(f"checkpoint failed: {error}")

    def _reload(self) -> None:
        """A read-only service follows the model file."""
        identity = _identity(self.path)
        if identity is None or identity == self._identity:
            return
        self._identity = identity
        try:
            self.model = load(self.path, self.new)
            self.checkpoint_failure = None
        except (NolanaError, OSError) as error:
            self.checkpoint_failure = str(error)
            note(f"the changed model file was not loaded: {error}")

    def _summarize(self) -> None:
        self._summary_time = time.monotonic()
        self.summary = summary(self)


def deliver(results: list[tuple[Job, Any]]) -> None:
    """Hand over the results of a group."""
    for job, result in results:
        job.done(result)


def _no_model() -> Refusal:
    return Refusal(409, "the model has learned nothing yet", retry_after=RETRY)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
