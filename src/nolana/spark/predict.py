"""Predictions for the rows of a DataFrame; the model is sent to every executor once."""

import copy
import functools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from nolana.columns import EncodedRows
from nolana.errors import joined_problems
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.loading import load_with_extra
from nolana.metrics.label_index import Labels
from nolana.sources.tables import pyarrow
from nolana.spark.columns import Columns, Features, as_arrays, check_frame, learned_columns, pyspark
from nolana.spark.rows import RowReader, check_policy

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["PREDICTION", "PROBABILITY", "SECTION", "predict"]

SECTION = "spark"  # of a model file that `StreamingLearner` wrote
PREDICTION, PROBABILITY = "prediction", "probability"
ARRAY = "nolana_array"  # the vectors as arrays, while predictions are made
TYPES = {"i": "long", "u": "long", "f": "double", "b": "boolean"}  # of labels; all others are strings


def predict(
    df: "DataFrame",
    model: OnlineEstimator | str | os.PathLike[str],
    *,
    features: Features | None = None,
    on_bad_row: str = "error",
) -> "DataFrame":
    """The DataFrame with a column ``prediction``, and for a classifier ``probability``.

    ``probability`` is an array of the probabilities of ``model.classes_``, in their order. The model is broadcast once;
    rows are read in Arrow batches and keep their order. Like all of Spark's transformations it runs when its result is
    used.

    Parameters
    ----------
    df : the rows.
    model : a fitted estimator, or the path of a model file.
    features : columns, or one column of vectors or arrays. By default those that `fit` or
        `StreamingLearner` has learned from, or ``feature_names_in_``; for a model without names the only column of
        vectors or arrays, or all columns if they are as many as the model has features.
    on_bad_row : "error": an infinity in a feature, or a null or NaN for a model of numbers, ends the job with its
        partition, row and column; "skip": such rows are left out.

    Examples
    --------
    >>> import nolana
    >>> nolana.spark.predict(df, model, features=["width", "height"]).show()  # doctest: +SKIP
    """
    check_frame(df)
    check_policy(on_bad_row)
    if isinstance(model, str | os.PathLike):
        model, extra = load_with_extra(model)
        features = extra.get(SECTION, {}).get("features") if features is None else features
    columns = learned_columns(df, model, features)
    taken = [name for name in (PREDICTION, PROBABILITY, ARRAY) if name in df.columns]
    if taken:
        raise ValueError(f"the DataFrame already has a column {taken[0]!r}; rename it, or drop it before")
    own = copy.deepcopy(model)
    own.__dict__.pop("feature_names_in_", None)  # the columns are selected by name here
    rows = df.withColumn(ARRAY, as_arrays(df, columns.features[0])) if columns.vector else df
    task = functools.partial(_predict, df.sparkSession.sparkContext.broadcast(own), columns, on_bad_row == "skip")
    return rows.mapInArrow(task, _schema(df, own))


def _schema(df: "DataFrame", model: OnlineEstimator) -> "StructType":
    """The columns of the DataFrame, and those of the predictions."""
    types = pyspark("sql.types")
    schema: StructType = types.StructType(list(df.schema.fields))
    numbers = types.ArrayType(types.DoubleType())
    if hasattr(model, "classes_"):
        kind = TYPES.get(model.classes_.dtype.kind, "string")
    else:
        learned = model.__dict__.get("_schema")
        row = np.zeros((1, model.n_features_in_ if learned is None else learned.width))
        row = row if learned is None else EncodedRows.of(row, learned)
        kind = numbers if np.ndim(model.predict(row)) == 2 else "double"
    schema = schema.add(PREDICTION, kind)
    return schema.add(PROBABILITY, numbers) if hasattr(model, "predict_proba") else schema


def _predict(
    broadcast: "Broadcast[OnlineEstimator]", columns: Columns, skip: bool, batches: Iterator["pa.RecordBatch"]
) -> Iterator["pa.RecordBatch"]:
    """The task of one partition."""
    arrow, model = pyarrow(), broadcast.value
    place = f"partition {pyspark().TaskContext.get().partitionId()}"
    reader = RowReader(columns, place, array=ARRAY if columns.vector else None)
    for batch in batches:
        rows = reader.read(batch)
        if rows.bad and not skip:
            raise joined_problems([row.error for row in rows.bad])
        rest = batch if rows.valid.all() else batch.filter(arrow.array(rows.valid))
        names = [name for name in rest.schema.names if name != ARRAY]
        arrays = [rest.column(name) for name in names]
        if len(rows.x):
            arrays += [_array(model.predict(rows.x))]
            arrays += [_array(model.predict_proba(rows.x))] if hasattr(model, "predict_proba") else []
            names += [PREDICTION, PROBABILITY][: len(arrays) - len(names)]
            yield arrow.RecordBatch.from_arrays(arrays, names=names)


def _array(values: Labels) -> "pa.Array":
    """Labels or numbers (n,) or (n, k) for Arrow."""
    arrow = pyarrow()
    if values.ndim == 2:
        offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        return arrow.ListArray.from_arrays(offsets, np.ascontiguousarray(values, dtype=np.float64).ravel())
    kind = TYPES.get(values.dtype.kind)
    if kind is None:
        return arrow.array([str(value) for value in values], arrow.string())
    return arrow.array(values, {"long": arrow.int64(), "double": arrow.float64(), "boolean": arrow.bool_()}[kind])
