"""How a stream is opened: a reader for the source, a plan from its first block or from another stream, a position."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import cast

from nolana.sources.bad_rows import policy
from nolana.sources.encoder import EncoderState
from nolana.sources.formats import MAGIC, open_reader
from nolana.sources.labels import Labels, infer_label_kind
from nolana.sources.messages import open_messages
from nolana.sources.new_columns import NewColumnCounts
from nolana.sources.options import Arguments, Encoding
from nolana.sources.plan import Plan
from nolana.sources.rows import PlannedRows
from nolana.sources.sources import Bytes, Source
from nolana.sources.stream import Stream, StreamState

__all__ = ["open_stream"]


def open_stream(source: Source, options: Arguments) -> Stream:
    """The stream of a source, at its beginning or at the position of ``resume``."""
    plan, resume = _existing_plan(options), options.resume
    position = None if resume is None else resume["position"]
    if position is not None and options.target is None and not position["target"]:
        options = Arguments(**(options.specified | {"target": False}))
    messages = open_messages(source, options, position)
    opened = Bytes(messages or source, MAGIC, options.encoding or (position or {}).get("encoding"))
    try:
        reader = open_reader(opened, options, plan)
        if plan is None:
            plan = reader.infer_plan(options)
        columns, target = reader.match(plan, options.target)
        if target is not None and plan.target is None and not reader.indexed:  # of a model that learned no source
            plan = replace(plan, target=reader.columns.key(target))
        kind = options.labels or plan.labels
        labels = Labels(kind, explicit=options.labels is not None, typed=reader.typed)
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
            stream._resume(cast(StreamState, resume))
        if target is not None and kind is None:
            labels.kind = infer_label_kind(reader.peek(options.block_rows, [target]), 0, reader.typed)
            reader.select(numbers, texts)
        return stream
    except BaseException:
        opened.close()
        raise


def _existing_plan(options: Arguments) -> Plan | None:
    """The plan of another stream that the arguments have; ValueError if other arguments contradict it."""
    tree, resume = options.plan, options.resume
    if tree is not None and resume is not None:
        raise ValueError("resume= contains its plan; leave plan= out")
    if resume is not None:
        if not isinstance(resume, Mapping) or not {"plan", "encoder", "position", "bad_rows"} <= resume.keys():
            raise ValueError("resume= is not the state of a stream; pass what stream.state() returned")
        tree = resume["plan"]
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
