"""Predictions for the rows of a DataFrame; the model is sent to every executor once."""

import copy
import functools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from nolana.columns import EncodedRows
from nolana.errors import joined_problems
from nolana.estimators.loading import load_with_extra
from nolana.sources.tables import pyarrow
from nolana.spark.columns import Columns, Features, as_arrays, learned_columns
from nolana.spark.requirements import check_frame, pyspark
from nolana.spark.rows import RowReader, check_policy

__all__ = ["PREDICTION", "PROBABILITY", "SECTION", "predict"]

SECTION = "spark"  # of a model file that `StreamingLearner` wrote
PREDICTION, PROBABILITY = "prediction", "probability"
ARRAY = "nolana_array"  # the vectors as arrays, while predictions are made
TYPES = {"i": "long", "u": "long", "f": "double", "b": "boolean"}  # of labels; all others are strings


def predict(df: Any, model: Any, *, features: Features | None = None, on_bad_row: str = "error") -> Any:
    """The DataFrame with a column ``prediction``, and for a classifier ``probability``.

    ``probability`` is an array of the probabilities of ``model.classes_``, in their order. The model is broadcast once;
    rows are read in Arrow batches and keep their order. Like all of Spark's transformations it runs when its result is
    used.

    Parameters
    ----------
    df : the rows.
    model : a fitted estimator, or the path of a model file.
    features : columns of numbers, or one column of vectors or arrays. By default those that `fit` or
        `StreamingLearner` has learned from, or ``feature_names_in_``; for a model without names the only column of
        vectors or arrays, or all columns if they are as many as the model has features.
    on_bad_row : "error": a null, NaN or infinity in a feature ends the job with its partition, row and column;
        "skip": such rows are left out.

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


def _schema(df: Any, model: Any) -> Any:
    """The columns of the DataFrame, and those of the predictions."""
    types = pyspark("sql.types")
    schema = types.StructType(list(df.schema.fields))
    classes = getattr(model, "classes_", None)
    numbers = types.ArrayType(types.DoubleType())
    kind: Any = "double" if classes is None else TYPES.get(classes.dtype.kind, "string")
    learned = model.__dict__.get("_schema")
    row = (
        np.zeros((1, int(model.n_features_in_)))
        if learned is None
        else EncodedRows.of(np.zeros((1, learned.width)), learned)
    )
    if classes is None and np.ndim(model.predict(row)) == 2:
        kind = numbers
    schema = schema.add(PREDICTION, kind)
    return schema.add(PROBABILITY, numbers) if hasattr(model, "predict_proba") else schema


def _predict(broadcast: Any, columns: Columns, skip: bool, batches: Iterator[Any]) -> Iterator[Any]:
    """The task of one partition."""
    pa, model = pyarrow(), broadcast.value
    place = f"partition {pyspark().TaskContext.get().partitionId()}"
    reader = RowReader(columns, place, array=ARRAY if columns.vector else None)
    for batch in batches:
        rows = reader.read(batch)
        if rows.bad and not skip:
            raise joined_problems([row.error for row in rows.bad])
        rest = batch if rows.valid.all() else batch.filter(pa.array(rows.valid))
        names = [name for name in rest.schema.names if name != ARRAY]
        arrays = [rest.column(name) for name in names]
        if len(rows.x):
            arrays += [_array(pa, model.predict(rows.x))]
            arrays += [_array(pa, model.predict_proba(rows.x))] if hasattr(model, "predict_proba") else []
            names += [PREDICTION, PROBABILITY][: len(arrays) - len(names)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


def _array(pa: Any, values: Any) -> Any:
    """Labels or numbers (n,) or (n, k) for Arrow."""
    if values.ndim == 2:
        offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        return pa.ListArray.from_arrays(offsets, np.ascontiguousarray(values, dtype=np.float64).ravel())
    kind = TYPES.get(values.dtype.kind)
    if kind is None:
        return pa.array([str(value) for value in values], pa.string())
    return pa.array(values, {"long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}[kind])
