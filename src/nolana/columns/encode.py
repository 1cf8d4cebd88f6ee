"""Tables as encoded rows: columns are matched with the schema by name, in any order; n rows, d encoded columns.

- A column of the schema that a table does not have is an error; a key that a dict does not have is a missing value.
- A column that the schema does not have is left out, with a warning.
- Text in a column of numbers or dates is an error, unless it is a number or a date; all of them are in one error.
- A number in a column of categories or text is its decimal digits, true and false in a column of numbers are 1 and 0.
- A string in a column of booleans is true or false, in any letters.
- Infinity is an error everywhere.
- Columns without names are matched by their place.
"""

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.columns.infer import UNITS
from nolana.columns.schema import Column, EncodedRows, Schema
from nolana.columns.tables import Table, table_of
from nolana.columns.times import circles
from nolana.columns.tokens import SparseBuilder
from nolana.columns.values import ColumnProblem, MisfitError, Numbers, Values, refuse
from nolana.errors import ColumnsError, ColumnsWarning

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["WidthError", "encode", "encode_column", "encode_columns", "encode_table"]

Array = NDArray[np.float64]
MOST_NAMES = 10  # in a message


class WidthError(ValueError):
    """A table without names has another number of columns than the schema."""


def encode(schema: Schema, x: object) -> "EncodedRows | csr_matrix":
    """A table of any library as rows of this schema: `EncodedRows`, or a CSR matrix if a column is text.

    Both have the schema as an attribute.
    """
    table = table_of(x)
    if table is None:
        raise TypeError(f"X is {type(x).__name__}; expected a table: a frame, a list of dicts, an array of objects")
    return encode_table(schema, table)


def encode_table(schema: Schema, table: Table) -> "EncodedRows | csr_matrix":
    """The same for a `Table`."""
    order = _order(schema, table)
    matrix = table.matrix() if schema.plain else None
    if matrix is not None and None not in order:
        in_order = order == list(range(table.width))
        return EncodedRows.of(matrix if in_order else matrix[:, np.array(order, dtype=np.intp)], schema)
    return encode_columns(schema, table.rows, (None if i is None else table.column(i) for i in order))


def encode_columns(schema: Schema, n: int, columns: Iterable[Values | None]) -> "EncodedRows | csr_matrix":
    """The same for the columns of the schema, each of n values; None: all are missing."""
    problems: list[ColumnProblem] = []
    rows = np.full((n, schema.dense_width), np.nan)
    sparse = SparseBuilder(n, schema.dense_width) if schema.sparse else None
    for column, place, values in zip(schema.columns, schema.places, columns, strict=True):
        if column.kind == "ignored":
            continue
        try:
            if sparse is not None and column.kind in ("category", "text"):
                texts: list[str | None] = [None] * n if values is None else values.texts()
                (sparse.add_texts if column.kind == "text" else sparse.add_categories)(str(column.name), texts)
                continue
            if values is not None:
                rows[:, place] = encode_column(column, values)
            if sparse is not None:
                sparse.add_numbers(str(column.name), place.start, rows[:, place])
        except MisfitError as error:
            problems.append(ColumnProblem(column.name, error.row, error.value, error.expected))
    if problems:
        refuse(problems)
    if sparse is None:
        return EncodedRows.of(rows, schema)
    matrix = sparse.matrix()
    matrix.schema = schema
    return matrix


def encode_column(column: Column, values: Values) -> Array:  # -> (n, width of the column)
    """The encoded columns of one column; MisfitError if a value does not fit."""
    if column.kind == "category":
        return values.keys()[:, None]
    if column.kind == "date":
        if column.unit is not None and isinstance(values, Numbers):
            return circles(values.numbers() / UNITS[column.unit], column.parts)
        return circles(values.seconds(), column.parts)
    numbers = values.booleans() if column.kind == "boolean" else values.numbers()
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise MisfitError(row, float(numbers[row]), "a finite number")
    return numbers[:, None]


def _order(schema: Schema, table: Table) -> list[int | None]:
    """The column of the table for each column of the schema; None if its values are missing."""
    if not schema.named or table.names is None:
        if table.width != len(schema.columns):
            raise WidthError(f"X has {table.width} features, but {len(schema.columns)} features were learned")
        return list(range(table.width))
    found = {name: i for i, name in enumerate(table.names)}
    known = set(schema.names)
    missing = [str(name) for name in schema.names if name not in found]
    unexpected = [name for name in table.names if name not in known]
    if missing and (not table.open or len(missing) == len(schema.columns)) and not (table.open and not table.rows):
        unseen = f"Feature names unseen at fit time:\n{_lines(unexpected)}" if unexpected else ""
        absent = f"Feature names seen at fit time, yet now missing:\n{_lines(missing)}"
        differ = [
            f"{what}: {_list(names)}" for what, names in (("missing", missing), ("unexpected", unexpected)) if names
        ]
        raise ColumnsError(
            f"The feature names should match those that were passed during fit.\n{unseen}{absent}"
            "X has other columns than this model has learned ({difference})",
            facts={"difference": "; ".join(differ), "missing": missing, "unexpected": unexpected},
        )
    if unexpected:
        warnings.warn(
            ColumnsWarning(
                "X has columns that this model has not learned; they are left out: {unexpected}",
                facts={"unexpected": _list(unexpected)},
            ),
            stacklevel=2,
        )
    return [found.get(str(name)) for name in schema.names]


def _list(names: list[str]) -> str:
    return f"{', '.join(map(repr, names[:MOST_NAMES]))}{', ...' * (len(names) > MOST_NAMES)}"


def _lines(names: list[str]) -> str:
    return "".join(f"- {name}\n" for name in sorted(names)[:5]) + "- ...\n" * (len(names) > 5)
