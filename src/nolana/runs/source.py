"""How runs open their sources: from the first row, continued from a model file, or to predict.

If the source is the one of the file, or one that was learned before, under any name, it is read from the first row
that is not yet learned: the rest of an unfinished run, or the rows by which a file has grown. A source that has changed
since it was learned is refused. Rows of another source, or of a pipe, are new; but an unfinished run is left for
another source only with ``leave_rest``.
"""

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from nolana import sources as streams
from nolana.errors import ConflictError, ModelFileError, NolanaError, OtherSourceError, Remedy, StreamError
from nolana.runs.checkpoints import LearnedSource, SavedRun, encoded_width, place_words, read
from nolana.runs.recipe import task_of
from nolana.sources import SourceOptions, Stream
from nolana.sources.declaration import declared
from nolana.sources.messages import is_address
from nolana.sources.options import Encoding
from nolana.sources.plan import Plan
from nolana.sources.stream import StreamState

if TYPE_CHECKING:
    from nolana.estimators.base import OnlineEstimator
    from nolana.runs.recipe import Recipe, Scoring
    from nolana.runs.run import Run

__all__ = [
    "BLOCK_ROWS", "CHANGEABLE", "changed_state", "changes", "check_options", "check_predicts", "check_width",
    "is_resumable", "open_labelled", "open_to_predict", "options_to_save", "resume", "start",
]  # fmt: skip

T = TypeVar("T")
Path = str | os.PathLike[str]
CHANGEABLE = ("missing",)  # options of a model that may change, see `changes`
BLOCK_ROWS = 1000  # also the rows that decide what columns and labels are


# Runs


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
    check_predicts(estimator, path)
    try:
        recipe.check(estimator)
        if saved is None:
            stream = _labelled(source, options, task_of(estimator), _known_columns(options, estimator))
            check_width(stream, estimator)
            if hasattr(estimator, "classes_"):
                stream.read_labels_as(estimator.classes_)
            record = SavedRun(stream.name, False, options_to_save(options, stream))
            return Run(estimator, scoring.new_evaluation(), record, stream=stream), None
        check_options(options, saved)
        evaluation = _blame_file(path, lambda: scoring.resume_evaluation(saved.evaluation))
    except ConflictError as error:
        raise error.changed(place=os.fspath(path)) from error
    stream, learned = _blame_file(path, lambda: _resume_stream(path, source, options, saved, again, leave_rest))
    changed = changes(options, Plan.from_dict(saved.stream["plan"]))
    record = SavedRun(stream.name, False, saved.options | changed, learned=learned, log=saved.log)
    return Run(estimator, evaluation, record, stream=stream), saved


def _resume_stream(
    path: Path, source: str, options: SourceOptions, saved: SavedRun, again: bool, leave_rest: bool
) -> tuple[Stream, tuple[LearnedSource, ...]]:
    """The stream, and the sources that were learned before it."""
    from_beginning, before = saved.stream | {"position": None}, saved.learned_before()
    if saved.finished and again:
        return _open_resumed(source, options, from_beginning), before
    may_leave = saved.finished or leave_rest
    if not is_resumable(source):
        if not may_leave and saved.source != "<stdin>":
            raise _unfinished(path, saved, f"{source} is a pipe")
        return _open_resumed(source, options, from_beginning), before
    origin = sys.stdin.buffer.tell() if source == "-" else 0

    def open_at(state: StreamState) -> Stream:
        if source == "-":
            sys.stdin.buffer.seek(origin)
        return _open_resumed(source, options, state)

    try:
        if saved.source is not None:
            return open_at(saved.stream), saved.learned
    except OtherSourceError as other:
        if not may_leave:
            raise _unfinished(path, saved, other.problem) from other
    stream = open_at(from_beginning)
    candidates = [each for each in saved.learned if stream.cursor.begins_like(each.position)]
    for known in sorted(candidates, key=lambda each: -int(each.position["offset"])):
        try:
            resumed = open_at(saved.stream | {"position": known.position, "bad_rows": None})
        except OtherSourceError:
            continue
        stream.close()
        return resumed, saved.learned_before(known)
    for known in before:
        if known.source == (stream.name if is_address(source) else source) and stream.cursor.resembles(known.position):
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


# Streams


def is_resumable(source: str) -> bool:
    """Whether a position can be found again: in a file, which standard input may be, and among messages."""
    if is_address(source):
        return True
    try:
        mode = os.fstat(0).st_mode if source == "-" else os.stat(source).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode)


def open_labelled(
    source: str | BinaryIO, options: SourceOptions, task: str | None, *, only_numbers: bool = False
) -> Stream:
    """The stream of a source from its beginning, with the labels of a task; None: it is not yet known.

    only_numbers: of a learner that takes neither strings nor missing values.
    """
    return _labelled(source, options, task, {"growing": "leave_out", "only_numbers": only_numbers})


def _labelled(source: str | BinaryIO, options: SourceOptions, task: str | None, arguments: dict[str, object]) -> Stream:
    labels = {"labels": "float"} if task == "regression" else {}
    stream = _open(source, labels | options.specified | arguments)
    if task == "classification":
        stream.read_labels_for(task)
    return stream


def _open_resumed(source: str, options: SourceOptions, state: StreamState) -> Stream:
    """The stream from the position of a state, with its columns."""
    return _open(source, _not_saved(options) | {"resume": changed_state(state, options)})


def _known_columns(options: SourceOptions, estimator: "OnlineEstimator") -> dict[str, object]:
    """Arguments for the columns of an estimator that has learned rows without a source."""
    schema = estimator.__dict__.get("_schema")
    if schema is not None and schema.named:
        target = -1 if options.target is None else options.target
        return {"plan": Plan.of_schema(schema, options.format or "csv").as_dict(), "target": target}
    categories = {} if schema is None else {"categorical_features": tuple(schema.categories)}
    return {"growing": "keep", "only_numbers": not estimator._takes_tables, **categories}


def open_to_predict(
    source: str, options: SourceOptions, state: StreamState | None, estimator: "OnlineEstimator"
) -> Stream:
    """The stream from its beginning without labels: columns and encoder of a state, else of the estimator."""
    if state is not None:
        state = changed_state(state, options)
        saved = {"plan": state["plan"], "encoder": state["encoder"], "target": False}
        return _open(source, _not_saved(options) | saved)
    known, target = _known_columns(options, estimator), () if options.target is None else (options.target,)
    ignore = None if "plan" in known else (*(options.ignore or ()), *target) or None
    return _open(source, options.specified | known | {"target": False, "ignore": ignore, "labels": None})


def _open(source: str | BinaryIO, arguments: dict[str, Any]) -> Stream:
    return streams.open(source, **({"block_rows": BLOCK_ROWS} | arguments))


def _not_saved(options: SourceOptions) -> dict[str, object]:
    """The specified options that a model file does not decide."""
    saved = {name for name, option in declared(SourceOptions).items() if option.saved}
    return {name: value for name, value in options.specified.items() if name not in saved}


def options_to_save(options: SourceOptions, stream: Stream) -> dict[str, object]:
    """The specified options of the columns, in JSON's types; LIBSVM text counts its columns itself."""
    return _counted(options, Plan.from_dict(stream.plan))


def _counted(options: SourceOptions, plan: Plan) -> dict[str, object]:
    values = options.to_save
    if plan.columns is None:
        for name in values.keys() & {"features", "ignore"}:
            values[name] = [getattr(column, "number", column) for column in options.specified[name]]
    return values


def changes(options: SourceOptions, plan: Plan) -> dict[str, object]:
    """The specified options that may differ from those of a model: with them it has the same columns of X."""
    if plan.columns is None or "missing" not in options.specified:
        return {}
    # The third value would have other columns, or means that were not counted.
    legal = {"error", "native" if plan.options.categories == "native" else "mean"}
    return {"missing": options.missing} if {options.missing, plan.options.missing} <= legal else {}


def changed_state(state: StreamState, options: SourceOptions) -> StreamState:
    """A state of a stream with the options that were changed."""
    plan = Plan.from_dict(state["plan"])
    encoding = Encoding(**(asdict(plan.options) | changes(options, plan)))
    return {**state, "plan": replace(plan, options=encoding).as_dict()}


def check_options(options: SourceOptions, saved: SavedRun) -> None:
    """ConflictError if an option differs from the one of the saved run, specified or inferred, and must not."""
    plan = Plan.from_dict(saved.stream["plan"])
    inferred = {
        "target": plan.target,
        "features": None if plan.columns is None else [column.column for column in plan.columns],
        "labels": plan.labels,
        "n_features": plan.width,
        "zero_based": plan.zero_based,
        **asdict(plan.options),
    }
    may_change = changes(options, plan)
    for name, value in _counted(options, plan).items():
        if value not in (saved.options.get(name), inferred.get(name)) and name not in may_change:
            raise ConflictError.differs(name, value, saved.options.get(name, inferred.get(name)))


def check_width(stream: Stream, estimator: "OnlineEstimator") -> None:
    """ConflictError, and the stream closed, where its features are not as many as those of the model."""
    width = encoded_width(estimator)
    if stream.n_features != width:
        stream.close()
        raise ConflictError(
            f"{stream.name} has {stream.n_features} features, the model {width}",
            remedies=[Remedy("features"), Remedy("ignore", ..., "selects columns")],
        )


def check_predicts(estimator: object, path: Path) -> None:
    """ConflictError if a file has an estimator that predicts nothing, as the map `OnlineNystroem` alone."""
    if not hasattr(estimator, "predict"):
        raise ConflictError(f"{type(estimator).__name__} has no predictions", place=os.fspath(path))
