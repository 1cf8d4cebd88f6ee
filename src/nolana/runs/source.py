"""How runs open their sources."""

import os
import stat
from dataclasses import asdict, replace
from typing import Any, BinaryIO

from nolana import sources as streams
from nolana.errors import ConflictError, Remedy
from nolana.runs.checkpoints import SavedRun, encoded_width
from nolana.runs.recipe import task_of
from nolana.sources import SourceOptions, Stream
from nolana.sources.declaration import declared
from nolana.sources.messages import is_address
from nolana.sources.options import Encoding
from nolana.sources.plan import Plan
from nolana.sources.stream import StreamState

__all__ = [
    "BLOCK_ROWS", "CHANGEABLE", "changed_state", "changes", "check_options", "check_width", "is_resumable",
    "open_labelled", "open_labelled_for", "open_resumed", "open_to_predict", "options_to_save",
]  # fmt: skip

CHANGEABLE = {"missing": ("error", "mean", "native")}  # options of a model that may change to one of these values
BLOCK_ROWS = 1000  # also the rows that decide what columns and labels are


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


def open_labelled_for(source: str, options: SourceOptions, estimator: Any) -> Stream:
    """The same for an estimator that has learned rows without a source, with the columns that it knows."""
    return _labelled(source, options, task_of(estimator), _known_columns(options, estimator))


def _labelled(source: Any, options: SourceOptions, task: str | None, arguments: dict[str, Any]) -> Stream:
    labels = {"labels": "float"} if task == "regression" else {}
    stream = _open(source, labels | options.specified | arguments)
    if task == "classification":
        stream.read_labels_for(task)
    return stream


def open_resumed(source: str, options: SourceOptions, state: StreamState) -> Stream:
    """The stream from the position of a state, with its columns."""
    return _open(source, _not_saved(options) | {"resume": changed_state(state, options)})


def _known_columns(options: SourceOptions, estimator: Any) -> dict[str, Any]:
    """Arguments for the columns of an estimator that has learned rows without a source."""
    schema = estimator.__dict__.get("_schema")
    if schema is not None and schema.named:
        target = {} if options.target is not None else {"target": -1}
        return {"plan": Plan.of_schema(schema, options.format or "csv").as_dict()} | target
    categories = {} if schema is None else {"categorical_features": tuple(schema.categories)}
    return {"growing": "keep", "only_numbers": not estimator._takes_tables} | categories


def open_to_predict(source: str, options: SourceOptions, state: StreamState | None, estimator: Any) -> Stream:
    """The stream from its beginning without labels: columns and encoder of a state, else of the estimator."""
    if state is not None:
        state = changed_state(state, options)
        saved = {"plan": state["plan"], "encoder": state["encoder"], "target": False}
        return _open(source, _not_saved(options) | saved)
    target = () if options.target is None else (options.target,)
    ignore = (*(options.ignore or ()), *target) or None
    known = _known_columns(options, estimator)
    if "plan" in known:
        return _open(source, options.specified | known | {"target": False, "ignore": None, "labels": None})
    return _open(source, options.specified | known | {"target": False, "ignore": ignore, "labels": None})


def _open(source: str | BinaryIO, arguments: dict[str, Any]) -> Stream:
    return streams.open(source, **({"block_rows": BLOCK_ROWS} | arguments))


def _not_saved(options: SourceOptions) -> dict[str, Any]:
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
    specified = {name: options.specified[name] for name in CHANGEABLE.keys() & options.specified.keys()}
    native = plan.options.categories == "native"
    other = {"missing": "mean" if native else "native"}  # it has other columns, or means that were not counted
    return {
        name: value
        for name, value in specified.items()
        if plan.columns is not None and {value, getattr(plan.options, name)} <= set(CHANGEABLE[name]) - {other[name]}
    }


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


def check_width(stream: Stream, estimator: Any) -> None:
    """ConflictError, and the stream closed, where its features are not as many as those of the model."""
    width = encoded_width(estimator)
    if stream.n_features != width:
        stream.close()
        raise ConflictError(
            f"{stream.name} has {stream.n_features} features, the model {width}",
            remedies=[Remedy("features"), Remedy("ignore", ..., "selects columns")],
        )
