"""A run from the first row of a source, or continued from its model file.

If the source is the one of the file, or one that was learned before, under any name, it is read from the first row
that is not yet learned: the rest of an unfinished run, or the rows by which a file has grown. A source that has changed
since it was learned is refused. Rows of another source, or of a pipe, are new; but an unfinished run is left for
another source only with ``leave_rest``.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from nolana.errors import ConflictError, ModelFileError, NolanaError, OtherSourceError, Remedy, StreamError
from nolana.runs.checkpoints import LearnedSource, SavedRun, place_words, read
from nolana.runs.source import (
    changes,
    check_options,
    check_width,
    is_resumable,
    open_labelled,
    open_labelled_for,
    open_resumed,
    options_to_save,
)  # fmt: skip
from nolana.sources import SourceOptions, Stream
from nolana.sources.messages import is_address
from nolana.sources.plan import Plan
from nolana.sources.stream import StreamState

if TYPE_CHECKING:
    from nolana.runs.recipe import Recipe
    from nolana.runs.run import Run
    from nolana.runs.score import Scoring

__all__ = ["resume", "start"]

T = TypeVar("T")
Path = str | os.PathLike[str]


def start(source: str, options: SourceOptions, recipe: "Recipe", scoring: "Scoring") -> "Run":
    """A new run; the task is inferred from the first block if the recipe has none (`nolana.sources.labels`).

    Examples
    --------
    >>> import os, tempfile
    >>> from nolana.runs import Recipe, Scoring, SourceOptions, start
    >>> path = os.path.join(tempfile.mkdtemp(), "xor.csv")
    >>> lines = [f"{i % 7 - 3},{i % 5 - 2},{'same' if (i % 7 > 3) == (i % 5 > 2) else 'other'}" for i in range(700)]
    >>> with open(path, "w") as file:
    ...     _ = file.write("a,b,kind\\n" + "\\n".join(lines))
    >>> run = start(path, SourceOptions(target="kind"), Recipe(), Scoring())
    >>> run.process()
    >>> run.task, run.rows, run.evaluation.metrics["accuracy"] > 0.85
    ('classification', 700, True)
    """
    recipe.check_new()
    evaluation = scoring.new_evaluation()
    stream = open_labelled(source, options, recipe.task, only_numbers=not recipe.takes_tables)
    try:
        first = next(stream, None)
        if first is None:
            problem, remedies = "there are no rows to learn", []
            if stream.bad_rows:
                problem += f"; {stream.bad_rows:,} invalid rows were left out"
            if stream.unfinished_line is not None:
                problem += f"; line {stream.unfinished_line:,} has no line end"
                remedies = [Remedy("last_line", "take", "reads it")]
            raise StreamError(problem, path=stream.name, remedies=remedies)
        from nolana.runs.run import Run  # not for a source that cannot be learned, nor for a prediction

        assert first.y is not None
        inferred = recipe.infer_task(first.y, stream.plan["target"])
        estimator = recipe.build(inferred.task, keep_growing=bool(options.keep_column or options.features))
        scoring.check(estimator)
        record = SavedRun(stream.name, False, options_to_save(options, stream))
        return Run(estimator, evaluation, record, stream=stream, first=first, inferred=inferred)
    except BaseException:
        stream.close()
        raise


def resume(
    path: Path,
    source: str,
    options: SourceOptions,
    recipe: "Recipe",
    scoring: "Scoring",
    *,
    again: bool = False,
    leave_rest: bool = False,
) -> "tuple[Run, SavedRun | None]":
    """The run of a model file, and what the file has saved of it.

    Parameters
    ----------
    path : the model file; one that an estimator alone was saved to starts a run with that estimator.
    source, options, recipe, scoring : as for `start`; what is not specified is taken from the file, and
        ConflictError says what contradicts it.
    again : read a finished source once more from its beginning.
    leave_rest : leave an unfinished source for another one.
    """
    from nolana.runs.run import Run  # a prediction loads this module, and needs no run

    estimator, saved = read(path)
    try:
        recipe.check(estimator)
        if saved is None:
            return _first_run(estimator, source, options, scoring), None
        check_options(options, saved)
        evaluation = _blame_file(path, lambda: scoring.resume_evaluation(saved.evaluation))
    except ConflictError as error:
        raise error.changed(place=os.fspath(path)) from error
    stream, learned = _blame_file(path, lambda: _open(path, source, options, saved, again=again, leave_rest=leave_rest))
    changed = changes(options, Plan.from_dict(saved.stream["plan"]))
    record = SavedRun(stream.name, False, saved.options | changed, learned=learned, log=saved.log)
    return Run(estimator, evaluation, record, stream=stream), saved


def _first_run(estimator: Any, source: str, options: SourceOptions, scoring: "Scoring") -> "Run":
    from nolana.runs.run import Run

    stream = open_labelled_for(source, options, estimator)
    check_width(stream, estimator)
    record = SavedRun(stream.name, False, options_to_save(options, stream))
    return Run(estimator, scoring.new_evaluation(), record, stream=stream)


def _open(
    path: Path, source: str, options: SourceOptions, saved: SavedRun, *, again: bool, leave_rest: bool
) -> tuple[Stream, tuple[LearnedSource, ...]]:
    """The stream, and the sources that were learned before it."""
    from_beginning, before = saved.stream | {"position": None}, saved.learned_before()
    if saved.finished and again:
        return open_resumed(source, options, from_beginning), before
    may_leave = saved.finished or leave_rest
    if not is_resumable(source):
        if not may_leave and saved.source != "<stdin>":
            raise _unfinished(path, saved, f"{source} is a pipe")
        return open_resumed(source, options, from_beginning), before
    origin = sys.stdin.buffer.tell() if source == "-" else 0

    def open_at(state: StreamState) -> Stream:
        if source == "-":
            sys.stdin.buffer.seek(origin)
        return open_resumed(source, options, state)

    try:
        if saved.source is not None:
            return open_at(saved.stream), saved.learned
    except OtherSourceError as other:
        if not may_leave:
            raise _unfinished(path, saved, other.problem) from other
    stream = open_at(from_beginning)
    candidates = [each for each in saved.learned if stream.begins_like(each.position)]
    for known in sorted(candidates, key=lambda each: -int(each.position["offset"])):
        try:
            resumed = open_at(saved.stream | {"position": known.position, "bad_rows": None})
        except OtherSourceError:
            continue
        stream.close()
        return resumed, saved.learned_before(known)
    for known in before:
        if known.source == (stream.name if is_address(source) else source) and stream.resembles(known.position):
            stream.close()
            raise _changed(path, known)
    return (open_at(from_beginning) if source == "-" else stream), before


def _changed(path: Path, known: LearnedSource) -> ConflictError:
    return ConflictError(
        f"{known.source} has changed since its rows were learned into {os.fspath(path)}: what was before "
        f"{place_words(known.position)} is not the same",
        remedies=[Remedy("again", True, "learns all its rows")],
    )


def _unfinished(path: Path, saved: SavedRun, why: str) -> ConflictError:
    return ConflictError(
        f"{os.fspath(path)} has learned {saved.source} up to {place_words(saved.stream['position'])} and not to its "
        f"end, and this is another source ({why})",
        hint="finish that one first",
        remedies=[Remedy("leave_rest", True, "leaves its rest")],
    )


def _blame_file(path: Path, build: Callable[[], T]) -> T:
    """What `build` returns; an error of a state in the file becomes a ModelFileError."""
    try:
        return build()
    except (NolanaError, OSError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError.of(error, f"{os.fspath(path)}: run") from error
