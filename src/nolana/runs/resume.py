"""A run continued from its model file.

Where the source is the one of the file, it is read from the first row that is not yet learned: the rest of an
unfinished run, or the rows by which a file has grown. Rows of another source, or of a pipe, are new; but an unfinished
run is left for another source only with ``leave_rest``.
"""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from nolana.errors import ConflictError, ModelFileError, NolanaError, OtherSourceError
from nolana.runs.checkpoints import SavedRun, read
from nolana.runs.recipe import Recipe, task_of
from nolana.runs.run import Run
from nolana.runs.score import Scoring
from nolana.runs.source import (
    changes,
    check_options,
    check_width,
    is_file,
    open_labelled,
    open_resumed,
    options_to_save,
)  # fmt: skip
from nolana.streams import SourceOptions, Stream
from nolana.streams.plan import Plan

__all__ = ["resume"]

T = TypeVar("T")
Path = str | os.PathLike[str]


def resume(
    path: Path,
    source: str,
    options: SourceOptions,
    recipe: Recipe,
    scoring: Scoring,
    *,
    again: bool = False,
    leave_rest: bool = False,
) -> tuple[Run, SavedRun | None]:
    """The run of a model file, and what the file has saved of it.

    Parameters
    ----------
    path : the model file; one that an estimator alone was saved to starts a run with that estimator.
    source, options, recipe, scoring : as for `start`; what is not specified is taken from the file, and
        ConflictError says what contradicts it.
    again : read a finished source once more from its beginning.
    leave_rest : leave an unfinished source for another one.
    """
    estimator, saved = read(path)
    try:
        recipe.check(estimator)
        if saved is None:
            return _first_run(estimator, source, options, scoring), None
        check_options(options, saved)
        evaluation = _blame_file(path, lambda: scoring.resume_evaluation(saved.evaluation))
    except ConflictError as error:
        remedy = "leave it out, or start a new model with --fresh"
        raise ConflictError(f"{os.fspath(path)}: {error}; {remedy}") from error
    stream = _blame_file(path, lambda: _open(path, source, options, saved, again=again, leave_rest=leave_rest))
    changed = changes(options, Plan.from_dict(saved.stream["plan"]))
    return Run(stream, estimator, evaluation, saved.options | changed), saved


def _first_run(estimator: Any, source: str, options: SourceOptions, scoring: Scoring) -> Run:
    stream = open_labelled(source, options, task_of(estimator), "keep")
    check_width(stream, estimator)
    return Run(stream, estimator, scoring.new_evaluation(), options_to_save(options, stream))


def _open(path: Path, source: str, options: SourceOptions, saved: SavedRun, *, again: bool, leave_rest: bool) -> Stream:
    from_beginning = saved.stream | {"position": None}
    if saved.finished and again:
        return open_resumed(source, options, from_beginning)
    may_leave = saved.finished or leave_rest
    if is_file(source):
        origin = sys.stdin.buffer.tell() if source == "-" else 0
        try:
            return open_resumed(source, options, saved.stream)
        except OtherSourceError as other:
            if not may_leave:
                raise _unfinished(path, saved, str(other)) from other
            if source == "-":
                sys.stdin.buffer.seek(origin)
    elif not may_leave and saved.source != "<stdin>":
        raise _unfinished(path, saved, f"{source} is a pipe")
    return open_resumed(source, options, from_beginning)


def _unfinished(path: Path, saved: SavedRun, why: str) -> ConflictError:
    return ConflictError(
        f"{os.fspath(path)} has learned {saved.source} up to line {saved.stream['position']['line']:,} and not to its "
        f"end, and this is another source ({why}). Finish that one first, or leave its rest with --leave-rest, or "
        "start a new model with --fresh"
    )


def _blame_file(path: Path, build: Callable[[], T]) -> T:
    """What `build` returns; an error of a state in the file becomes a ModelFileError."""
    try:
        return build()
    except (NolanaError, OSError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: run: {error}") from error
