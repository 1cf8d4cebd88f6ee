"""The formats, which of them a source is in, and how its stream is opened."""

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import cast

from nolana.errors import OptionError, Remedy, StreamError
from nolana.sources.arrow import ArrowReader, ParquetReader
from nolana.sources.bad_rows import NewColumnCounts, policy
from nolana.sources.bytes import Bytes, Source
from nolana.sources.csv import CsvReader
from nolana.sources.encoder import EncoderState
from nolana.sources.filters import COMPRESSIONS
from nolana.sources.jsonl import JsonReader
from nolana.sources.labels import Labels, infer_label_kind
from nolana.sources.libsvm import LibsvmReader
from nolana.sources.messages import open_messages
from nolana.sources.options import Arguments, Encoding, SourceOptions
from nolana.sources.plan import Plan
from nolana.sources.reader import Reader
from nolana.sources.rows import PlannedRows
from nolana.sources.stream import Stream, StreamState

__all__ = ["FORMATS", "MAGIC", "detect", "open_stream"]

# In the order in which they are asked whether they recognise a first line; CSV recognises nearly everything.
FORMATS: dict[str, type[Reader]] = {
    format.format: format for format in (JsonReader, LibsvmReader, CsvReader, ParquetReader, ArrowReader)
}
MAGIC = tuple(magic for format in FORMATS.values() for magic in format.magic)
DELIMITER = re.compile(b"[,;\t]")
COMPRESSED = re.compile(rf"\.({'|'.join(c.ending for c in COMPRESSIONS)})$", re.IGNORECASE)


def detect(source: Bytes, plan: Plan | None = None) -> type[Reader]:
    """The format of a source: by its first bytes, its name, the format of the plan, then its first line."""
    if source.compression is None:
        for format in FORMATS.values():
            if source.head.startswith(format.magic):
                return format
    ending = COMPRESSED.sub("", source.path).rpartition(".")[2].lower()
    for format in FORMATS.values():
        if ending in format.endings:
            return format
    planned = None if plan is None else FORMATS.get(plan.format)
    if planned is not None and not planned.magic:
        return planned if source.messages is not None else _of_same_columns(planned, plan, source)
    line = source.first_line()
    if source.messages is not None and not line:
        remedies = [Remedy("follow", True, "waits for some")]
        raise StreamError("there are no messages with rows", path=source.path, remedies=remedies)
    for format in FORMATS.values():
        if format.recognises(line):
            return format
    remedies = [Remedy("format", ..., f"sets it to one of: {', '.join(FORMATS)}")]
    what = "the format cannot be detected from the name or the first line"
    raise StreamError(what, path=source.path, remedies=remedies)


def _of_same_columns(planned: type[Reader], plan: Plan | None, source: Bytes) -> type[Reader]:
    """JSON if rows of a CSV plan come as objects, CSV if rows of a JSON plan come below a line with all names."""
    if plan is None or not plan.named or planned not in (JsonReader, CsvReader):
        return planned
    line = source.first_line()
    if JsonReader.recognises(line):
        return JsonReader
    fields = {field.strip(b" \"'\r") for field in DELIMITER.split(line)}
    names = {column.column.encode() for column in plan.columns or () if isinstance(column.column, str)}
    return CsvReader if names <= fields else planned


def open_stream(source: Source, options: Arguments) -> Stream:
    """The stream of a source, at its beginning or at the position of ``resume``."""
    plan, resume = _existing_plan(options), cast("StreamState | None", options.resume)
    position = None if resume is None else resume["position"]
    if position is not None and options.target is None and not position["target"]:
        options = Arguments(**(options.specified | {"target": False}))
    messages = open_messages(source, options, position)
    opened = Bytes(messages or source, MAGIC, options.encoding or (position and position.get("encoding")))
    try:
        reader = _open_reader(opened, options, plan)
        if plan is None:
            plan = reader.infer_plan(options)
        columns, target = reader.match(plan, options.target)
        if target is not None and plan.target is None and not reader.indexed:  # of a model that learned no source
            plan = replace(plan, target=reader.columns.key(target))
        kind = options.labels or plan.labels
        labels = Labels(kind, explicit=options.labels is not None)
        counts = NewColumnCounts(reader.path, reader.unit, options.new_columns)
        rows = PlannedRows(plan, labels if target is not None else None, counts, frozen=options.encoder is not None)
        encoder = rows.encoder
        numbers, texts = [columns[f] for f in encoder.numbers], [columns[f] for f in encoder.texts]
        if target is not None:
            texts = [*texts, target]
        reader.select(numbers, texts)
        stream = Stream(reader, rows, policy(options.on_bad_row), options.block_rows, columns, target)
        if options.encoder is not None:
            encoder.restore(cast(EncoderState, options.encoder))
        if resume is not None:
            stream._resume(resume)
        if target is not None and kind is None:
            labels.kind = infer_label_kind(reader.peek(options.block_rows, [target]), 0)
            reader.select(numbers, texts)
        return stream
    except BaseException:
        opened.close()
        raise


def _open_reader(source: Bytes, options: SourceOptions, plan: Plan | None) -> Reader:
    """The reader of a source, in the format of the options or the detected one."""
    format = detect(source, plan) if options.format is None else FORMATS[options.format]
    defaults = type(options)()
    for name, value in options.specified.items():
        owners = [other.format for other in FORMATS.values() if name in other.own_options]
        if owners and format.format not in owners and value != getattr(defaults, name):
            raise OptionError(name, value, f"is for format {owners[0]!r}; {source.path} is read as {format.format!r}")
    if plan is not None and (plan.columns is None) != format.indexed:
        expected = "index:value" if plan.columns is None else "columns"
        what = f"expected {expected} as in the {plan.format} source of the plan, got {format.format}"
        raise StreamError(what, path=source.path)
    return format(source, options, plan)


def _existing_plan(options: Arguments) -> Plan | None:
    """The plan of another stream that the arguments have; ValueError if other arguments contradict it."""
    tree, resume = options.plan, options.resume
    if tree is not None and resume is not None:
        raise ValueError("resume= contains its plan; leave plan= out")
    if resume is not None:
        if not isinstance(resume, Mapping) or not {"plan", "encoder", "position", "bad_rows"} <= resume.keys():
            raise ValueError("resume= is not the state of a stream; pass what stream.state() returned")
        tree = cast(StreamState, resume)["plan"]
    if tree is None:
        return None
    plan = Plan.from_dict(tree)
    for name in ("features", "ignore", "categorical_features", "text_features"):
        if getattr(options, name) is not None:
            raise ValueError(f"{name}= is already decided by the plan; leave it out")
    if options.columns_as_numbers not in (Encoding(), plan.options):
        decided = ", ".join(f"{name}={value!r}" for name, value in asdict(plan.options).items())
        raise ValueError(f"the encoding is already decided by the plan: {decided}; leave these options out")
    return plan
