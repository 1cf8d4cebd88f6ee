"""A run: rows of a stream are predicted, scored and learned, and all of it can be saved between two blocks."""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from nolana.errors import ModelFileError, Place, StreamError
from nolana.estimators.methods import method_of
from nolana.estimators.rounds import ROWS_PER_ROUND, RoundLearner
from nolana.evaluate import Evaluation, Progress
from nolana.metrics import Predictions
from nolana.runs.checkpoints import SECTION, Checkpoints, LearnedSource, LogPosition, SavedRun
from nolana.runs.recipe import task_of
from nolana.runs.signals import Stop, Stopped
from nolana.runs.source import BLOCK_ROWS
from nolana.runs.workers import Workers, parts_for
from nolana.sources import Block, Stream
from nolana.sources.blocks import joined
from nolana.sources.task import InferredTask

__all__ = ["Run", "ScoredBlock"]


@dataclass(frozen=True)
class ScoredBlock:
    """A block of rows, and their predictions made before they were learned."""

    block: Block
    predictions: Predictions


class Run:
    """A learner on a stream; made by `start`, or by `resume` from a model file.

    Parameters
    ----------
    stream : the source of rows.
    estimator : learns them.
    evaluation : scores them.
    options : of the source, to be saved.
    first : a block that was already read from the stream.
    learned : the sources that were learned before this one.
    log : the position in the log of ``nolana serve``, which the model file keeps.
    inferred : the task, and what it was inferred from; None: the run is resumed.
    """

    def __init__(
        self,
        stream: Stream,
        estimator: Any,
        evaluation: Evaluation,
        options: dict[str, Any],
        first: Block | None = None,
        learned: tuple[LearnedSource, ...] = (),
        log: LogPosition | None = None,
        inferred: InferredTask | None = None,
    ) -> None:
        self.stream, self.estimator, self.evaluation = stream, estimator, evaluation
        self.task, self.inferred = task_of(estimator), inferred
        stream.read_labels_for(self.task)
        method = method_of(estimator)
        self.method = type(estimator).__name__ if method is None else method.short_name
        self.rows_before = evaluation.rows
        self.finished = False
        self._options = options
        self._first = first
        self._learned_sources, self._log = learned, log
        self._block: Block | None = None
        self._before_block: dict[str, Any] | None = None  # state of the stream before a block that is not yet scored
        # Rows of the estimator after the last scored block.
        self._learned = estimator.n_rows_ if self.rows_before else 0
        self.learner = estimator  # what learns a block
        self._round_rows: int | None = None  # of a round

    def learn_in_rounds(self, workers: Workers) -> None:
        """Let workers learn the parts of each round of 20,000 rows (`nolana.estimators.rounds`).

        Rounds begin where the run is resumed, and checkpoints are written between them: the model does not depend on
        interruptions, nor on the number of workers up to 8.
        """
        if self.stream.live:
            raise ValueError(
                f"workers learn rounds of {ROWS_PER_ROUND:,} rows, and rows of a pipe that wait for their round would "
                "be lost if it were stopped; learn a file, or without workers"
            )
        self.learner = RoundLearner(self.estimator, parts_for(workers.count), workers.learn_all)
        self._round_rows = ROWS_PER_ROUND

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

        learner = self.learner if on_predictions is None else _Reporter(self, on_predictions)
        try:
            self.evaluation.run(learner, self._blocks(stop or Stop(), checkpoints), after_block)
        except Stopped:
            pass
        except ValueError as error:
            if isinstance(error, StreamError | ModelFileError) or self._block is None:
                raise
            lines = self._block.lines
            place = Place(self.stream.name, int(lines[0]), last_line=int(lines[-1]))
            raise StreamError.of(error, place) from error

    def _blocks(self, stop: Stop, checkpoints: Checkpoints | None) -> Iterator[Block]:
        while not stop.requested:
            if self._first is None:
                self._before_block = self.stream.state()
            block = self._next_block(stop, checkpoints) if self._round_rows is None else self._next_round(stop)
            if block is None:
                return
            if self.task == "regression" and block.y is not None and block.y.dtype.kind != "f":
                block = Block(block.X, block.y.astype(np.float64), block.position, block.lines)
            self._block = block
            yield block

    def _next_block(self, stop: Stop, checkpoints: Checkpoints | None) -> Block | None:
        """None at the end of the stream, which is noted."""
        if self._first is not None:
            block, self._first = self._first, None
            return block
        self._block = None
        try:
            return self._wait(stop, checkpoints) if self.stream.live else next(self.stream)
        except StopIteration:
            self._before_block, self.finished = None, True
            return None

    def _next_round(self, stop: Stop) -> Block | None:
        """The rows of a round as one block; None where a stop is requested before it is complete."""
        assert self._round_rows is not None
        before, blocks, missing = self._before_block, [], self._round_rows
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
        y = None if blocks[0].y is None else np.concatenate([block.y for block in blocks if block.y is not None])
        lines = np.concatenate([block.lines for block in blocks])
        return Block(joined([block.X for block in blocks]), y, blocks[-1].position, lines)

    def _wait(self, stop: Stop, checkpoints: Checkpoints | None) -> Block:
        with nullcontext() if checkpoints is None else checkpoints.waiting(self), stop.waiting():
            return next(self.stream)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write model, position and score to one file, atomically."""
        # Times differ from run to run, and the file must not.
        evaluation = self.evaluation.state() | {"seconds": 0.0}
        state = self._before_block or self.stream.state()
        learned, log = self._learned_sources, self._log
        saved = SavedRun(self.stream.name, self.finished, self._options, state, evaluation, learned, log)
        self.estimator.save(path, extra={SECTION: saved.section()})


class _Reporter:
    """The learner of a run, which reports its predictions."""

    def __init__(self, run: Run, report: Callable[[ScoredBlock], None]) -> None:
        self._run, self._report = run, report

    def learn(self, X: Any, y: Any) -> Any:
        """Learns, and reports the predictions."""
        scores = self._run.learner.learn(X, y)
        self._report_rows(y, scores)
        return scores

    def learn_proba(self, X: Any, y: Any) -> Any:
        """The same with probabilities."""
        scores, probabilities = self._run.learner.learn_proba(X, y)
        self._report_rows(y, scores)
        return scores, probabilities

    def _report_rows(self, y: Any, scores: Any) -> None:
        run, estimator = self._run, self._run.estimator
        assert run._block is not None
        classes = estimator.classes_ if scores.ndim == 2 else None
        convert = getattr(estimator, "probabilities", None)
        self._report(ScoredBlock(run._block, Predictions(np.asarray(y), scores, classes, to_probabilities=convert)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run.estimator, name)
