"""The edge: what comes in is checked here, once, before anything changes; inside everything is trusted."""

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.backend import backend
from nolana.columns import EncodedRows, Schema, WidthError, encode_table, infer_schema, table_of
from nolana.columns.tables import ArrayTable
from nolana.estimators._sklearn import check_array, validate_data
from nolana.learner.driver import Driver
from nolana.learner.landmark import ROWS_PER_LOCK
from nolana.learner.rows import WIDE, CSRMatrix, Matrix, MatrixLike, MomentRows, SparseRows
from nolana.learner.sketched import SketchedLearner
from nolana.learner.stream import StreamLearner

if TYPE_CHECKING:
    from nolana.estimators.base import OnlineEstimator

Array = NDArray[np.float64]
Learner: TypeAlias = Driver | SketchedLearner

LARGEST_WEIGHT = 1e50
LARGEST_MOMENT = 1e101  # targets are at most 1e100
MOST_NAMES = 10  # in a message
DENSE_NUMBERS = 1 << 18  # of a sparse matrix made dense at a time


def row_count(x: Any) -> int:
    """Rows of anything like a matrix."""
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def is_plain(x: object) -> TypeGuard[Array]:
    """A float64, C-contiguous matrix: nothing to convert."""
    return type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 2 and x.flags.c_contiguous


def is_plain_csr(x: Any) -> TypeGuard[CSRMatrix]:
    """A float64 CSR matrix with each non-zero once: nothing to convert."""
    return bool(
        getattr(x, "format", None) == "csr" and x.dtype == np.float64 and len(x.shape) == 2 and x.has_canonical_format
    )


def is_empty(x: object) -> bool:
    """A matrix without rows, as a poll that found nothing returns it."""
    shape: tuple[int, ...] = getattr(x, "shape", ())
    return len(shape) == 2 and shape[0] == 0


def check_no_rows(**columns: ArrayLike | None) -> None:
    """Labels, targets and weights of no rows."""
    for name, values in columns.items():
        if values is not None and np.ndim(values) > 0 and row_count(values) > 0:
            raise ValueError(f"X has 0 rows but {name} has {row_count(values)}: inconsistent numbers of samples")


def column_count(y: object) -> int:
    """k of y (n, k), 1 of (n,)."""
    shape: tuple[int, ...] = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return shape[1] if len(shape) == 2 else 1


def check_features(estimator: "OnlineEstimator", x: MatrixLike, *, reset: bool, empty: bool = False) -> Matrix:
    """X as float64, dense or CSR, encoded and within range, of the columns that were learned; `empty`: or without rows.

    Only estimators that `_takes_missing` take NaN, and only those that `_takes_tables` other values than numbers.
    """
    if isinstance(x, MomentRows):
        return with_moments(estimator, x, check_features(estimator, x.X, reset=reset, empty=empty))
    rows: Matrix | None = None
    as_learned = not reset and "feature_names_in_" not in estimator.__dict__ and "_schema" not in estimator.__dict__
    if as_learned and (is_plain(x) or is_plain_csr(x)) and x.shape[0] > 0 and x.shape[1] == estimator.n_features_in_:
        rows = x
    if rows is None and estimator._takes_tables:
        rows = encoded_rows(estimator, x, reset=reset)
        if rows is not None and not empty and not rows.shape[0]:
            raise ValueError(f"Found array with 0 sample(s) (shape={rows.shape}) while a minimum of 1 is required.")
    if rows is None:
        rows = _validated(estimator, x, reset, empty)
    check_values(rows, estimator._largest(), nan=estimator._takes_missing)
    return rows


def _validated(estimator: "OnlineEstimator", x: MatrixLike, reset: bool, empty: bool) -> Matrix:
    """What scikit-learn makes of X."""
    least = {"ensure_min_samples": 0} if empty else {}
    how = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": False}
    try:
        rows: Matrix = validate_data(estimator, x, reset=reset, **how, **least)
    except ValueError as error:
        raise ValueError(f"{error}{_other_columns(estimator, x)}{_numbers_alone(estimator, x)}") from error
    if isinstance(rows, np.ndarray):
        return np.ascontiguousarray(rows)
    if not rows.has_canonical_format:
        rows = rows.copy()  # never the caller's own
        rows.sum_duplicates()
    return rows


def with_moments(estimator: "OnlineEstimator", x: MomentRows, rows: Matrix) -> Array:
    """Checked rows with their moment behind their features."""
    learner, moment = estimator.__dict__.get("_learner"), np.asarray(x.moment, dtype=np.float64)
    if not isinstance(learner, StreamLearner) or not learner.options.lag or not isinstance(rows, np.ndarray):
        raise ValueError(
            "these rows have a moment, and this model has no lag, or has learned nothing yet; learn rows.X"
        )
    size = learner.moment_size
    if moment.shape != (len(rows), size):
        raise ValueError(f"expected moments {(len(rows), size)} of this model, got {moment.shape}")
    known, scores = np.split(moment, [size - learner.experts_remembered], axis=1)
    absent = np.isposinf(known[:, -1])
    if (np.abs(known[~absent]) > LARGEST_MOMENT).any() or not (np.abs(scores[~absent]) <= LARGEST_MOMENT).all():
        raise ValueError("the moment of a row has values that no model has")
    return np.hstack([rows, moment])


def _numbers_alone(estimator: "OnlineEstimator", x: object) -> str:
    """Who takes a table that this estimator does not take; "" if that is not why it is refused."""
    try:
        table = None if estimator._takes_tables else table_of(x)
        others = table is not None and not infer_schema(table).plain
    except (TypeError, ValueError):
        return ""
    name = type(estimator).__name__
    return f". {name} learns numbers; StreamClassifier and StreamRegressor take tables as they are" if others else ""


def _other_columns(estimator: object, x: object) -> str:
    """How the columns of a frame differ from those that were learned; "" if they do not, or have no names."""
    learned, found = getattr(estimator, "feature_names_in_", None), getattr(x, "columns", None)
    if learned is None or found is None or list(learned) == list(found):
        return ""
    missing = [name for name in learned if name not in set(found)]
    unexpected = [name for name in found if name not in set(learned)]
    parts = [
        f"{what}: {', '.join(repr(str(name)) for name in names[:MOST_NAMES])}{', ...' * (len(names) > MOST_NAMES)}"
        for what, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if not parts:
        at = next(i for i, (a, b) in enumerate(zip(learned, found, strict=False)) if a != b)
        parts = [f"another order: column {at} is {str(found[at])!r}, and was {str(learned[at])!r}"]
    remedy = "" if missing else ". X[list(model.feature_names_in_)] selects what it has learned, in its order"
    return f"X has other columns than this model has learned ({'; '.join(parts)}){remedy}"


def _declares_columns(estimator: "OnlineEstimator") -> bool:
    """Whether the user names categories, texts or groups, so that an array of numbers has a schema too."""
    categories = estimator.categorical_features
    named = categories is not None and not isinstance(categories, str)
    return named or estimator.text_features is not None or estimator.group is not None


def encoded_rows(estimator: "OnlineEstimator", x: Any, *, reset: bool) -> Matrix | None:
    """The rows of a table, encoded by the estimator's schema, which `reset` infers; None: X is numbers without one."""
    schema: Schema | None = None if reset else estimator.__dict__.get("_schema")
    if isinstance(x, EncodedRows) and x.schema is not None:
        if x.ndim != 2 or x.shape[1] != x.schema.width:
            raise ValueError(f"X has encoded rows of shape {x.shape}, but their schema has {x.schema.width} columns")
        if reset:
            _learn_schema(estimator, x.schema)
        elif schema is None and not (x.schema.plain and x.schema.width == estimator.n_features_in_):
            raise ValueError("X has columns that are not numbers, and this model has learned numbers without names")
        elif schema is not None and x.schema is not schema and x.schema != schema:
            raise ValueError("X has rows of another schema than this model has learned")
        return np.ascontiguousarray(x.view(np.ndarray))
    declared = reset and _declares_columns(estimator)
    if hasattr(x, "tocsr"):
        return _encoded_sparse_rows(estimator, x, schema, reset=reset)
    if type(x) is np.ndarray and schema is None and x.dtype.kind == "f" and not declared:
        return None
    table = table_of(x)
    if table is None:
        if not declared and schema is None:
            return None
        table = ArrayTable(check_array(x, dtype=None, ensure_all_finite=False, ensure_min_samples=0))
    if reset:
        if not table.width:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={(table.rows, 0)}) while a minimum of 1 is required."
            )
        schema = infer_schema(table, estimator.categorical_features, estimator.text_features, estimator.group)
        _learn_schema(estimator, schema)
    elif schema is None:  # learned from arrays
        if table.width != estimator.n_features_in_:
            raise ValueError(_other_width(estimator, table.width))
        schema = Schema.of_numbers(table.width)
    _warn_about_names(estimator, schema, table.names is not None)
    try:
        rows = encode_table(schema, table)
    except WidthError:
        raise ValueError(_other_width(estimator, table.width)) from None
    return rows.view(np.ndarray) if isinstance(rows, EncodedRows) else rows


def _encoded_sparse_rows(estimator: "OnlineEstimator", x: Any, schema: Schema | None, *, reset: bool) -> Matrix | None:
    """Rows with text that are encoded already; None: a matrix of numbers."""
    own = getattr(x, "schema", None)
    if reset and own is not None:
        _learn_schema(estimator, own)
        return cast(Matrix, x)
    if (
        schema is not None
        and schema.sparse
        and is_plain_csr(x)
        and x.shape[1] == schema.width
        and own in (None, schema)
    ):
        return x
    if (reset and _declares_columns(estimator)) or own is not None or not (schema is None or schema.plain):
        raise ValueError("X is a sparse matrix; categories and texts are learned from a table or an array")
    return None


def encoded_pair(estimator: "OnlineEstimator", x: Any, late: Any) -> tuple[Any, Any]:
    """X and late X of a call, encoded by one schema if one of them is a table or the estimator has one."""
    schema: Schema | None = estimator.__dict__.get("_schema")
    tables = [None if isinstance(each, EncodedRows) else table_of(each) for each in (x, late)]
    if tables == [None, None] and (schema is None or isinstance(x, EncodedRows)):
        return x, late
    both = [
        ArrayTable(np.asarray(each)) if table is None else table for each, table in zip((x, late), tables, strict=True)
    ]
    if schema is None and "n_features_in_" in estimator.__dict__:
        schema = Schema.of_numbers(estimator.n_features_in_)
    elif schema is None:
        schema = infer_schema(both[0], estimator.categorical_features, estimator.text_features, estimator.group)
    first, second = (encode_table(schema, table) for table in both)
    return first, second


def _other_width(estimator: "OnlineEstimator", width: int) -> str:
    name = type(estimator).__name__
    return f"X has {width} features, but {name} is expecting {estimator.n_features_in_} features as input"


def _learn_schema(estimator: "OnlineEstimator", schema: Schema) -> None:
    """What scikit-learn has learned of the columns, and the schema if there is more to know."""
    estimator.n_features_in_ = len(schema.columns)
    if schema.named:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    if schema.named or not schema.plain:
        estimator._schema = schema


def _warn_about_names(estimator: "OnlineEstimator", schema: Schema, has_names: bool) -> None:
    """As scikit-learn does if columns are matched by their place."""
    if schema.named and not has_names:
        warnings.warn(
            f"X does not have valid feature names, but {type(estimator).__name__} was fitted with feature names",
            stacklevel=3,
        )
    elif has_names and not schema.named:
        warnings.warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names", stacklevel=3
        )


def check_values(x: Matrix, largest: float, *, nan: bool = False) -> None:
    """No infinity, nothing that overflows in the kernel, NaN only if `nan` in dense rows; names the first bad place."""
    values = x if isinstance(x, np.ndarray) else x.data
    bad = backend().first_beyond(values, largest)
    if bad >= 0 and nan and isinstance(x, np.ndarray) and np.isnan(x.flat[bad]):
        beyond = np.flatnonzero(np.abs(x) > largest)  # NaN is not
        bad = int(beyond[0]) if len(beyond) else -1
    if bad < 0:
        return
    if isinstance(x, np.ndarray):
        row, column = divmod(bad, x.shape[1])
    else:
        row, column = int(np.searchsorted(x.indptr, bad, side="right")) - 1, int(x.indices[bad])
    value = float(values.flat[bad])
    if np.isfinite(value):
        raise ValueError(
            f"X is {value:g} at row {row}, column {column}, beyond {largest:g} where the kernel overflows; "
            "nothing of this call was learned. Scale the features"
        )
    name = "NaN" if np.isnan(value) else "infinity"
    others = "; StreamClassifier and StreamRegressor take missing values" if np.isnan(value) else ""
    raise ValueError(
        f"X contains {name} at row {row}, column {column}; nothing of this call was learned. "
        f"Drop or impute such rows{others}"
    )


def check_weights(sample_weight: ArrayLike | None, rows: int) -> Array | None:
    """Finite, non-negative weights (n,), or None."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(rows, weights)
    weights = check_array(
        weights, ensure_2d=False, dtype=np.float64, order="C", ensure_all_finite=False, input_name="sample_weight"
    )
    if weights.ndim != 1 or len(weights) != rows:
        raise ValueError(f"sample_weight must have one weight for each of the {rows} rows; got shape {weights.shape}")
    bad = np.flatnonzero(~((weights >= 0) & (weights <= LARGEST_WEIGHT)))
    if len(bad):
        raise ValueError(
            f"sample_weight is {weights[bad[0]]} at row {bad[0]}; weights are finite, not negative and at most "
            f"{LARGEST_WEIGHT:g}"
        )
    return np.ascontiguousarray(weights)


def check_any_weight(weights: Array | None) -> None:
    """A fit needs a row that counts."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to fit")


def blocks(x: Matrix) -> list[slice]:
    """Pieces of a matrix that are learned or scored under the lock at a time."""
    sparse = not isinstance(x, np.ndarray)  # dense rows are made of these, so few at a time where they are wide
    rows = max(1, min(ROWS_PER_LOCK, DENSE_NUMBERS // x.shape[1])) if sparse else ROWS_PER_LOCK
    return slices(x.shape[0], rows)


def slices(rows: int, most: int) -> list[slice]:
    """So many rows in pieces of at most `most`."""
    return [slice(i, min(i + most, rows)) for i in range(0, rows, most)]


def blocks_for(learner: Learner, x: Matrix) -> Iterator[tuple[slice, Array | SparseRows]]:
    """The same pieces, with their rows as the learner takes them."""
    if learner.sparse:
        rows = SparseRows.of(x)
        yield from ((piece, rows[piece]) for piece in slices(len(rows), ROWS_PER_LOCK))
    else:
        yield from ((piece, dense(x, piece)) for piece in blocks(x))


def is_wide_and_sparse(x: Matrix) -> bool:
    """Whether rows like these are learned as their non-zeros.

    Up to 256 features a dense row costs little, and all experts learn on the features themselves.
    """
    return not isinstance(x, np.ndarray) and x.shape[1] > WIDE


def dense(x: Matrix, rows: slice) -> Array:
    """Rows of a dense or CSR matrix, dense and contiguous."""
    part = x[rows]
    return part if isinstance(part, np.ndarray) else np.ascontiguousarray(part.toarray())
