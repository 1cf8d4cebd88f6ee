"""The typed columns of a row, as data, and where each is in the encoded matrix; n rows, d encoded columns.

number    its value                          boolean   0 or 1
category  its key (`columns.keys`)           date      sine and cosine of hour, weekday and day of the year
text      its words, hashed                  ignored   nothing

A missing value is NaN in all its encoded columns. With text the rows are sparse: numbers have the first columns, keys
and words one of the others (`columns.tokens`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nolana.columns.times import PARTS

__all__ = ["HASHED_COLUMNS", "Column", "EncodedRows", "Kind", "Schema", "check_kind"]

VERSION = 1
Kind = Literal["number", "category", "boolean", "date", "text", "ignored"]
Unit = Literal["s", "ms", "us", "ns"]
HASHED_COLUMNS = 1 << 20  # of rows with text


@dataclass(frozen=True)
class Column:
    """A column: its name, or its index if it has none, and its kind; the parts of a date, the unit of a UNIX time."""

    name: str | int
    kind: Kind = "number"
    parts: tuple[str, ...] = ()
    unit: Unit | None = None

    @property
    def width(self) -> int:
        """Encoded columns, if rows are dense."""
        return {"date": 2 * len(self.parts), "text": 0, "ignored": 0}.get(self.kind, 1)

    @property
    def encoded_names(self) -> list[str]:
        """A name for each of them."""
        if self.kind == "date":
            return [f"{self.name}[{part} {wave}]" for part in self.parts for wave in ("sin", "cos")]
        return [str(self.name)] * self.width

    @property
    def became(self) -> str:
        """What it is learned as, for a summary."""
        others = {"boolean": "true or false", "date": f"date: {', '.join(self.parts)}", "text": "text, words hashed"}
        return others.get(self.kind, self.kind)

    def __str__(self) -> str:
        return f"{self.name}: {self.became}"


@dataclass(frozen=True)
class Schema:
    """Columns in the order in which they are encoded.

    Examples
    --------
    >>> schema = Schema((Column("age"), Column("job", "category"), Column("day", "date", ("weekday",))))
    >>> schema.width, schema.categories, schema.encoded_names
    (4, [1], ['age', 'job', 'day[weekday sin]', 'day[weekday cos]'])
    >>> Schema.from_dict(schema.as_dict()) == schema
    True
    """

    columns: tuple[Column, ...]

    @cached_property
    def named(self) -> bool:
        """Whether columns are identified by their names."""
        return any(isinstance(column.name, str) for column in self.columns)

    @cached_property
    def names(self) -> list[str | int]:
        """Of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def places(self) -> list[slice]:
        """Where each column is in a dense encoded row."""
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return [slice(end - column.width, end) for column, end in zip(self.columns, ends, strict=True)]

    @cached_property
    def categories(self) -> list[int]:
        """Indices of the encoded columns that hold keys."""
        placed = zip(self.columns, self.places, strict=True)
        return [place.start for column, place in placed if column.kind == "category"]

    @cached_property
    def encoded_names(self) -> list[str]:
        """A name for each encoded column of dense rows."""
        return [name for column in self.columns for name in column.encoded_names]

    @cached_property
    def dense_width(self) -> int:
        """Encoded columns without those of words."""
        return sum(column.width for column in self.columns)

    @cached_property
    def sparse(self) -> bool:
        """Whether encoded rows are sparse, because a column is text."""
        return any(column.kind == "text" for column in self.columns)

    @property
    def width(self) -> int:
        """d."""
        return HASHED_COLUMNS if self.sparse else self.dense_width

    @cached_property
    def plain(self) -> bool:
        """Whether encoded rows are the columns themselves, as numbers."""
        return all(column.kind in ("number", "boolean") for column in self.columns)

    def as_dict(self) -> dict[str, object]:
        """A tree of JSON's types."""
        columns = [
            {"name": c.name, "kind": c.kind}
            | ({"parts": list(c.parts)} if c.parts else {})
            | ({} if c.unit is None else {"unit": c.unit})
            for c in self.columns
        ]
        return {"version": VERSION, "columns": columns}

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> "Schema":
        """The schema that ``as_dict`` returned; ValueError if it is none."""
        try:
            if tree["version"] != VERSION:
                raise ValueError(f"the schema has version {tree['version']!r}; this nolana reads version {VERSION}")
            columns = tuple(_column(entry) for entry in tree["columns"])
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"this is no schema ({error!r})") from error
        if not columns or len({column.name for column in columns}) < len(columns):
            raise ValueError("a schema has at least one column, and a name once")
        if len({type(column.name) for column in columns}) > 1:
            raise ValueError("the columns of a schema all have names, or none has")
        return cls(columns)

    @classmethod
    def of_numbers(cls, width: int) -> "Schema":
        """So many numbers without names."""
        return cls(tuple(map(Column, range(width))))

    def describe(self) -> list[str]:
        """What each column became, in a line each."""
        return [str(column) for column in self.columns]


def _column(entry: Mapping[str, Any]) -> Column:
    unknown = entry.keys() - {"name", "kind", "parts", "unit"}
    if unknown:
        raise ValueError(f"{sorted(unknown)[0]!r} is unknown in a column; was it made by a newer nolana?")
    name, kind, parts, unit = entry["name"], entry["kind"], tuple(entry.get("parts", ())), entry.get("unit")
    if type(name) not in (str, int):
        raise ValueError(f"a column has the name {name!r}, expected a string, or an integer if it has none")
    check_kind(f"column {name!r}", kind, get_args(Kind), parts, unit)
    return Column(name, kind, parts, unit)


def check_kind(title: str, kind: str, legal: tuple[str, ...], parts: tuple[str, ...], unit: str | None) -> None:
    """ValueError if a column does not have one of the legal kinds, or if its parts or its unit do not fit it."""
    if kind not in legal:
        raise ValueError(f"{title} has kind {kind!r}, not one of: {', '.join(legal)}")
    if (kind == "date") != bool(parts) or not set(parts) <= set(PARTS) or len(set(parts)) < len(parts):
        raise ValueError(f"{title} has parts {parts!r}, not some of: {', '.join(PARTS)}")
    if unit is not None and (kind != "date" or unit not in get_args(Unit)):
        raise ValueError(f"{title} has unit {unit!r}, not one of: {', '.join(get_args(Unit))}")


class EncodedRows(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Encoded rows (n, d), float64, C-contiguous, with the schema they have; a slice of rows has it too.

    Estimators take them as they are. Arithmetic on them has no meaning and gives plain arrays.
    """

    schema: Schema | None

    @classmethod
    def of(cls, rows: NDArray[np.float64], schema: Schema) -> "EncodedRows":
        """Mark these rows."""
        marked = np.ascontiguousarray(rows, dtype=np.float64).view(cls)
        marked.schema = schema
        return marked

    def __array_finalize__(self, source: object) -> None:
        self.schema = getattr(source, "schema", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        plain = [each.view(np.ndarray) if isinstance(each, EncodedRows) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return EncodedRows.of, (self.view(np.ndarray), self.schema)
