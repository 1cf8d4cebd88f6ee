"""The thread that writes: waiting requests are one transaction of the log (group commit), then they are learned.

A request is answered when its record is on the disk and its rows are learned. After a crash the records behind the last
checkpoint are learned again, so each request is learned exactly once. Queues are bounded: more requests than they hold
are refused.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nolana.errors import LogError, NolanaError, Place
from nolana.metrics import Predictions
from nolana.modelfile.atomic import file_identity
from nolana.serve.group import Group
from nolana.serve.jobs import AnyJob, Classes, Decided, FetchModel, Learn, Store
from nolana.serve.log import Log, Record
from nolana.serve.model import NewModel, ServedModel, load
from nolana.serve.options import ServeOptions, interval
from nolana.serve.refusal import RETRY, Refusal, no_model
from nolana.serve.rows import Rows
from nolana.serve.status import Counters, Summary, note, note_error, summary

__all__ = ["Service", "deliver"]

MOST_AT_ONCE = 256  # requests of one transaction
PAUSE = 0.2  # seconds until an idle thread looks at the time, and between two summaries


def deliver(jobs: Sequence[AnyJob]) -> None:
    """Their results are there; called in the thread of those who wait for them."""
    for job in jobs:
        job.done.set()


class Service:
    """A model, its log, and the thread that writes both.

    Parameters
    ----------
    path : the model file.
    model : what the file has; None: there is no file yet.
    new : how a model is made of the first rows.
    log : None: the service is read-only, and loads the file again when it has changed.
    options : interval of checkpoints, length of the queue, what is done with new classes.
    """

    def __init__(
        self, path: Path, model: ServedModel | None, new: NewModel, log: Log | None, options: ServeOptions
    ) -> None:
        self.path, self.model, self.new, self.log, self._options = path, model, new, log, options
        self._every = interval("checkpoint_every", options.checkpoint_every)
        self._jobs: queue.SimpleQueue[AnyJob | None] = queue.SimpleQueue()
        self.counters = Counters()
        self.summary: Summary = {"rows": 0}
        self.failure: str | None = None  # why the thread has ended
        self.log_failure: str | None = None  # why the log could not be written the last time
        self.checkpoint_failure: str | None = None
        self.checkpoint_position = 0 if model is None else model.position
        self.stopping = False
        self.deliver: Callable[[Sequence[AnyJob]], None] = deliver
        self._rows_since, self._checkpoint_time, self._summary_time = 0, time.monotonic(), 0.0
        self._identity = file_identity(path)
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
                self.model = self.new.create(records[0].text, self.log.id)
            rows = [self.model.reader.read_logged(record.text) for record in records]
        except Refusal as error:
            place = Place(str(self.log.path), records[0].position, unit="record", last_line=records[-1].position)
            hint = "start with the options with which the log was written"
            raise LogError.of(error, str(place), before="they do not fit the model", hint=hint) from error
        self._learn(rows, records[-1].position)

    def release_known(self) -> None:
        """Learn the rows in quarantine whose label is a class now, by the options or by the model file."""
        if self.log is None or self.model is None:
            return
        group = Group(self.log, self.model, self.new, self._options)
        with self.log.transaction():
            group.release_known()
        self._learn_group(group)

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

    def submit(self, job: AnyJob) -> None:
        """Hand over a job; Refusal if too many wait."""
        if self.failure is not None or self.stopping:
            why = "has failed and ends" if self.failure else "ends"
            raise Refusal(503, f"the service {why}; retry later", retry_after=RETRY)
        if self.waiting >= self._options.queue:
            self.counters.overloads += 1
            raise Refusal(
                429, f"the queue is full: {self.waiting:,} requests are queued; retry later", retry_after=RETRY
            )
        self._jobs.put(job)

    @property
    def waiting(self) -> int:
        """Jobs that wait."""
        return self._jobs.qsize()

    def _run(self) -> None:
        group: list[AnyJob] = []
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
            refusal = Refusal(503, "the service has failed and ends; retry later", retry_after=RETRY)
            for job in group:
                job.result = refusal
            self.deliver(group)

    def _next_group(self) -> tuple[list[AnyJob], bool]:
        """The jobs that wait, none after a pause; and whether they are the last ones."""
        group: list[AnyJob] = []
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

    def _process(self, group: list[AnyJob]) -> None:
        changes = [
            job
            for job in group
            if isinstance(job, Learn | Store) or (isinstance(job, Classes) and (job.accept or job.discard))
        ]
        if changes:
            try:
                self._write_and_learn(changes)
                self.log_failure = None
            except LogError as error:
                self.log_failure = str(error)
                self.counters.log_failures += 1
                what = "Nothing of this request was learned; retry with the same id"
                for job in changes:
                    job.result = Refusal.of(error, status=507, retry_after=RETRY, note=what)
        fetches = [job for job in group if isinstance(job, FetchModel)]
        content = (no_model() if self.model is None else self.model.packed()) if fetches else b""
        for fetch in fetches:
            fetch.result = content
        for choice in group:
            if isinstance(choice, Classes) and isinstance(choice.result, Decided):
                classes = [] if self.model is None else self.model.classes
                quarantine = [] if self.log is None else self.log.quarantine.listed()
                choice.result = replace(choice.result, classes=classes, quarantine=quarantine)  # as they are now
        self.deliver(group)

    def _write_and_learn(self, jobs: Sequence[Learn | Store | Classes]) -> None:
        assert self.log is not None
        group = Group(self.log, self.model, self.new, self._options)
        with self.log.transaction():
            for job in jobs:
                group.write(job)
        self.counters.quarantined += group.held
        self._learn_group(group)

    def _learn_group(self, group: Group) -> None:
        """Learn what was written."""
        if group.written:
            self.model = group.model
            outcomes = self._learn([each.rows for each in group.written], group.written[-1].position)
            for each, outcome in zip(group.written, outcomes, strict=True):
                each.learned(outcome)

    def _learn(self, rows: list[Rows], position: int) -> list[Predictions | Refusal]:
        assert self.model is not None
        assert self.log is not None
        outcomes = self.model.learn(rows)
        self.model.follow(self.log.id, position)
        count = sum(len(some) for some, outcome in zip(rows, outcomes, strict=True) if isinstance(outcome, Predictions))
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

        always: also if it has learned no record since the last time.
        """
        model, log = self.model, self.log
        if model is None or log is None or (model.position == self.checkpoint_position and not always):
            return
        self._checkpoint_time = time.monotonic()
        try:
            model.run.save(self.path)
            self.checkpoint_position, self._rows_since = model.position, 0
            self.checkpoint_failure = None
            self.counters.checkpoints += 1
            if not self._options.keep_log:
                log.delete_up_to(model.position)
        except NolanaError as error:
            self.checkpoint_failure = str(error)
            self.counters.checkpoint_failures += 1
            note(f"checkpoint failed: {error}")

    def _reload(self) -> None:
        """A read-only service follows the model file."""
        identity = file_identity(self.path)
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
