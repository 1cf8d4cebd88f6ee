"""Data frames in and out: pandas and polars, without importing either."""

import sys
from collections.abc import Hashable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from nolana.river.slots import Array, Features, number_of

Frame = Any  # of pandas or polars
Series = Any  # of the same library


class FrameRows:
    """The rows of a frame: numbers (n, k), NaN for a missing value, or None if a column has other values."""

    def __init__(self, X: Frame, *, mixed: bool) -> None:
        if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
            raise ValueError(f"X is {type(X).__name__}; expected a data frame whose columns are the features")
        self.names: list[Hashable] = list(X.columns)
        self._length = len(X)
        self.numbers: Array | None = None
        self._dicts: list[Features] = []
        if mixed and not _is_numeric(X):
            self._dicts = X.to_dict("records") if hasattr(X, "iloc") else X.to_dicts()
        else:
            self.numbers = _numbers(X, self.names)

    def __len__(self) -> int:
        return self._length

    def row(self, i: int) -> Features:
        """A row as a dict."""
        if self.numbers is None:
            return self._dicts[i]
        return dict(zip(self.names, self.numbers[i].tolist(), strict=True))


def _is_numeric(X: Frame) -> bool:
    if hasattr(X, "iloc"):
        return all(getattr(dtype, "kind", "O") in "iufb" for dtype in X.dtypes)
    return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes)


def _numbers(X: Frame, names: list[Hashable]) -> Array:
    try:
        if hasattr(X, "iloc"):
            values = X.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.asarray(X.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        columns = X.to_dict("list") if hasattr(X, "iloc") else X.to_dict(as_series=False)
        for name, column in columns.items():
            for value in column:
                number_of(name, value)
        raise
    values = np.ascontiguousarray(values)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        number_of(names[column], float(values[row, column]))
    return values


def series_like(X: Frame, values: Sequence[object]) -> Series:
    """A value for each row of a frame, as a series of the same library with the same index."""
    library = _library(X)
    return library.Series(values, index=X.index) if hasattr(X, "iloc") else library.Series(values=values)


def frame_like(X: Frame, labels: list[Hashable], values: Array) -> Frame:
    """A column for each label, as a frame of the same library; polars has strings as names of columns."""
    library = _library(X)
    if hasattr(X, "iloc"):
        return library.DataFrame(values, index=X.index, columns=library.Index(labels, dtype=object))
    return library.DataFrame({str(label): values[:, i] for i, label in enumerate(labels)})


def _library(X: Frame) -> ModuleType:
    """The module of a frame, which is loaded because the frame exists."""
    return sys.modules[type(X).__module__.partition(".")[0]]
