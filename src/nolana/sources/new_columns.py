"""Columns, keys and categories that the first block did not have: they are left out, and counted."""

from collections import Counter
from dataclasses import dataclass
from typing import TypedDict

from nolana.errors import Place, Remedy, StreamError, StreamWarning
from nolana.sources.options import NewColumns
from nolana.sources.sources import warn

__all__ = ["Counts", "NewCategory", "NewColumn", "NewColumnCounts"]

MOST_NAMES = 100  # that are counted one by one; a bound on memory
REST = "..."  # all others together
NEW_COLUMN = "column {column} is not in the first block. It is left out: a model cannot add a column"
NEW_CATEGORY = "{value} in column {column} has no column of its own: {why}. Such strings share one column"


@dataclass(frozen=True)
class NewColumn:
    """A new column in some rows: its name, in how many rows it is, and the line of the first one."""

    name: str
    rows: int
    line: int


@dataclass(frozen=True)
class NewCategory:
    """Strings of a column without a column of their own, the first one, and how many may have one; None: no new one."""

    column: NewColumn
    first: str
    largest: int | None


class Counts(TypedDict):
    """In how many rows, by column."""

    columns: dict[str, int]
    categories: dict[str, int]


class NewColumnCounts:
    """In how many rows each new column was, and each column of text had a text without a column of its own.

    Parameters
    ----------
    path : the source, for messages.
    unit : what a row is in messages: "line" or "row".
    policy : "warn": once for each column; "ignore": count only; "error": StreamError.
    """

    def __init__(self, path: str, unit: str, policy: NewColumns) -> None:
        self._path, self._unit, self._policy = path, unit, policy
        self.columns: Counter[str] = Counter()
        self.categories: Counter[str] = Counter()

    def add_column(self, column: NewColumn) -> None:
        """Some rows have a column that the first block did not have."""
        self._add(self.columns, column, NEW_COLUMN, "")

    def add_category(self, new: NewCategory) -> None:
        """Some rows have strings in a column that have no column of their own."""
        largest = new.largest
        why = "the model does not know it" if largest is None else f"all {largest} categories are in use"
        self._add(self.categories, new.column, NEW_CATEGORY, new.first, why)

    def _add(self, counts: Counter[str], column: NewColumn, problem: str, value: str, why: str = "") -> None:
        facts = {"column": repr(column.name), "why": why}
        place = Place(self._path, column.line, unit=self._unit)
        name = column.name if column.name in counts or len(counts) < MOST_NAMES else REST
        if self._policy == "error":
            remedies = [Remedy("new_columns", "ignore", "accepts that")]
            raise StreamError(problem, place=place, remedies=remedies, value=value, facts=facts)
        if self._policy == "warn" and name not in counts:
            warn(StreamWarning(problem, place=place, value=value, facts=facts))
        counts[name] += column.rows

    def state(self) -> Counts:
        """The counts, for a resumed stream."""
        return {"columns": dict(self.columns), "categories": dict(self.categories)}

    def restore(self, state: Counts) -> None:
        """Continues from what ``state`` returned."""
        self.columns = Counter({str(name): int(count) for name, count in state["columns"].items()})
        self.categories = Counter({str(name): int(count) for name, count in state["categories"].items()})
