"""What the first block decides, as data: which columns there are, the kind of each, how it becomes numbers.

The same plan makes the same X of another source that has the same columns, in any order or format.
"""

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypedDict, get_args

from nolana.columns import Column as SchemaColumn
from nolana.columns import Schema
from nolana.columns.schema import Kind, Unit, check_kind
from nolana.sources.declaration import at_least
from nolana.sources.options import Column, ColumnKind, Encoding, LabelKind, column_title

__all__ = ["Plan", "PlannedColumn", "TextFormat"]

VERSION = 1
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


class TextFormat(TypedDict, total=False):
    """What plans of text say about its format."""

    delimiter: str | None
    header: bool | None
    decimal: str | None
    comment: str | None


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

    def as_dict(self) -> dict[str, object]:
        """A tree of JSON's types."""
        tree = {f.name: getattr(self, f.name) for f in fields(self)}  # asdict copies every leaf: expensive per block
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
            title, most = f"the plan's column {column.column!r}", plan.options.max_categories
            check_kind(title, column.kind, get_args(ColumnKind), column.parts, column.unit)
            if column.slots is not None and not 1 <= column.slots <= most:
                raise ValueError(f"{title} has {column.slots} slots, not 1 to {most}")
        return plan

    @classmethod
    def of_schema(
        cls,
        schema: Schema,
        format: str,
        target: Column | None = None,
        labels: LabelKind | None = None,
        known: tuple[str, ...] | None = None,
    ) -> "Plan":
        """How the columns of a model that learned tables are read from a source."""
        kinds = {kind: planned for planned, kind in KINDS.items() if planned != "time"}
        columns = tuple(PlannedColumn(c.name, kinds[c.kind], c.parts, unit=c.unit) for c in schema.columns)
        return cls(format, columns, target, labels, len(columns), known=known)

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


def _planned(tree: Mapping[str, Any]) -> PlannedColumn:
    slots = tree.get("slots")
    parts = tuple(str(part) for part in tree.get("parts", ()))
    slots = None if slots is None else at_least(1)("slots", slots)
    return PlannedColumn(tree["column"], tree["kind"], parts, slots, tree.get("unit"))
