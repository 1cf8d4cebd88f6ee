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
from typing import Any

from nolana.errors import LogError, NolanaError, Place
from nolana.runs.checkpoints import Interval
from nolana.serve.group import Group
from nolana.serve.jobs import Classes, Decided, FetchModel, Job, Learn, Learned, Store
from nolana.serve.log import Log, Record
from nolana.serve.model import NewModel, Outcome, ServedModel, load
from nolana.serve.new_classes import NewClasses
from nolana.serve.refusal import RETRY, Refusal, no_model
from nolana.serve.rows import Rows
from nolana.serve.status import Counters, note, note_error, summary

__all__ = ["Service", "deliver"]

MOST_AT_ONCE = 256  # requests of one transaction
PAUSE = 0.2  # seconds until an idle thread looks at the time, and between two summaries


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
    new_classes : what is done with labels that are no class of the model.
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
        new_classes: NewClasses | None = None,
    ) -> None:
        self.path, self.model, self.new, self.log = path, model, new, log
        self.new_classes = NewClasses() if new_classes is None else new_classes
        self._every, self._keep_log, self._most_jobs = every, keep_log, most_jobs
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.counters = Counters()
        self.summary: dict[str, Any] = {}
        self.failure: str | None = None  # why the thread has ended
        self.log_failure: str | None = None  # why the log could not be written the last time
        self.checkpoint_failure: str | None = None
        self.checkpoint_position = 0 if model is None else model.position
        self.stopping = False
        self.deliver: Callable[[list[tuple[Job, object]]], None] = deliver
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
                self.model = self.new.create(records[0].text, self.log.id)
            rows = [self.model.reader.read_logged(record.text) for record in records]
        except Refusal as error:
            place = Place(str(self.log.path), records[0].position, unit="record", last_line=records[-1].position)
            hint = "start with the options with which the log was written"
            raise LogError.of(error, str(place), before="they do not fit the model", hint=hint) from error
        self._learn(self.model, rows, records[-1].position)

    def release_known(self) -> None:
        """Learn the rows in quarantine whose label is a class now, by the options or by the model file."""
        if self.log is None or self.model is None:
            return
        group = Group(self.log, self.model, self.new, self.new_classes)
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

    def submit(self, job: Job) -> None:
        """Hand over a job; Refusal if too many wait."""
        if self.failure is not None or self.stopping:
            why = "has failed and ends" if self.failure else "ends"
            raise Refusal(503, f"the service {why}; retry later", retry_after=RETRY)
        if self.waiting >= self._most_jobs:
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
            refusal = Refusal(503, "the service has failed and ends; retry later", retry_after=RETRY)
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
        results: list[tuple[Job, object]] = []
        jobs = [job for job in group if isinstance(job, Learn | Store) or (isinstance(job, Classes) and job.changes)]
        if jobs:
            try:
                results += self._write_and_learn(jobs)
                self.log_failure = None
            except LogError as error:
                self.log_failure = str(error)
                self.counters.log_failures += 1
                note = "Nothing of this request was learned; retry with the same id"
                refusal = Refusal.of(error, status=507, retry_after=RETRY, note=note)
                results += [(job, refusal) for job in jobs]
        fetches = [job for job in group if isinstance(job, FetchModel)]
        if fetches:
            content = no_model() if self.model is None else self.model.packed()
            results += [(job, content) for job in fetches]
        results += [(job, self._classes(Decided())) for job in group if isinstance(job, Classes) and not job.changes]
        self.deliver(results)

    def _write_and_learn(self, jobs: Sequence[Job]) -> list[tuple[Job, object]]:
        assert self.log is not None
        results: list[tuple[Job, object]] = []
        group = Group(self.log, self.model, self.new, self.new_classes)
        with self.log.transaction():
            for job in jobs:
                try:
                    answer = group.write(job)
                    if answer is not None:
                        results.append((job, answer))
                except Refusal as refusal:
                    results.append((job, refusal))
        self.counters.quarantined += group.held
        results += self._learn_group(group)
        return [(job, self._classes(answer) if isinstance(answer, Decided) else answer) for job, answer in results]

    def _learn_group(self, group: Group) -> list[tuple[Job, object]]:
        """Learn what was written; the answers of the jobs that it belongs to."""
        if not group.written:
            return []
        assert group.model is not None
        self.model = group.model
        outcomes = self._learn(self.model, [each.rows for each in group.written], group.written[-1].position)
        answers: dict[int, tuple[Job, object]] = {}
        for each, outcome in zip(group.written, outcomes, strict=True):
            if each.job is None:
                if isinstance(outcome, Refusal):
                    note(f"{len(each.rows):,} rows of the quarantine were not learned: {outcome}")
            elif isinstance(outcome, Refusal):
                answers[id(each.job)] = (each.job, outcome)
            else:
                answer = replace(each.answer, outcome=outcome) if isinstance(each.answer, Learned) else each.answer
                answers.setdefault(id(each.job), (each.job, answer))
        return list(answers.values())

    def _classes(self, decided: Decided) -> Decided:
        """With the classes and the quarantine as they are now."""
        model, log = self.model, self.log
        fitted = model is not None and model.task == "classification" and model.estimator.__sklearn_is_fitted__()
        classes = model.estimator.classes_.tolist() if model is not None and fitted else []
        return replace(decided, classes=classes, quarantine=[] if log is None else log.quarantine.listed())

    def _learn(self, model: ServedModel, rows: list[Rows], position: int) -> list[Outcome | Refusal]:
        outcomes = model.learn(rows)
        assert self.log is not None
        model.follow(self.log.id, position)
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


def deliver(results: list[tuple[Job, object]]) -> None:
    """Hand over the results of a group."""
    for job, result in results:
        job.done(result)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
