"""How a stream begins: a reader for the source, a plan from its first block or from before, and where to go on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nolana.streams.bad_rows import BadRows
from nolana.streams.columns import Column, Target
from nolana.streams.csv import CsvReader
from nolana.streams.encoder import Encoder
from nolana.streams.formats import Wish, reader_of
from nolana.streams.labels import Labels, label_kind
from nolana.streams.libsvm import LibsvmReader
from nolana.streams.plan import LabelKind, Options, Plan, PlannedColumn, kind_of
from nolana.streams.reader import Reader
from nolana.streams.sources import Bytes, Source, fail
from nolana.streams.stream import Stream

__all__ = ["begin"]


def begin(
    source: Source,
    wish: Wish,
    *,
    format: str | None,
    chunk_bytes: int,
    labels: LabelKind | None,
    options: Options,
    bad: BadRows,
    plan: Mapping[str, Any] | None,
    encoder: Mapping[str, Any] | None,
    resume: Mapping[str, Any] | None,
) -> Stream:
    """The stream of a source, at its beginning or where ``resume`` says."""
    given = _given_plan(plan, resume, wish, options)
    if (
        resume is not None
        and resume["position"] is not None
        and wish.target is None
        and not resume["position"]["target"]
    ):
        wish = replace(wish, target=False)
    opened = Bytes(source)
    try:
        reader = reader_of(opened, format, chunk_bytes, wish, given)
        if given is None:
            columns, target = _chosen(reader, wish)
            settled = _decide(reader, wish, options, columns, target)
        else:
            columns, target = _match(reader, given, wish.target)
            settled = given
        coder = Encoder(_columns(settled, len(columns)), settled.options, frozen=encoder is not None)
        numbers, texts = [columns[f] for f in coder.numbers], [columns[f] for f in coder.texts]
        if target is not None:
            texts = [*texts, target]
        reader.arrange(numbers, texts)
        kind = labels or settled.labels
        teller = Labels(kind, given=labels is not None, typed=reader.typed)
        stream = Stream(reader, settled, coder, teller, bad, wish.block_rows, columns, target)
        if encoder is not None:
            coder.restore(encoder)
        if resume is not None:
            stream._go_on(resume)
        if target is not None and kind is None:
            teller.kind = label_kind(reader.look(wish.block_rows, [target]), 0, reader.typed)
            reader.arrange(numbers, texts)
        return stream
    except BaseException:
        opened.close()
        raise


def _given_plan(
    plan: Mapping[str, Any] | None, resume: Mapping[str, Any] | None, wish: Wish, options: Options
) -> Plan | None:
    if plan is not None and resume is not None:
        raise ValueError("resume= has its plan with it; leave plan= out")
    if resume is not None:
        if not isinstance(resume, Mapping) or not {"plan", "encoder", "position", "bad_rows"} <= resume.keys():
            raise ValueError("resume= is not the state of a stream; give what stream.state() gave")
        plan = resume["plan"]
    if plan is None:
        return None
    given = Plan.from_dict(plan)
    for name, value in (("features", wish.features), ("ignore", wish.ignore)):
        if value is not None:
            raise ValueError(f"{name}= is settled by the plan; leave it out")
    if options not in (Options(), given.options):
        raise ValueError(f"categories and missing values are settled by the plan: {given.options}; leave them out")
    return given


def _columns(plan: Plan, width: int) -> tuple[PlannedColumn, ...]:
    if plan.columns is not None:
        return plan.columns
    return tuple(PlannedColumn(j) for j in range(width))


def _chosen(reader: Reader, wish: Wish) -> tuple[list[int], int | None]:
    if isinstance(reader, LibsvmReader):
        return list(range(reader.columns.width)), 0 if reader.has_target else None
    columns, target = reader.columns.choose(wish.target, wish.features, wish.ignore)
    return columns, None if target < 0 else target


def _decide(reader: Reader, wish: Wish, options: Options, columns: list[int], target: int | None) -> Plan:
    """The plan that the first block suggests."""
    if isinstance(reader, LibsvmReader):
        if options != Options():
            raise ValueError("categories and missing are for formats with columns; LIBSVM text has numbers only")
        return Plan(
            reader.format,
            None,
            target=None if target is None else 0,
            width=reader.width,
            chosen=None if reader.chosen is None else tuple(reader.chosen),
            zero_based=wish.own["zero_based"],
        )
    cells = reader.look(wish.block_rows, columns if target is None else [*columns, target])
    planned = []
    for place, column in enumerate(columns):
        kind, text = kind_of(cells, place, options.categories)
        key = reader.columns.key(column)
        if text >= 0:
            raise reader.wrong(
                cells,
                text,
                column,
                "{value} is not a number, nor is any value of this column in the first block; "
                f'categories="hash" or "onehot" makes numbers of texts, ignore=[{key!r}] leaves the column out',
            )
        planned.append(PlannedColumn(key, kind))
    csv = reader if isinstance(reader, CsvReader) else None
    return Plan(
        reader.format,
        tuple(planned),
        target=None if target is None else reader.columns.key(target),
        labels=None if target is None else label_kind(cells, len(columns), reader.typed),
        width=reader.columns.width,
        delimiter=None if csv is None else csv.delimiter,
        header=None if csv is None else csv.header,
        options=options,
    )


def _match(reader: Reader, plan: Plan, target: Target) -> tuple[list[int], int | None]:
    """The columns of a source that a plan means: by name in any order, else by index."""
    if isinstance(reader, LibsvmReader):
        return list(range(reader.columns.width)), 0 if reader.has_target else None
    goal: Column | None = plan.target if target is None else None if target is False else target
    keys = [column.column for column in plan.columns or ()]
    names, width = reader.columns.names, reader.columns.width
    if plan.named:
        absent = [key for key in [*keys, goal] if isinstance(key, str) and key not in (names or ())]
        if absent:
            there = "its columns have no names" if names is None else f"there are: {', '.join(map(repr, names))}"
            remedy = "; target=False reads without it" if absent == [goal] else ""
            fail(reader.path, f"the plan asks for {', '.join(map(repr, absent))}, which is not there; {there}{remedy}")
    elif width != plan.width:
        gone = plan.target if target is False and isinstance(plan.target, int) else None
        if gone is None or width != (plan.width or 0) - 1:
            fail(reader.path, f"there are {width} columns, the plan has {plan.width}, and they have no names to go by")
        keys = [key - (key > gone) if isinstance(key, int) else key for key in keys]
    columns = [reader.columns.index(key, "plan") for key in keys]
    return columns, None if goal is None else reader.columns.index(goal, "target")
