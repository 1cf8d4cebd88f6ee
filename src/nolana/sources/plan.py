"""What the first block decides, as data: which columns there are, the kind of each, how it becomes numbers.

The same plan makes the same X of another source that has the same columns, in any order or format.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from nolana.columns import Column as SchemaColumn
from nolana.columns import Schema
from nolana.columns.infer import unix_unit
from nolana.columns.schema import Kind, Unit
from nolana.columns.times import PARTS, infer_parts, seconds
from nolana.columns.values import Numbers
from nolana.sources.cells import ABSENT, NUMBER, TEXT, TIME, TRUTH, UNBOUNDED, UNKNOWN, Cells
from nolana.sources.declaration import at_least
from nolana.sources.options import Categories, Column, ColumnKind, Encoding, Growing, LabelKind, column_title

__all__ = ["Plan", "PlannedColumn", "infer_column"]

VERSION = 1
MOSTLY = 0.9  # of the values: a column of numbers, in which other values are invalid; of few values all but one
LEADING_ZERO = re.compile(r"[+-]?0[0-9]")  # of an identifier, not of a number
KINDS: dict[ColumnKind, Kind] = {
    "number": "number", "time": "number", "bool": "boolean", "date": "date", "text": "category", "words": "text",
    "ignored": "ignored",
}  # fmt: skip


@dataclass(frozen=True)
class PlannedColumn:
    """A feature: its name, or its index if it has none, its kind, the parts of a date, the slots of a category.

    slots : one-hot columns of their own, the shared one not counted; None: ``max_categories``, as in every plan of
        nolana 0.2.
    unit : of a date that is a UNIX time.
    """

    column: Column
    kind: ColumnKind = "number"
    parts: tuple[str, ...] = ()
    slots: int | None = None
    unit: Unit | None = None

    @property
    def width(self) -> int:
        """Numbers that it becomes, if it is not text."""
        return len(self.parts) if self.kind == "date" else 1

    def largest(self, options: Encoding) -> int:
        """Strings that get a one-hot column of their own."""
        return options.max_categories if self.slots is None else self.slots


@dataclass(frozen=True)
class Plan:
    """What is read, and how; ``as_dict`` and ``from_dict`` turn it into JSON's types and back."""

    format: str
    columns: tuple[PlannedColumn, ...] | None  # None: all features of LIBSVM text, as numbers
    target: Column | None = None
    labels: LabelKind | None = None
    width: int | None = None  # columns of a source without names; indices of LIBSVM text
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    comment: str | None = None
    zero_based: bool = False
    chosen: tuple[int, ...] | None = None  # indices of LIBSVM text that are read; None: all
    options: Encoding = field(default_factory=Encoding)
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns that grow: how a message names them, and why
    known: tuple[str, ...] | None = None  # names of all columns of the first block; None: not stored

    @property
    def named(self) -> bool:
        """Whether columns are identified by their names."""
        return self.columns is not None and any(isinstance(c.column, str) for c in self.columns)

    @property
    def features(self) -> tuple[PlannedColumn, ...]:
        """The columns of features; those of LIBSVM text by their indices."""
        if self.columns is not None:
            return self.columns
        return tuple(map(PlannedColumn, range(self.n_features) if self.chosen is None else self.chosen))

    @functools.cached_property
    def schema(self) -> Schema | None:
        """The columns as a model has them; None: X has numbers alone, encoded by the options."""
        if self.columns is None or self.options.categories != "native":
            return None
        names = [planned.column for planned in self.columns]
        if not all(isinstance(name, str) for name in names):  # two columns of one name, or no names at all
            names = list(range(len(names)))
        return Schema(
            tuple(
                SchemaColumn(name, KINDS[c.kind], c.parts if c.kind == "date" else (), c.unit)
                for name, c in zip(names, self.columns, strict=True)
            )
        )

    @property
    def n_features(self) -> int:
        """Columns of X."""
        if self.columns is None:
            return len(self.chosen) if self.chosen is not None else int(self.width or 0)
        options = self.options
        if self.schema is not None:
            return self.schema.width + (len(self.columns) if options.missing == "indicator" else 0)
        hashed = options.hash_slots if options.categories == "hash" else None
        columns = sum(
            column.width if column.kind != "text" else hashed or column.largest(options) + 1 for column in self.columns
        )
        return columns + (len(self.columns) if options.missing == "indicator" else 0)

    def as_dict(self) -> dict[str, Any]:
        """A tree of JSON's types."""
        tree: dict[str, Any] = {
            f.name: getattr(self, f.name) for f in fields(self)
        }  # asdict copies every leaf: expensive per block
        if self.columns is not None:
            tree["columns"] = [
                {"column": c.column, "kind": c.kind}
                | ({"parts": list(c.parts)} if c.parts else {})
                | ({} if c.slots is None else {"slots": c.slots})
                | ({} if c.unit is None else {"unit": c.unit})
                for c in self.columns
            ]
        tree["chosen"] = None if self.chosen is None else list(self.chosen)
        tree["options"] = asdict(self.options)
        tree["left_out"] = dict(self.left_out)
        tree["known"] = None if self.known is None else list(self.known)
        return {"version": VERSION} | tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> "Plan":
        """The plan that ``as_dict`` returned; ValueError if it is none."""
        try:
            if tree["version"] != VERSION:
                raise ValueError(f"the plan has version {tree['version']!r}; this nolana reads version {VERSION}")
            columns = tree["columns"]
            planned = None if columns is None else tuple(_planned(c) for c in columns)
            chosen = None if tree["chosen"] is None else tuple(int(j) for j in tree["chosen"])
            known = tree.get("known")  # plans of nolana 0.1 do not have what is read by get
            built: dict[str, Any] = {
                "columns": planned,
                "chosen": chosen,
                "options": Encoding(**tree["options"]),
                "decimal": tree.get("decimal"),
                "comment": tree.get("comment"),
                "left_out": {str(column): str(why) for column, why in dict(tree.get("left_out") or {}).items()},
                "known": None if known is None else tuple(str(name) for name in known),
            }
            plan = cls(**built, **{f.name: tree[f.name] for f in fields(cls) if f.name not in built})
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not the plan of a stream ({error!r}); pass stream.plan") from error
        if plan.width is not None:
            at_least(1)("width", plan.width)
        for column in plan.columns or ():
            if column.kind not in get_args(ColumnKind):
                raise ValueError(f"the plan's column {column.column!r} has kind {column.kind!r}, not one of: "
                                 f"{', '.join(get_args(ColumnKind))}")  # fmt: skip
            if (column.kind == "date") != bool(column.parts) or not set(column.parts) <= set(PARTS):
                raise ValueError(f"the plan's column {column.column!r} has parts {column.parts!r}, not some of: "
                                 f"{', '.join(PARTS)}")  # fmt: skip
            if column.slots is not None and not 1 <= column.slots <= plan.options.max_categories:
                raise ValueError(f"the plan's column {column.column!r} has {column.slots} slots, not 1 to "
                                 f"{plan.options.max_categories}")  # fmt: skip
            if column.unit is not None and (column.kind != "date" or column.unit not in get_args(Unit)):
                raise ValueError(f"the plan's column {column.column!r} has unit {column.unit!r}, not one of: "
                                 f"{', '.join(get_args(Unit))}")  # fmt: skip
        return plan

    @classmethod
    def of_schema(cls, schema: Schema, format: str, **others: Any) -> "Plan":
        """How the columns of a model that learned tables are read from a source."""
        kinds = {kind: planned for planned, kind in KINDS.items() if planned != "time"}
        columns = tuple(PlannedColumn(c.name, kinds[c.kind], c.parts, unit=c.unit) for c in schema.columns)
        return cls(format, columns, width=len(columns), **others)

    def describe(self) -> dict[str, str]:
        """What each column is learned as, by its title."""
        if self.columns is None:
            return {}
        if self.schema is not None:
            became = [column.became for column in self.schema.columns]
        else:
            slots = self.options.hash_slots
            how = {"hash": f"category, hashed into {slots} numbers", "onehot": "category, one-hot in {slots} numbers"}
            text = how.get(self.options.categories, "text")
            became = [
                {"text": text.format(slots=c.largest(self.options) + 1), "date": f"date: {', '.join(c.parts)}"}.get(
                    c.kind, KINDS[c.kind]
                )
                for c in self.columns
            ]
        return {column_title(c.column): what for c, what in zip(self.columns, became, strict=True)}

    def with_labels(self, labels: LabelKind | None) -> "Plan":
        """The same plan with another type of labels."""
        return replace(self, labels=labels)


def infer_column(
    column: Column, cells: Cells, place: int, categories: Categories, growing: Growing, quoted_numbers: bool
) -> tuple[PlannedColumn, int]:
    """A column of texts, its kind inferred from all its values in these rows; and the first row of text, or -1.

    A column is of numbers, of true and false, or of dates and times where all its values are, missing ones apart; a
    number with a leading zero is a string. Of other columns those of numbers, but for one value or a tenth, have
    invalid rows, if strings are learned as categories or refused; the others are text if categories are encoded.
    quoted_numbers: the texts of a source that distinguishes text from numbers may be numbers too.
    """
    codes = cells.text_codes[:, place]
    native = categories == "native"
    present = (codes != ABSENT) & (codes != UNKNOWN)
    if not present.any():
        return PlannedColumn(column), -1
    number = codes == NUMBER
    if quoted_numbers and np.isin(codes[present], (NUMBER, TEXT)).all():
        number = cells.floats(place, quoted=True)[1]
    if number[present].all():
        if native and _are_identifiers(cells, place):
            return PlannedColumn(column, "text"), -1
        values = cells.floats(place, quoted=quoted_numbers)[0][present]
        unit = unix_unit(column, Numbers(values)) if native and growing == "leave_out" else None
        return PlannedColumn(column) if unit is None else PlannedColumn(column, "date", PARTS, unit=unit), -1
    if (codes[present] == TRUTH).all():
        return PlannedColumn(column, "bool"), -1
    if (codes[present] == TIME).all():
        return _times(column, cells.floats(place)[0][present], growing, native), -1
    if (codes[present] == TEXT).all():
        texts = cells.texts(place)
        times = [seconds(texts[i] or "") for i in np.flatnonzero(present)]
        if None not in times:
            return _times(column, np.array(times, dtype=np.float64), growing, native), -1
        if categories == "error":
            return PlannedColumn(column), int(np.flatnonzero(present)[0])
    finite = number | (codes == UNBOUNDED)
    others = int((present & ~finite).sum())
    few = others <= max(1.0, (1 - MOSTLY) * present.sum()) and others < finite[present].sum()
    mostly_numbers = native and few and not _are_identifiers(cells, place)
    return PlannedColumn(column, "number" if categories == "error" or mostly_numbers else "text"), -1


def _are_identifiers(cells: Cells, place: int) -> bool:
    return any(text is not None and LEADING_ZERO.match(text) for text in cells.texts(place))


def _times(column: Column, times: NDArray[np.float64], growing: Growing, native: bool) -> PlannedColumn:
    """A date has all its parts, as in a table; those of plain numbers must be of use in the first block."""
    if growing == "keep":
        return PlannedColumn(column, "time")
    return PlannedColumn(column, "date", PARTS if native else infer_parts(times))


def _planned(tree: Mapping[str, Any]) -> PlannedColumn:
    slots = tree.get("slots")
    parts = tuple(str(part) for part in tree.get("parts", ()))
    slots = None if slots is None else at_least(1)("slots", slots)
    return PlannedColumn(tree["column"], tree["kind"], parts, slots, tree.get("unit"))
