"""Tables of any library, column by column: pandas, Polars, Arrow, NumPy, lists; none of them is imported.

The same values give the same bits whatever library they came in.
"""

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns.times import NOT_A_TIME
from nolana.columns.values import Booleans, Coded, Dates, Numbers, Strings, Unreadable, Values, values_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Table", "table_of"]

Array = NDArray[np.float64]
DATE_UNIT = "datetime64[us]"


class Table(ABC):
    """n rows of some columns; names is None if columns have none, or none that are strings."""

    def __init__(self, rows: int, names: Sequence[Hashable] | None, width: int) -> None:
        self.rows, self.width = rows, width
        self.names = _string_names(names)
        self.open = False  # whether a column may be absent, as a key of a dict may

    @abstractmethod
    def column(self, i: int) -> Values:
        """Column i."""

    def matrix(self) -> Array | None:
        """All columns as numbers (n, width) at once; None if one of them may be something else."""
        return None


def table_of(x: Any) -> Table | None:
    """Anything that is a table; None: an array of numbers, a sparse matrix, or no matrix at all."""
    if isinstance(x, np.ma.MaskedArray):  # what is masked is missing
        there = np.array(x.data, dtype=np.float64 if x.dtype.kind in "iufb" else object)
        there[np.ma.getmaskarray(x)] = np.nan if there.dtype == np.float64 else None
        return ArrayTable(there) if x.ndim == 2 else None
    if isinstance(x, np.ndarray):
        return _array_table(x)
    if isinstance(x, list | tuple):
        return _list_table(x)
    library = type(x).__module__.partition(".")[0]
    if library == "polars" and hasattr(x, "collect"):
        raise TypeError("X is a LazyFrame, which has no rows yet; pass X.collect()")
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        return PandasTable(x)
    if library == "polars" and hasattr(x, "get_columns"):
        return PolarsTable(x)
    if library == "pyarrow" and hasattr(x, "column_names"):
        return ArrowTable(x)
    if hasattr(x, "__arrow_c_stream__") and not hasattr(x, "iloc") and library != "polars":
        return _through_arrow(x)
    return None


def _string_names(names: Sequence[Hashable] | None) -> list[str] | None:
    """As scikit-learn has it: names count if all are strings; some that are and some that are not are a TypeError."""
    if names is None:
        return None
    others = sorted({type(name).__qualname__ for name in names if not isinstance(name, str)})
    if others and any(isinstance(name, str) for name in names):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{[*others, 'str']} as feature name / column name types. If you want feature names to be stored and "
            "validated, you must convert them all to strings, by using X.columns = X.columns.astype(str) for example"
        )
    if others or not names:
        return None
    found = [str(name) for name in names]
    seen: set[str] = set()
    twice = [name for name in found if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if twice:
        raise ValueError(f"X has the column {twice[0]!r} twice; columns are matched by name: rename one of them")
    return found


# pandas


class PandasTable(Table):
    """A frame of pandas 2 or 3."""

    def __init__(self, frame: "pandas.DataFrame") -> None:
        super().__init__(len(frame), list(frame.columns), frame.shape[1])
        self._frame = frame

    def matrix(self) -> Array | None:
        if all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in set(self._frame.dtypes)):
            return np.asarray(self._frame.to_numpy(dtype=np.float64))
        return None

    @cached_property
    def _series(self) -> "list[pandas.Series]":
        return [series for _, series in self._frame.items()]  # less than half the time of iloc

    def column(self, i: int) -> Values:
        return _pandas_values(self._series[i])


def _pandas_values(series: "pandas.Series") -> Values:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return _array_values(series.to_numpy())
    if hasattr(dtype, "categories") and hasattr(series, "cat"):
        distinct = _pandas_values(dtype.categories.to_series())
        return Coded(series.cat.codes.to_numpy().astype(np.int64), distinct)
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_values(series.array.__arrow_array__())
    if hasattr(dtype, "subtype") and hasattr(series, "sparse"):
        return _array_values(series.sparse.to_dense().to_numpy())
    if dtype.kind == "M":  # with a time zone
        return _array_values(series.dt.tz_convert(None).to_numpy())
    if dtype.kind in "iufb":  # nullable
        missing = series.isna().to_numpy()
        if not missing.any():
            return _array_values(series.to_numpy(dtype=dtype.numpy_dtype))
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if dtype.kind == "b":
            return Booleans(numbers)
        return Numbers(numbers, series.to_numpy(dtype=object, na_value=None).tolist() if dtype.kind in "iu" else None)
    if str(dtype).startswith(("string", "str")):
        return Strings(series.to_numpy(dtype=object, na_value=None).tolist())
    if hasattr(dtype, "freq"):  # periods are dates: their first moment
        return _array_values(series.dt.to_timestamp().to_numpy())
    if hasattr(dtype, "closed"):  # intervals, as `pandas.cut` makes them, are categories
        missing = series.isna().tolist()
        return Strings([None if gone else str(each) for each, gone in zip(series, missing, strict=True)])
    return values_of(series.tolist())


# NumPy


class ArrayTable(Table):
    """A structured array, or a matrix of objects, strings or numbers."""

    def __init__(self, array: NDArray[Any]) -> None:
        names = None if array.dtype.names is None else list(array.dtype.names)
        super().__init__(len(array), names, array.shape[1] if names is None else len(names))
        self._array, self._fields = array, names

    def matrix(self) -> Array | None:
        return self._array.astype(np.float64) if self._array.dtype.kind in "iuf" else None

    def column(self, i: int) -> Values:
        return _array_values(self._array[:, i] if self._fields is None else self._array[self._fields[i]])


def _array_table(x: NDArray[np.generic]) -> Table | None:
    if x.dtype.names is not None and x.ndim == 1:
        return ArrayTable(x)
    return ArrayTable(x) if x.ndim == 2 and x.dtype.kind in "OUSTM" else None


def _array_values(column: NDArray[np.generic]) -> Values:
    if column.ndim != 1:
        return Unreadable(0 if len(column) else None, column[0].tolist() if len(column) else str(column.dtype))
    kind = column.dtype.kind
    if kind in "iuf":
        return Numbers(column)
    if kind == "b":
        return Booleans(column.astype(np.float64))
    if kind == "M":
        return Dates(column.astype(DATE_UNIT).astype(np.int64))
    if kind == "m":
        return Numbers(_seconds(column))
    if kind == "O":
        return values_of(column.tolist())
    if kind in "UST":
        return _parsed(column)
    return Unreadable(None, f"a column of {column.dtype}")


def _seconds(durations: NDArray[np.generic]) -> Array:
    whole = durations.astype("timedelta64[us]").astype(np.int64)
    return np.where(whole == NOT_A_TIME, np.nan, whole / 1e6)


def _parsed(column: NDArray[np.generic]) -> Values:
    """NumPy makes strings of numbers beside strings: a column of such is of numbers if all of its strings are."""
    try:
        return Numbers(column.astype(np.float64))
    except ValueError:
        return values_of(column.tolist())


# Lists


class RecordTable(Table):
    """A list of dicts: keys are columns, in the order in which they first appear; an absent key is a missing value."""

    def __init__(self, records: Sequence[Mapping[Hashable, object]]) -> None:
        self._records, self._keys = records, list(dict.fromkeys(key for record in records for key in record))
        super().__init__(len(records), self._keys, len(self._keys))
        if self.names is None and self._keys:
            raise TypeError(f"the keys of a row are strings; got {type(self._keys[0]).__name__}")
        self.names, self.open = [str(key) for key in self._keys], True

    def column(self, i: int) -> Values:
        key = self._keys[i]
        return values_of([record.get(key) for record in self._records])


def _list_table(x: Sequence[Any]) -> Table | None:
    if x and all(isinstance(row, Mapping) for row in x):
        return RecordTable(x)
    if not x or not all(isinstance(row, list | tuple) for row in x) or len({len(row) for row in x}) > 1 or not x[0]:
        return None
    if all(type(value) in (float, int) for row in x for value in row):
        return None
    objects = np.empty((len(x), len(x[0])), dtype=object)
    for i, row in enumerate(x):
        objects[i] = row
    return ArrayTable(objects)


# Polars


class PolarsTable(Table):
    """A frame of Polars."""

    def __init__(self, frame: "polars.DataFrame") -> None:
        super().__init__(frame.height, frame.columns, frame.width)
        self._frame = frame

    def column(self, i: int) -> Values:
        return _polars_values(self._frame.to_series(i))


def _polars_values(series: "polars.Series") -> Values:
    polars, dtype = sys.modules["polars"], series.dtype
    if dtype.is_numeric():  # decimals too
        if dtype.is_integer() and not series.null_count():
            return Numbers(series.to_numpy())
        exact = series.to_list() if not dtype.is_float() else None
        return Numbers(np.array(series.cast(polars.Float64).to_numpy(), dtype=np.float64), exact=exact)
    if dtype == polars.Boolean:
        return Booleans(np.array(series.cast(polars.Float64).to_numpy(), dtype=np.float64))
    if dtype in (polars.Date, polars.Datetime):
        moments = series.cast(polars.Datetime("us")) if dtype == polars.Date else series
        return Dates(moments.dt.timestamp("us").fill_null(NOT_A_TIME).to_numpy().astype(np.int64))
    if dtype == polars.Duration:
        whole = series.dt.total_microseconds().fill_null(NOT_A_TIME).to_numpy()
        return Numbers(_seconds(whole.astype("timedelta64[us]")))
    if dtype in (polars.Categorical, polars.Enum):
        return Coded(np.arange(len(series)), Strings(series.cast(polars.String).to_list()))
    if dtype in (polars.String, polars.Binary):
        return Strings(series.to_list())
    return values_of(series.to_list())


# Arrow


class ArrowTable(Table):
    """A table or a record batch of Arrow."""

    def __init__(self, table: "pyarrow.Table | pyarrow.RecordBatch") -> None:
        super().__init__(table.num_rows, table.column_names, table.num_columns)
        self._table = table

    def column(self, i: int) -> Values:
        return _arrow_values(self._table.column(i))


def _through_arrow(x: object) -> Table | None:
    try:
        return ArrowTable(importlib.import_module("pyarrow").table(x))
    except ImportError:
        return None


def _arrow_values(column: "pyarrow.Array | pyarrow.ChunkedArray") -> Values:
    pyarrow = sys.modules["pyarrow"]
    types = pyarrow.types
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # older versions
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    kind = column.type
    if types.is_dictionary(kind):
        codes = column.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return Coded(codes, _arrow_values(column.dictionary))
    if types.is_boolean(kind):
        return Booleans(_arrow_numbers(column.cast(pyarrow.uint8())))
    if types.is_integer(kind):
        if not column.null_count:
            return Numbers(column.to_numpy(zero_copy_only=False))
        return Numbers(_arrow_numbers(column), exact=column.to_pylist())
    if types.is_floating(kind):
        return Numbers(_arrow_numbers(column))
    if types.is_date(kind) or types.is_timestamp(kind):
        moments = column.cast(pyarrow.timestamp("us"), safe=False).cast(pyarrow.int64())
        return Dates(moments.fill_null(NOT_A_TIME).to_numpy(zero_copy_only=False))
    if types.is_duration(kind):
        whole = column.cast(pyarrow.duration("us"), safe=False).cast(pyarrow.int64()).fill_null(NOT_A_TIME)
        return Numbers(_seconds(whole.to_numpy(zero_copy_only=False).astype("timedelta64[us]")))
    return values_of(column.to_pylist())


def _arrow_numbers(column: "pyarrow.Array") -> Array:
    return np.array(
        column.cast(sys.modules["pyarrow"].float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64
    )
