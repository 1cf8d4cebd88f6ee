"""A run: rows of a stream are predicted, scored and learned, and all of it can be saved between two blocks."""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.errors import ModelFileError, Place, StreamError
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.methods import method_of
from nolana.estimators.records import record_of
from nolana.estimators.rounds import ROWS_PER_ROUND, RoundLearner
from nolana.evaluate import Evaluation, Progress
from nolana.evaluate.one_by_one import Features
from nolana.metrics import Predictions
from nolana.modelfile.tree import Tree
from nolana.runs.checkpoints import SECTION, Checkpoints, SavedRun
from nolana.runs.process import Stop, Stopped
from nolana.runs.recipe import task_of
from nolana.runs.source import BLOCK_ROWS
from nolana.runs.workers import Workers, parts_for
from nolana.sources import Block, Stream
from nolana.sources.blocks import joined
from nolana.sources.labels import InferredTask, Spellings
from nolana.sources.rows import PlannedRows
from nolana.sources.stream import StreamState

__all__ = ["Run", "ScoredBlock"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredBlock:
    """A block of rows, and their predictions made before they were learned."""

    block: Block
    predictions: Predictions


class Run:
    """A learner, its running score, and what its model file has beside them; made by `start`, `resume` or a service.

    Rows come in one of two ways: `process` pulls blocks from a stream, `push` takes rows from outside.

    Parameters
    ----------
    estimator : learns the rows.
    evaluation : scores them.
    record : what the model file says of the run; its states are those of the last time it was saved.
    stream : the source of rows; None: they are pushed.
    rows : how pushed rows are read.
    first : a block that was already read from the stream.
    inferred : the task, and what it was inferred from; None: the run is resumed.
    """

    def __init__(
        self,
        estimator: OnlineEstimator,
        evaluation: Evaluation,
        record: SavedRun,
        *,
        stream: Stream | None = None,
        rows: PlannedRows | None = None,
        first: Block | None = None,
        inferred: InferredTask | None = None,
    ) -> None:
        self.estimator, self.evaluation, self.record = estimator, evaluation, record
        self._stream, self._rows = stream, rows
        self.task, self.inferred = task_of(estimator), inferred
        if stream is not None:
            stream.read_labels_for(self.task)
        method = method_of(estimator)
        self.method = type(estimator).__name__ if method is None else method.short_name
        self.rows_before = evaluation.rows
        self.finished = record.finished
        self._first = first
        self._spellings = Spellings([*getattr(estimator, "classes_", np.zeros(0)).tolist(), *evaluation.waiting_labels])
        self._block: Block | None = None
        self._before_block: StreamState | None = None  # state of the stream before a block that is not yet scored
        # Rows of the estimator after the last scored block.
        self._learned = estimator.n_rows_ if self.rows_before else 0
        self.learner: OnlineEstimator | RoundLearner = estimator  # what learns a block

    @property
    def takes_tables(self) -> bool:
        """Whether the learner takes categories and missing values as they are."""
        return bool(self.estimator._takes_tables)

    @property
    def stream(self) -> Stream:
        """The source of a run that pulls its rows."""
        assert self._stream is not None
        return self._stream

    def push(self, X: Features, y: NDArray[np.generic]) -> Array:
        """Predict, then learn rows: their scores (n,) or (n, c) from before; ValueError: unchanged."""
        seen = list[Array]()
        self.evaluation.step(_Observed(self, lambda _, scores: seen.append(scores)), (X, y))
        return seen[-1]

    def learn_in_rounds(self, workers: Workers) -> None:
        """Let workers learn the parts of each round of 20,000 rows (`nolana.estimators.rounds`).

        Rounds begin where the run is resumed, and checkpoints are written between them: the model does not depend on
        interruptions, nor on the number of workers up to 8.
        """
        if self.stream.live:
            raise ValueError(
                f"workers learn rounds of {ROWS_PER_ROUND:,} rows, and rows of a pipe that wait for their round would "
                "be lost if it were stopped; learn a source that ends, or without workers"
            )
        self.learner = RoundLearner(self.estimator, parts_for(workers.count), workers.learn_all)

    @property
    def rows(self) -> int:
        """Scored rows, those before a resume too."""
        return self.evaluation.rows

    @property
    def new_rows(self) -> int:
        """Scored rows since this run was started or resumed."""
        return self.evaluation.rows - self.rows_before

    @property
    def can_be_saved(self) -> bool:
        """Whether model, score and position agree; they do not when a block was learned and not scored."""
        return self._learned > 0 and self.estimator.n_rows_ == self._learned

    @property
    def recent(self) -> dict[str, float]:
        """The metrics over the last window."""
        return self.evaluation.recent

    def process(
        self,
        *,
        stop: Stop | None = None,
        checkpoints: Checkpoints | None = None,
        on_block: Callable[["Run"], None] | None = None,
        on_predictions: Callable[[ScoredBlock], None] | None = None,
    ) -> None:
        """Predict, then learn, until the stream ends or a stop is requested.

        Parameters
        ----------
        stop : requests it.
        checkpoints : writes the model file at its intervals; not at the end.
        on_block : called after each block.
        on_predictions : called with the predictions of each block.
        """
        self.stream.block_rows = BLOCK_ROWS if checkpoints is None else checkpoints.block_rows(BLOCK_ROWS)

        def after_block(_: Progress) -> None:
            self._before_block, self._learned = None, self.estimator.n_rows_
            if checkpoints is not None:
                checkpoints.after_block(self)
            if on_block is not None:
                on_block(self)

        learner = self.learner if on_predictions is None else _Observed(self, partial(self._report, on_predictions))
        try:
            self.evaluation.run(learner, self._blocks(stop or Stop(), checkpoints), after_block)
        except Stopped:
            pass
        except ValueError as error:
            if isinstance(error, StreamError | ModelFileError) or self._block is None:
                raise
            lines = self._block.lines
            place = Place(self.stream.name, int(lines[0]), last_line=int(lines[-1]), unit=self.stream.unit)
            raise StreamError.of(error, place) from error

    def _report(self, report: Callable[[ScoredBlock], None], y: ArrayLike, scores: Array) -> None:
        assert self._block is not None
        classes = self.estimator.classes_ if scores.ndim == 2 else None
        convert = getattr(self.estimator, "probabilities", None)
        report(ScoredBlock(self._block, Predictions(np.asarray(y), scores, classes, to_probabilities=convert)))

    def _blocks(self, stop: Stop, checkpoints: Checkpoints | None) -> Iterator[Block]:
        while not stop.requested:
            if self._first is None:
                self._before_block = self.stream.state()
            in_rounds = isinstance(self.learner, RoundLearner)
            block = self._next_round(stop) if in_rounds else self._next_block(stop, checkpoints)
            if block is None:
                return
            if self.task == "regression" and block.y is not None and block.y.dtype.kind != "f":
                block = replace(block, y=block.y.astype(np.float64))
            self._block = block
            yield block

    def _next_block(self, stop: Stop, checkpoints: Checkpoints | None) -> Block | None:
        """None at the end of the stream, which is noted."""
        self._block = None
        try:
            if self._first is not None:
                block, self._first = self._first, None
            elif not self.stream.waits:
                block = next(self.stream)
            else:
                with nullcontext() if checkpoints is None else checkpoints.waiting(self), stop.waiting():
                    block = next(self.stream)
        except StopIteration:
            self._before_block, self.finished = None, True
            return None
        return block if block.y is None else replace(block, y=self._spellings.spelled(block.y))

    def _next_round(self, stop: Stop) -> Block | None:
        """The rows of a round as one block; None if a stop is requested before it is complete."""
        before, blocks, missing = self._before_block, [], ROWS_PER_ROUND
        while missing > 0 and not stop.requested:
            self.stream.block_rows = min(BLOCK_ROWS, missing)
            block = self._next_block(stop, None)
            if block is None:
                break
            blocks.append(block)
            missing -= block.X.shape[0]
        if not blocks and not stop.requested:
            return None  # the end of the stream
        self._before_block, self.finished = before, False  # until the round is learned
        if stop.requested:
            return None
        y = None if blocks[0].y is None else joined([block.y for block in blocks])
        lines = np.concatenate([block.lines for block in blocks])
        messages = None
        if blocks[0].messages is not None:
            messages = {name: [place for b in blocks for place in b.places[name]] for name in blocks[0].messages}
        return Block(joined([block.X for block in blocks]), y, blocks[-1].position, lines, messages)

    def sections(self) -> dict[str, Tree]:
        """The sections of the model file."""
        return {"estimator": record_of(self.estimator), **self._section()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write model, position and score to one file, atomically."""
        self.estimator.save(path, extra=self._section())

    def _section(self) -> dict[str, Tree]:
        if self._rows is not None:
            state: StreamState = {**self.record.stream, **self._rows.state()}
        else:
            state = self._before_block or self.stream.state()
        # Times differ from run to run, and the file must not.
        evaluation = self.evaluation.state() | {"seconds": 0.0}
        self.record = replace(self.record, finished=self.finished, stream=state, evaluation=evaluation)
        return {SECTION: self.record.section()}


class _Observed:
    """The learner of a run; ``seen`` is called with labels and scores of each block."""

    def __init__(self, run: Run, seen: Callable[[ArrayLike, Array], None]) -> None:
        self._run, self._seen = run, seen

    def learn(self, X: Features, y: ArrayLike) -> Array:
        scores: Array = self._run.learner.learn(X, y)
        self._seen(y, scores)
        return scores

    def learn_proba(self, X: Features, y: ArrayLike) -> tuple[Array, Array]:
        scores, probabilities = self._run.learner.learn_proba(X, y)
        self._seen(y, scores)
        return scores, probabilities

    def __getattr__(self, name: str) -> object:
        return getattr(self._run.estimator, name)
