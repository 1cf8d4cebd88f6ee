"""Rows of Arrow batches as X and y; an invalid row is found as in the readers of files, and named by its place."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns.times import PARTS
from nolana.errors import OptionError, Place, Remedy, StreamError
from nolana.sources.arrow import ArrowCells, convert
from nolana.sources.bad_rows import BadRow
from nolana.sources.cells import ABSENT, Flaw
from nolana.sources.encoder import Encoder
from nolana.sources.labels import Labels
from nolana.sources.options import Encoding
from nolana.sources.plan import Plan, PlannedColumn
from nolana.sources.rows import check_rows, encoder_of
from nolana.sources.tables import pyarrow
from nolana.spark.columns import Columns

__all__ = ["RowReader", "Rows", "check_policy"]

SKIP, FILL = Remedy("on_bad_row", "skip", "leaves the row out"), "df.na.fill(...) fills it in"
TABLES, NUMBERS = Encoding(), Encoding(categories="error", missing="error")
VECTORS = Encoding(categories="error")  # numbers that may be missing
LENGTH = "format"  # reason of a row of another length
POLICIES = ("error", "skip")
LONGEST_ROW = 200  # letters of a row in a message


def check_policy(on_bad_row: str) -> None:
    """OptionError if it is not one of those that a cluster can follow."""
    if on_bad_row not in POLICIES:
        raise OptionError("on_bad_row", on_bad_row, "is not one of: {expected}", expected=", ".join(POLICIES))


@dataclass(frozen=True)
class Rows:
    """The valid rows of a batch, and the invalid ones.

    x (n, d), `EncodedRows` if they are of a table; y (n,) or None; valid (rows of the batch,) says which they are.
    """

    x: Any
    y: NDArray[Any] | None
    valid: NDArray[np.bool_]
    bad: list[BadRow]


class RowReader:
    """Reads the batches of one partition, one after the other.

    Parameters
    ----------
    columns : what is read.
    place : the name of the partition in messages.
    array : the column of a batch that has the vectors as arrays; None: the feature itself.
    """

    def __init__(self, columns: Columns, place: str, array: str | None = None) -> None:
        self._columns, self._place, self._array = columns, place, array or columns.features[0]
        self._labels = None if columns.labels is None else Labels(columns.labels, explicit=True)
        self._encoder: Encoder | None = None
        self._names: list[str] = []
        self.width = columns.width if columns.vector else len(columns.features)
        self._before = 0
        if self.width is not None:
            self._start(self.width)

    def _start(self, width: int) -> None:
        columns = self._columns
        names = [f"{columns.features[0]}[{i}]" for i in range(width)] if columns.vector else list(columns.features)
        kinds = columns.kinds * width if columns.vector else columns.kinds
        planned = tuple(
            PlannedColumn(name, kind, PARTS if kind == "date" else ()) for name, kind in zip(names, kinds, strict=True)
        )
        self.width, self._names = width, names
        plan = Plan("arrow", planned, options=TABLES if columns.tables and not columns.vector else NUMBERS)
        if columns.schema is not None:
            plan = replace(plan, columns=Plan.of_schema(columns.schema, "arrow").columns)
        elif columns.vector and columns.tables:
            plan = replace(plan, options=VECTORS)
        self._encoder = encoder_of(plan, frozen=True)

    def read(self, batch: Any) -> Rows:
        """The next rows of the partition."""
        pa, columns = pyarrow(), self._columns
        label = [] if columns.label is None else [columns.label]
        encoder = self._encoder
        texts = label if encoder is None else [*(columns.features[f] for f in encoder.texts), *label]
        flaws: dict[int, Flaw] = {}
        if columns.vector:
            values, codes, flaws = self._arrays(batch.column(self._array))
            lines = np.arange(batch.num_rows, dtype=np.int64) + self._before + 1
            converted = [convert(pa, batch.column(name)) for name in texts]
            cells = ArrowCells(pa, batch, texts, values, codes, converted, lines)
        else:
            assert encoder is not None
            cells = ArrowCells.read(pa, batch, [columns.features[f] for f in encoder.numbers], texts, self._before)
        self._before += batch.num_rows
        if self._encoder is None:  # no row has a vector yet
            return self._split(cells, None, dict.fromkeys(range(batch.num_rows), Flaw(0, "missing", absent=True)))
        y, found = check_rows(cells, self._encoder, self._labels)
        return self._split(cells, y, found | flaws)

    def _arrays(self, column: Any) -> tuple[NDArray[np.float64], NDArray[np.uint8], dict[int, Flaw]]:
        """A column of arrays as numbers (n, d), their codes (n, d), and the rows of another length."""
        pa = pyarrow()
        compute = pyarrow("pyarrow.compute")
        lengths = compute.list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        if self.width is None and (lengths >= 0).any():
            self._start(int(lengths[lengths >= 0][0]))
        width = self.width or 0
        fits = lengths == width
        values, codes = np.zeros((len(lengths), width)), np.full((len(lengths), width), ABSENT, dtype=np.uint8)
        flat, flat_codes = convert(pa, column.filter(pa.array(fits)).flatten())
        values[fits], codes[fits] = flat.reshape(-1, width), flat_codes.reshape(-1, width)
        flaws = {
            row: Flaw(0, LENGTH, f"the row has {lengths[row]} numbers, expected {width}")
            for row in np.flatnonzero((lengths >= 0) & ~fits).tolist()
        }
        flaws |= dict.fromkeys(np.flatnonzero(lengths < 0).tolist(), Flaw(0, "missing", absent=True))
        return values, codes, flaws

    def _split(self, cells: ArrowCells, y: Any, flaws: dict[int, Flaw]) -> Rows:
        valid = np.ones(len(cells.lines), dtype=bool)
        valid[list(flaws)] = False
        bad = [
            BadRow(flaw.each(functools.partial(self._error, cells, row)), flaw.reason, "")
            for row, flaw in sorted(flaws.items())
        ]
        rows = cells if not flaws else cells.where(valid)
        x = rows.values if self._encoder is None else self._encoder.encode(rows)
        return Rows(x, y if y is None or not flaws else y[valid], valid, bad)

    def _error(self, cells: ArrowCells, row: int, flaw: Flaw) -> StreamError:
        """The error about a row in the words of Spark, which has no option to fill in values."""
        columns, f = self._columns, flaw.feature
        if f is None:
            source = name = columns.label
            f = len(self._names)
        else:
            name = self._names[f] if self._names else columns.features[0]
            source = self._array if columns.vector else name
        value = cells.batch.column(source)[row].as_py()
        if columns.vector and flaw.feature is not None and value is not None and flaw.reason != LENGTH:
            value = value[f]
        raw = cells.raw(row)
        raw = raw if len(raw) <= LONGEST_ROW else raw[:LONGEST_ROW] + "…"
        place = Place(self._place, int(cells.lines[row]), f + 1, name, "row")
        error = replace(flaw, remedies=()).error(place, "" if value is None else str(value), "the value is null")
        remedies, hint = ([SKIP], FILL) if flaw.reason == "missing" else ([], "")
        return error.changed(remedies=remedies, hint=hint, note=f"The row is {raw}")
