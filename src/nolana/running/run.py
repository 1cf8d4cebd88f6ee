"""A run: rows of a stream are predicted, scored and learned, and all of it can be kept between two blocks."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nolana.errors import StreamError
from nolana.evaluate import Evaluation, Progress
from nolana.metrics import Predictions
from nolana.running.checkpoints import SECTION, Checkpoints, Kept
from nolana.running.reading import FIRST_ROWS
from nolana.running.recipe import task_of
from nolana.running.stopping import Stop, Stopped
from nolana.streams import Block, Stream

__all__ = ["Run", "Told"]


@dataclass(frozen=True)
class Told:
    """Rows of a block, and what was predicted before they were learned."""

    block: Block
    predictions: Predictions


class Run:
    """A learner on a stream; made by `begin`, or by `resume` from a model file.

    Parameters
    ----------
    stream : where rows come from.
    estimator : learns them.
    evaluation : scores them.
    asked : what was said about the columns.
    first : a block that was taken from the stream already.
    """

    def __init__(
        self, stream: Stream, estimator: Any, evaluation: Evaluation, asked: dict[str, Any], first: Block | None = None
    ) -> None:
        self.stream, self.estimator, self.evaluation = stream, estimator, evaluation
        self.task = task_of(estimator)
        self.rows_before = evaluation.rows
        self.finished = False
        self._asked = asked
        self._first = first
        self._block: Block | None = None
        self._mark: dict[str, Any] | None = None  # where the stream stood before a block that has not yet counted
        self._learned = (
            estimator.n_rows_ if self.rows_before else 0
        )  # rows of the estimator when the last block counted

    @property
    def rows(self) -> int:
        """Rows that counted, those before a resume too."""
        return self.evaluation.rows

    @property
    def new_rows(self) -> int:
        """Rows that counted since this run began or went on."""
        return self.evaluation.rows - self.rows_before

    @property
    def can_be_kept(self) -> bool:
        """Whether model, score and position are of one moment; they are not when a block was learned and not scored."""
        return self._learned > 0 and self.estimator.n_rows_ == self._learned

    @property
    def recent(self) -> dict[str, float]:
        """The metrics over the last window."""
        return self.evaluation.recent

    def go(
        self,
        *,
        stop: Stop | None = None,
        checkpoints: Checkpoints | None = None,
        watch: Callable[["Run"], None] | None = None,
        tell: Callable[[Told], None] | None = None,
    ) -> None:
        """Predict, then learn, until the stream ends or somebody asks to stop.

        Parameters
        ----------
        stop : who may ask.
        checkpoints : writes the model file when it is time; not at the end.
        watch : called after each block.
        tell : called with the predictions of each block.
        """
        self.stream.block_rows = FIRST_ROWS if checkpoints is None else checkpoints.block_rows(FIRST_ROWS)

        def counted(_: Progress) -> None:
            self._mark, self._learned = None, self.estimator.n_rows_
            if checkpoints is not None:
                checkpoints.after_block(self)
            if watch is not None:
                watch(self)

        learner = self.estimator if tell is None else _Telling(self, tell)
        try:
            self.evaluation.run(learner, self._blocks(stop or Stop()), counted)
        except Stopped:
            pass
        except ValueError as error:
            if isinstance(error, StreamError) or self._block is None:
                raise
            lines = self._block.lines
            place = f"{self.stream.name}, lines {lines[0]:,} to {lines[-1]:,}"
            raise StreamError(f"{place}: {error}", path=self.stream.name, line=int(lines[0])) from error

    def _blocks(self, stop: Stop) -> Iterator[Block]:
        while not stop.asked:
            if self._first is not None:
                block, self._first = self._first, None
            else:
                self._mark = self.stream.state()
                self._block = None
                try:
                    block = self._wait(stop) if self.stream.live else next(self.stream)
                except StopIteration:
                    self._mark, self.finished = None, True
                    return
            if self.task == "regression" and block.y is not None and block.y.dtype.kind != "f":
                block = Block(block.X, block.y.astype(np.float64), block.position, block.lines)
            self._block = block
            yield block

    def _wait(self, stop: Stop) -> Block:
        with stop.waiting():
            return next(self.stream)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write model, position and score to one file, atomically."""
        # Times differ from run to run, and the file must not.
        evaluation = self.evaluation.state() | {"seconds": 0.0}
        kept = Kept(self.stream.name, self.finished, self._asked, self._mark or self.stream.state(), evaluation)
        self.estimator.save(path, extra={SECTION: kept.record()})


class _Telling:
    """The learner of a run, which tells what it predicts."""

    def __init__(self, run: Run, tell: Callable[[Told], None]) -> None:
        self._run, self._tell = run, tell

    def learn(self, X: Any, y: Any) -> Any:
        """What the estimator does, and a word about it."""
        run, estimator = self._run, self._run.estimator
        scores = estimator.learn(X, y)
        assert run._block is not None
        classes = estimator.classes_ if scores.ndim == 2 else None
        convert = getattr(estimator, "probabilities", None)
        self._tell(Told(run._block, Predictions(np.asarray(y), scores, classes, to_probabilities=convert)))
        return scores

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run.estimator, name)
