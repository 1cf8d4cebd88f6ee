"""Model files of runs: what is saved beside the estimator, when it is written, and how it is read.

The section ``run`` of a model file:

    source       the name of the source; None: rows came by requests alone
    finished     whether it was read to its end
    asked        the options of its columns that were specified
    stream       the state of the stream: columns, encoder, position (None without a source)
    evaluation   the state of the running score
    learned      the sources before this one, if any: name and position of each, with checksums of what was learned
    log          the log of ``nolana serve``, if the model was served: its id, and the last record that was learned
"""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nolana.errors import ModelFileError, OptionError
from nolana.modelfile import Node
from nolana.modelfile.atomic import remove_leftovers
from nolana.sources.blocks import SavedPosition
from nolana.sources.plan import Plan
from nolana.sources.stream import StreamState

if TYPE_CHECKING:
    from nolana.estimators.base import OnlineEstimator
    from nolana.runs.run import Run

__all__ = [
    "SECTION", "Checkpoints", "Interval", "LearnedSource", "LogPosition", "SavedRun", "check_writable",
    "encoded_width", "place_words", "read",
]  # fmt: skip

SECTION = "run"
SERVED = "nolana serve"  # the source of a model without one in files of nolana 0.2, with a position that no file has
MOST_SOURCES = 1000  # that a model file remembers
SHORTEST = 1e-3  # seconds until a timer ends; 0 would be never
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Interval:
    """After how many rows or seconds a checkpoint is written; neither: only at the end.

    The rows of one interval are all that ``kill -9`` can lose.
    """

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def of_text(cls, text: str, option: str = "checkpoint_every") -> "Interval":
        """``10000`` is a number of rows; ``30s``, ``5m``, ``1h`` are times.

        Examples
        --------
        >>> Interval.of_text("10000"), Interval.of_text("1.5m")
        (Interval(rows=10000, seconds=None), Interval(rows=None, seconds=90.0))
        """
        match = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)(ms|s|m|h)", text.strip().replace("_", "").replace(",", ""))
        if match is None or float(match[1] or match[2]) == 0:
            what = "is neither a number of rows such as 10000 nor a time such as 30s, 5m or 1h"
            raise OptionError(option, text, what)
        return cls(rows=int(match[1])) if match[1] else cls(seconds=float(match[2]) * UNITS[match[3]])


class Checkpoints:
    """Writes the model file of a run; temporary files of a killed run are removed.

    Parameters
    ----------
    path : the model file.
    every : the interval; it is checked after each block.
    """

    def __init__(self, path: str | os.PathLike[str], every: Interval | None = None) -> None:
        self.path, self.every = Path(path), every or Interval()
        remove_leftovers(self.path)
        self.written = 0
        self._rows: int | None = None
        self._time = time.monotonic()

    def block_rows(self, largest: int) -> int:
        """Rows of a block, so that checkpoints are written in time."""
        rows = self.every.rows
        return largest if rows is None else -(-rows // -(-rows // largest))

    def after_block(self, run: "Run") -> None:
        """Writes the file if the interval has passed."""
        if self._rows is None:
            self._rows = run.rows_before
        rows, seconds = self.every.rows, self.every.seconds
        if (rows is not None and run.rows - self._rows >= rows) or (
            seconds is not None and time.monotonic() - self._time >= seconds
        ):
            self.write(run)

    @contextmanager
    def waiting(self, run: "Run") -> Iterator[None]:
        """Within this context, where rows are waited for, the file is written when the interval has passed."""
        seconds, main = self.every.seconds, threading.current_thread() is threading.main_thread()
        rows = run.rows_before if self._rows is None else self._rows
        if seconds is None or run.rows == rows or not main or not hasattr(signal, "setitimer"):
            yield
            return
        # The handler runs between two reads: the block before is scored, and Python repeats the interrupted read.
        before = signal.signal(signal.SIGALRM, lambda *_: self.write(run))
        signal.setitimer(signal.ITIMER_REAL, max(SHORTEST, self._time + seconds - time.monotonic()))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def write(self, run: "Run") -> None:
        """Writes the file, as a whole or not at all."""
        run.save(self.path)
        self.written += 1
        self._rows, self._time = run.rows, time.monotonic()


@dataclass(frozen=True)
class LearnedSource:
    """A source whose rows were learned up to a position; the position has checksums of them."""

    source: str
    position: SavedPosition


@dataclass(frozen=True)
class LogPosition:
    """The log of ``nolana serve`` that a model learns from, and the number of the last record that it has learned."""

    id: str
    position: int


@dataclass(frozen=True)
class SavedRun:
    """A run as its model file stores it."""

    source: str | None
    finished: bool
    options: dict[str, object]
    stream: StreamState = field(default_factory=StreamState)
    evaluation: dict[str, Any] = field(default_factory=dict)
    learned: tuple[LearnedSource, ...] = ()
    log: LogPosition | None = None

    def section(self) -> dict[str, object]:
        """The section of the file."""
        section: dict[str, object] = {"source": self.source, "finished": self.finished, "asked": self.options}
        section |= {"stream": self.stream, "evaluation": self.evaluation}
        if self.learned:
            section["learned"] = [asdict(each) for each in self.learned]
        if self.log is not None:
            section["log"] = asdict(self.log)
        return section

    def learned_before(self, resumed: LearnedSource | None = None) -> tuple[LearnedSource, ...]:
        """The sources to remember when another one is learned: the last ones, without the one that is resumed."""
        others = tuple(each for each in self.learned if each is not resumed)
        position = self.stream["position"]
        if self.source is None or position is None:
            return others
        last = LearnedSource(self.source, position)
        return (*(each for each in others if each.position != last.position), last)[-MOST_SOURCES:]


def place_words(position: SavedPosition | None) -> str:
    """The next row of a source, in words."""
    assert position is not None  # of a run that has a source
    return f"{'line' if position.get('messages') is None else 'message'} {position['line']:,}"


def read(path: str | os.PathLike[str]) -> "tuple[OnlineEstimator, SavedRun | None]":
    """The estimator of a model file, and its run if it has one; ModelFileError if the file is invalid."""
    from nolana.estimators.loading import load_with_extra  # loads the estimators

    estimator, extra = load_with_extra(path)
    if SECTION not in extra:
        return estimator, None
    try:
        saved = _saved_run(Node(extra[SECTION], SECTION), encoded_width(estimator))
        _name_columns(saved.evaluation, estimator)
        return estimator, saved
    except ModelFileError as error:
        raise ModelFileError.of(error, os.fspath(path)) from error


def encoded_width(estimator: "OnlineEstimator") -> int:
    """Columns of X of an estimator that has learned rows: of a table those that it was encoded in."""
    return int(estimator._learner.n_features)


def _saved_run(node: Node, width: int) -> SavedRun:
    fields = node.fields("source", "finished", "asked", "stream", "evaluation", optional=("learned", "log"))
    for name in ("asked", "stream", "evaluation"):
        fields[name].entries()  # a dict
    stream = fields["stream"]
    for name in ("plan", "encoder", "position", "bad_rows"):
        stream[name]
    try:
        planned = Plan.from_dict(stream["plan"].value).n_features
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFileError.of(error, f"{stream.place}/plan") from error
    if planned != width:  # also a bound on the memory of the encoder
        raise ModelFileError(f"{stream.place}/plan: {planned} columns of X, but the estimator has {width}")
    asked = fields["asked"].value
    learned = tuple(map(_learned_source, fields["learned"].items())) if "learned" in fields else ()
    learned = tuple(each for each in learned if each.source != SERVED)
    log = _log_position(fields["log"]) if "log" in fields else None
    source = None if fields["source"].is_none else fields["source"].text()
    finished, evaluation = fields["finished"].flag(), fields["evaluation"].value
    if source == SERVED:
        return SavedRun(None, finished, asked, stream.value | {"position": None}, evaluation, learned, log)
    return SavedRun(source, finished, asked, stream.value, evaluation, learned, log)


def _log_position(node: Node) -> LogPosition:
    fields = node.fields("id", "position")
    return LogPosition(fields["id"].text(), fields["position"].integer(0))


def _learned_source(node: Node) -> LearnedSource:
    fields = node.fields("source", "position")
    position = fields["position"]
    for name in ("rows", "offset", "line", "head", "tail"):
        position[name].integer()
    position["target"].flag()
    if "lines" in position.entries():
        for line in position["lines"].items():
            line.integer()
    return LearnedSource(fields["source"].text(), position.value)


def _name_columns(evaluation: dict[str, object], estimator: "OnlineEstimator") -> None:
    """Add the labels of columns to a score that was saved when classes stood in order of appearance."""
    classes = estimator._seen_classes()
    if classes is None:
        return
    late = evaluation.get("late")
    scores = late.get("scores") if isinstance(late, dict) else None
    if isinstance(late, dict) and "classes" not in late and isinstance(scores, np.ndarray) and scores.ndim == 2:
        late["classes"] = classes[: scores.shape[1]]
    for metrics in (evaluation.get("overall"), evaluation.get("recent")):
        for metric in metrics if isinstance(metrics, list) else ():
            if isinstance(metric, dict) and {"first", "second"} <= metric.keys():
                metric.setdefault("label", classes[0])


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raises, before any work is done, if a file cannot be written."""
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a directory, not a file to write")
    if place.exists() and not place.is_file():
        return  # a pipe or a device is written to, not replaced
    if not place.parent.is_dir():
        raise NotADirectoryError(f"there is no directory {str(place.parent)!r}; create it, or choose another one")
    if not os.access(place.parent, os.W_OK):
        raise PermissionError(f"{str(place.parent)!r} may not be written to; choose another directory")
