"""What the first block decides, as data: which columns there are, what each is, how it becomes numbers.

The same plan makes the same X of another source that has the same columns, in whatever order or format.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from nolana.streams.cells import ABSENT, NUMBER, TEXT, TIME, TRUTH, UNKNOWN, Cells
from nolana.streams.columns import Column
from nolana.streams.times import seconds

__all__ = ["Categories", "ColumnKind", "LabelKind", "Missing", "Options", "Plan", "PlannedColumn", "kind_of"]

ColumnKind = Literal["number", "bool", "time", "text"]
LabelKind = Literal["int", "float", "bool", "text"]
Categories = Literal["error", "hash", "onehot"]
Missing = Literal["error", "mean", "indicator"]

COLUMN_KINDS = ("number", "bool", "time", "text")
LABEL_KINDS = ("int", "float", "text", "bool")
CATEGORIES = ("error", "hash", "onehot")
MISSING = ("error", "mean", "indicator")
VERSION = 1


@dataclass(frozen=True)
class Options:
    """How columns become numbers."""

    categories: Categories = "error"
    hash_slots: int = 16
    max_categories: int = 32
    missing: Missing = "error"

    def __post_init__(self) -> None:
        for name, choices in (("categories", CATEGORIES), ("missing", MISSING)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of: {', '.join(choices)}")
        for name in ("hash_slots", "max_categories"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number, at least 1")


@dataclass(frozen=True)
class PlannedColumn:
    """A feature: its name, or its index where it has none, and what it is."""

    column: Column
    kind: ColumnKind = "number"


@dataclass(frozen=True)
class Plan:
    """What is read, and how; ``as_dict`` and ``from_dict`` turn it into JSON's types and back."""

    format: str
    columns: tuple[PlannedColumn, ...] | None  # None: all that LIBSVM text has, as numbers
    target: Column | None = None
    labels: LabelKind | None = None
    width: int | None = None  # columns of a source without names; indices of LIBSVM text
    delimiter: str | None = None
    header: bool | None = None
    zero_based: bool = False
    chosen: tuple[int, ...] | None = None  # indices of LIBSVM text that are read; None: all
    options: Options = Options()

    @property
    def named(self) -> bool:
        """Whether columns are known by their names."""
        return self.columns is not None and any(isinstance(c.column, str) for c in self.columns)

    def as_dict(self) -> dict[str, Any]:
        """A tree of JSON's types."""
        tree = {f.name: getattr(self, f.name) for f in fields(self)}  # asdict copies every leaf: dear at every block
        if self.columns is not None:
            tree["columns"] = [{"column": c.column, "kind": c.kind} for c in self.columns]
        tree["chosen"] = None if self.chosen is None else list(self.chosen)
        tree["options"] = asdict(self.options)
        return {"version": VERSION} | tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> "Plan":
        """The plan that ``as_dict`` gave; ValueError where it is none."""
        try:
            if tree["version"] != VERSION:
                raise ValueError(f"the plan has version {tree['version']!r}; this nolana reads version {VERSION}")
            columns = tree["columns"]
            planned = None if columns is None else tuple(PlannedColumn(c["column"], c["kind"]) for c in columns)
            chosen = None if tree["chosen"] is None else tuple(int(j) for j in tree["chosen"])
            others = {f.name: tree[f.name] for f in fields(cls) if f.name not in ("columns", "chosen", "options")}
            plan = cls(columns=planned, chosen=chosen, options=Options(**tree["options"]), **others)
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not a plan of a stream ({error!r}); give what stream.plan gave") from error
        for column in plan.columns or ():
            if column.kind not in COLUMN_KINDS:
                raise ValueError(f"the plan's column {column.column!r} has kind {column.kind!r}, not one of: "
                                 f"{', '.join(COLUMN_KINDS)}")  # fmt: skip
        return plan

    def with_labels(self, labels: LabelKind | None) -> "Plan":
        """The same with another kind of label."""
        return replace(self, labels=labels)


def kind_of(cells: Cells, place: int, categories: Categories) -> tuple[ColumnKind, int]:
    """What a column of texts is, by all its values in these rows; and the first row that is mere text, or -1.

    Numbers, true and false, dates and times are told where all values are such, what is missing apart. Other
    columns are text where categories are encoded, else numbers in which some rows are wrong.
    """
    codes = cells.text_codes[:, place]
    there = (codes != ABSENT) & (codes != UNKNOWN)
    if not there.any() or (codes[there] == NUMBER).all():
        return "number", -1
    if (codes[there] == TRUTH).all():
        return "bool", -1
    if (codes[there] == TIME).all():
        return "time", -1
    if (codes[there] == TEXT).all():
        texts = cells.texts(place)
        if all(seconds(texts[i] or "") is not None for i in np.flatnonzero(there)):
            return "time", -1
        if categories == "error":
            return "number", int(np.flatnonzero(there)[0])
    return ("number" if categories == "error" else "text"), -1
