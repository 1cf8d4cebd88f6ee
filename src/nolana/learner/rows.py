"""Rows as their non-zeros, on the way from the estimators to the engine."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class SparseMatrix(Protocol):
    """A sparse matrix of SciPy, in any format."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocsr(self) -> object: ...


class CSRMatrix(SparseMatrix, Protocol):
    """Rows (n, d) in SciPy's CSR format, of float64."""

    format: Literal["csr"]
    data: Array
    indices: NDArray[np.int32] | NDArray[np.int64]
    indptr: NDArray[np.int32] | NDArray[np.int64]
    has_canonical_format: bool

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Self: ...

    def copy(self) -> Self: ...

    def sum_duplicates(self) -> None: ...

    def toarray(self) -> Array: ...


MatrixLike: TypeAlias = ArrayLike | SparseMatrix  # what users pass as X
Matrix: TypeAlias = Array | CSRMatrix  # X when it was checked

WIDE = 256  # features from which on sparse rows stay sparse


@dataclass(frozen=True)
class MomentRows:
    """Rows X that were scored, and what was known at that moment, (n, k), to be learned when their labels come.

    The moment is that of `nolana.engine.learner.lags`.
    """

    X: Any
    moment: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """That of X."""
        return (len(self.moment), *np.shape(self.X)[1:])

    def __len__(self) -> int:
        return len(self.moment)

    def __getitem__(self, rows: slice) -> "MomentRows":
        return MomentRows(self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows], self.moment[rows])

    def copy(self) -> "MomentRows":
        """The same in its own memory."""
        return MomentRows(self.X.copy() if hasattr(self.X, "copy") else self.X, self.moment.copy())


@dataclass(frozen=True)
class SparseRows:
    """CSR: row i has the entries from starts[i] up to starts[i + 1]; a slice shares indices and values."""

    starts: NDArray[np.int64]  # (n + 1,)
    indices: NDArray[np.int32]
    values: Array

    @classmethod
    def of(cls, x: "Matrix | SparseRows") -> "SparseRows":
        """The rows of a matrix, dense (n, d) or a CSR matrix of SciPy."""
        if isinstance(x, SparseRows):
            return x
        if isinstance(x, np.ndarray):
            rows, columns = np.nonzero(x)
            starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))])
            return cls(starts.astype(np.int64), columns.astype(np.int32), np.ascontiguousarray(x[rows, columns]))
        values = np.ascontiguousarray(x.data, dtype=np.float64)
        return cls(np.ascontiguousarray(x.indptr, dtype=np.int64), x.indices.astype(np.int32, copy=False), values)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice) -> "SparseRows":
        start, stop, step = rows.indices(len(self))
        assert step == 1
        return SparseRows(self.starts[start : max(start, stop) + 1], self.indices, self.values)

    @property
    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        """What the engine takes: starts from 0, indices and values of these rows alone."""
        first, last = int(self.starts[0]), int(self.starts[-1])
        return self.starts - first, self.indices[first:last], self.values[first:last]
