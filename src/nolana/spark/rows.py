"""Rows of Arrow batches as X and y; an invalid row is found as in the readers of files, and named by its place.

`pack` makes pieces of X and y of the rows of a DataFrame by ``mapInArrow``: a record has about a megabyte of them.
"""

import functools
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.columns.times import PARTS
from nolana.errors import OptionError, Place, Remedy, StreamError, joined_problems
from nolana.metrics.label_index import Labels
from nolana.sources.arrow import ArrowCells, convert
from nolana.sources.bad_rows import BadRow
from nolana.sources.cells import ABSENT, Flaw
from nolana.sources.encoder import Encoder
from nolana.sources.labels import Labels as LabelReader
from nolana.sources.options import Encoding
from nolana.sources.plan import Plan, PlannedColumn
from nolana.sources.rows import check_rows, encoder_of
from nolana.sources.tables import pyarrow
from nolana.spark.columns import Columns, pyspark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

__all__ = ["XY", "RowReader", "Rows", "check_policy", "count_bad", "pack", "unpack"]

SKIP, FILL = Remedy("on_bad_row", "skip", "leaves the row out"), "df.na.fill(...) fills it in"
TABLES, NUMBERS = Encoding(), Encoding(categories="error", missing="error")
VECTORS = Encoding(categories="error")  # numbers that may be missing
LENGTH = "format"  # reason of a row of another length
POLICIES = ("error", "skip")
LONGEST_ROW = 200  # letters of a row in a message
SCHEMA = "partition int, first long, rows int, width int, data binary, bad binary"  # of packed rows
PIECE = 1 << 20  # bytes of a record

XY = tuple[NDArray[np.float64], Labels]


def check_policy(on_bad_row: str) -> None:
    """OptionError if it is not one of those that a cluster can follow."""
    if on_bad_row not in POLICIES:
        raise OptionError("on_bad_row", on_bad_row, "is not one of: {expected}", expected=", ".join(POLICIES))


@dataclass(frozen=True)
class Rows:
    """The valid rows of a batch, and the invalid ones.

    x (n, d), `EncodedRows` if they are of a table; y (n,) or None; valid (rows of the batch,) says which they are.
    """

    x: NDArray[np.float64]
    y: Labels | None
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
        self._labels = None if columns.labels is None else LabelReader(columns.labels, explicit=True)
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

    def read(self, batch: "pa.RecordBatch") -> Rows:
        """The next rows of the partition."""
        arrow, columns = pyarrow(), self._columns
        label = [] if columns.label is None else [columns.label]
        encoder = self._encoder
        texts = label if encoder is None else [*(columns.features[f] for f in encoder.texts), *label]
        flaws: dict[int, Flaw] = {}
        if columns.vector:
            values, codes, flaws = self._arrays(batch.column(self._array))
            lines = np.arange(batch.num_rows, dtype=np.int64) + self._before + 1
            converted = [convert(arrow, batch.column(name)) for name in texts]
            cells = ArrowCells(arrow, batch, texts, values, codes, converted, lines)
        else:
            assert encoder is not None
            cells = ArrowCells.read(arrow, batch, [columns.features[f] for f in encoder.numbers], texts, self._before)
        self._before += batch.num_rows
        if self._encoder is None:  # no row has a vector yet
            return self._split(cells, None, dict.fromkeys(range(batch.num_rows), Flaw(0, "missing", absent=True)))
        y, found = check_rows(cells, self._encoder, self._labels)
        return self._split(cells, y, found | flaws)

    def _arrays(self, column: "pa.ListArray") -> tuple[NDArray[np.float64], NDArray[np.uint8], dict[int, Flaw]]:
        """A column of arrays as numbers (n, d), their codes (n, d), and the rows of another length."""
        arrow = pyarrow()
        lengths = pyarrow("pyarrow.compute").list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        if self.width is None and (lengths >= 0).any():
            self._start(int(lengths[lengths >= 0][0]))
        width = self.width or 0
        fits = lengths == width
        values, codes = np.zeros((len(lengths), width)), np.full((len(lengths), width), ABSENT, dtype=np.uint8)
        flat, flat_codes = convert(arrow, column.filter(arrow.array(fits)).flatten())
        values[fits], codes[fits] = flat.reshape(-1, width), flat_codes.reshape(-1, width)
        flaws = {
            row: Flaw(0, LENGTH, f"the row has {lengths[row]} numbers, expected {width}")
            for row in np.flatnonzero((lengths >= 0) & ~fits).tolist()
        }
        flaws |= dict.fromkeys(np.flatnonzero(lengths < 0).tolist(), Flaw(0, "missing", absent=True))
        return values, codes, flaws

    def _split(self, cells: ArrowCells, y: Labels | None, flaws: dict[int, Flaw]) -> Rows:
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


# Packed rows


def pack(df: "DataFrame", columns: Columns, on_bad_row: str) -> "DataFrame":
    """A DataFrame of records; ``unpack`` reads the data of one.

    Within a partition the records have its valid rows in their order: ``rows`` of them, from number ``first`` on.
    ``bad`` has the first error of a partition, after which nothing follows, or the number of rows left out by reason.
    """
    return columns.project(df).mapInArrow(functools.partial(_pack, columns, on_bad_row == "skip"), SCHEMA)


def unpack(data: bytes | bytearray) -> XY:
    """X and y of a record."""
    x, y = pickle.loads(data)
    return x, y


def count_bad(record: "Row", counts: Counter[str]) -> None:
    """Count the rows of a record that were left out; StreamError if it has an error."""
    if record.bad is not None:
        found = pickle.loads(record.bad)
        if isinstance(found, StreamError):
            raise found
        counts.update(found)


def _pack(columns: Columns, skip: bool, batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    """The task of one partition."""
    partition = pyspark().TaskContext.get().partitionId()
    reader, first = RowReader(columns, f"partition {partition}"), 0
    for batch in batches:
        rows = reader.read(batch)
        width = reader.width or 0
        if rows.bad:
            bad = Counter(row.reason for row in rows.bad) if skip else joined_problems([row.error for row in rows.bad])
            yield _record(partition, first, 0, width, None, pickle.dumps(bad))
            if not skip:
                return
        step = max(1, PIECE // (8 * (width + 1)))
        for begin in range(0, len(rows.x), step):
            x = rows.x[begin : begin + step]
            assert rows.y is not None
            data = pickle.dumps((x, rows.y[begin : begin + step].copy()), protocol=pickle.HIGHEST_PROTOCOL)
            yield _record(partition, first, len(x), width, data, None)
            first += len(x)


def _record(*values: int | bytes | None) -> "pa.RecordBatch":
    arrow = pyarrow()
    types = (arrow.int32(), arrow.int64(), arrow.int32(), arrow.int32(), arrow.binary(), arrow.binary())
    names = [field.split()[0] for field in SCHEMA.split(", ")]
    arrays = [arrow.array([value], kind) for value, kind in zip(values, types, strict=True)]
    return arrow.RecordBatch.from_arrays(arrays, names=names)
