"""Rows of a DataFrame as pieces of X and y, made by ``mapInArrow``: one record has about a megabyte of rows."""

import functools
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import joined_problems
from nolana.sources.tables import pyarrow
from nolana.spark.columns import Columns
from nolana.spark.requirements import pyspark
from nolana.spark.rows import RowReader

__all__ = ["pack", "unpack"]

SCHEMA = "partition int, first long, rows int, width int, data binary, bad binary"
PIECE = 1 << 20  # bytes

XY = tuple[NDArray[np.float64], NDArray[Any]]


def pack(df: Any, columns: Columns, on_bad_row: str) -> Any:
    """A DataFrame of records; ``unpack`` reads the data of one.

    Within a partition the records have its valid rows in their order: ``rows`` of them, from number ``first`` on.
    ``bad`` has the first error of a partition, after which nothing follows, or the number of rows left out by reason.
    """
    return columns.project(df).mapInArrow(functools.partial(_pack, columns, on_bad_row == "skip"), SCHEMA)


def unpack(data: bytes | bytearray) -> XY:
    """X and y of a record."""
    x, y = pickle.loads(data)
    return x, y


def _pack(columns: Columns, skip: bool, batches: Iterator[Any]) -> Iterator[Any]:
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


def _record(*values: Any) -> Any:
    pa = pyarrow()
    types = (pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.binary(), pa.binary())
    names = [field.split()[0] for field in SCHEMA.split(", ")]
    arrays = [pa.array([value], kind) for value, kind in zip(values, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)
