"""How a run begins, and how it goes on from a model file.

What a model file and a source mean together:

    the source is the one of the file      read on behind the last row: the rest of an unfinished run, or what a
                                           file has grown by
    it is another, or a pipe               its rows are new; but an unfinished run is left only when that is asked
"""

import os
import sys
from typing import Any

from nolana.errors import ConflictError, ModelFileError, NolanaError, OtherSourceError, StreamError
from nolana.running.checkpoints import Kept, read
from nolana.running.reading import Reading, can_go_back
from nolana.running.recipe import Recipe, task_of
from nolana.running.run import Run
from nolana.running.scoring import Scoring
from nolana.streams import Stream

__all__ = ["begin", "resume"]


def begin(source: str, reading: Reading, recipe: Recipe, scoring: Scoring) -> Run:
    """A run from its first row; the labels of the first block tell what is to be learned, where the recipe does not.

    Examples
    --------
    >>> import os, tempfile
    >>> from nolana.running import Reading, Recipe, Scoring, begin
    >>> path = os.path.join(tempfile.mkdtemp(), "xor.csv")
    >>> lines = [f"{i % 7 - 3},{i % 5 - 2},{'same' if (i % 7 > 3) == (i % 5 > 2) else 'other'}" for i in range(700)]
    >>> with open(path, "w") as file:
    ...     _ = file.write("a,b,kind\\n" + "\\n".join(lines))
    >>> run = begin(path, Reading(target="kind"), Recipe(parameters={"n_landmarks": 20}), Scoring())
    >>> run.go()
    >>> run.task, run.rows, run.evaluation.metrics["accuracy"] > 0.85
    ('classification', 700, True)
    """
    evaluation = scoring.evaluation()
    stream = reading.open(source, labels="float" if recipe.task == "regression" else None)
    try:
        first = next(stream, None)
        if first is None:
            left_out = f"; {stream.bad_rows:,} were left out" if stream.bad_rows else ""
            raise StreamError(f"{stream.name}: there are no rows to learn{left_out}", path=stream.name)
        assert first.y is not None
        kind = recipe.kind(first.y)
        if kind == "regression":
            stream.read_labels_as("float")
        estimator = recipe.build(kind)
        scoring.check(estimator)
        return Run(stream, estimator, evaluation, reading.asked(), first)
    except BaseException:
        stream.close()
        raise


def resume(
    path: str | os.PathLike[str],
    source: str,
    reading: Reading,
    recipe: Recipe,
    scoring: Scoring,
    *,
    again: bool = False,
    leave_rest: bool = False,
) -> tuple[Run, Kept | None]:
    """The run of a model file, gone on with; and what the file said about it.

    Parameters
    ----------
    path : the model file; one that an estimator alone was saved to begins a run with that estimator.
    again : read a source that was finished once more from its beginning.
    leave_rest : leave an unfinished source for another one.
    """
    estimator, kept = read(path)
    try:
        recipe.check(estimator)
        if kept is None:
            return _first_run(estimator, source, reading, scoring), None
        reading.check(kept.stream["plan"], kept.asked)
        evaluation = _sound(path, lambda: scoring.resumed(kept.evaluation))
    except ConflictError as error:
        remedy = "leave it out, or start a new model with --fresh"
        raise ConflictError(f"{os.fspath(path)}: {error}; {remedy}") from error
    stream = _sound(path, lambda: _stream(path, source, reading, kept, again=again, leave_rest=leave_rest))
    return Run(stream, estimator, evaluation, kept.asked), kept


def _first_run(estimator: Any, source: str, reading: Reading, scoring: Scoring) -> Run:
    stream = reading.open(source, labels="float" if task_of(estimator) == "regression" else None)
    if stream.n_features != estimator.n_features_in_:
        stream.close()
        raise ConflictError(f"{stream.name} has {stream.n_features} features, the model {estimator.n_features_in_}")
    return Run(stream, estimator, scoring.evaluation(), reading.asked())


def _stream(
    path: str | os.PathLike[str], source: str, reading: Reading, kept: Kept, *, again: bool, leave_rest: bool
) -> Stream:
    elsewhere = kept.stream | {"position": None}
    if kept.finished and again:
        return reading.resume(source, elsewhere)
    if can_go_back(source):
        origin = sys.stdin.buffer.tell() if source == "-" else 0
        try:
            return reading.resume(source, kept.stream)
        except OtherSourceError as other:
            if not kept.finished and not leave_rest:
                raise _unfinished(path, kept, str(other)) from other
            if source == "-":
                sys.stdin.buffer.seek(origin)
    elif not kept.finished and not leave_rest and kept.source != "<stdin>":
        raise _unfinished(path, kept, f"{source} is a pipe")
    return reading.resume(source, elsewhere)


def _unfinished(path: str | os.PathLike[str], kept: Kept, why: str) -> ConflictError:
    return ConflictError(
        f"{os.fspath(path)} stands at line {kept.stream['position']['line']:,} of {kept.source}, which is not "
        f"finished, and this is another source ({why}). Finish that one first, or go on without its rest by "
        "--leave-rest, or start a new model with --fresh"
    )


def _sound(path: str | os.PathLike[str], build: Any) -> Any:
    """What `build` builds; where the states in a file make no sense, the error says that it is the file."""
    try:
        return build()
    except (NolanaError, OSError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: run: {error}") from error
