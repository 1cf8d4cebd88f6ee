"""What a model takes and returns, as MLflow describes it: its signature and an example.

A table has a column of the type ``any`` for each column of the model: nolana checks the values itself, as its
estimators do. The types of MLflow would refuse integers in a column of numbers and pandas categories in a column of
strings, and read a missing boolean as false. Rows of numbers without names are a tensor of float64 with d columns.
"""

from typing import Any

import numpy as np

from nolana.columns import Column, Schema
from nolana.mlflow.requirements import mlflow, pandas

__all__ = ["PREDICT_METHODS", "example_of", "rows_of", "schema_of", "signature_of"]

PREDICT_METHODS = ("predict", "predict_proba", "decision_function")
EXAMPLES = {"boolean": True, "category": "unknown", "date": "2025-01-01T00:00:00", "text": "some words"}


def schema_of(model: Any) -> Schema:
    """The columns of a fitted estimator; one that learns numbers alone may have names for them."""
    own: Schema | None = getattr(model, "schema_", None)
    if own is not None and (own.named or not own.plain):
        return own
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return Schema(tuple(map(Column, names)))


def is_tensor(schema: Schema) -> bool:
    """Whether rows are numbers without names."""
    return schema.plain and not schema.named


def rows_of(schema: Schema, data: Any) -> Any:
    """What pyfunc was called with, as the estimator takes it: columns without names are an array."""
    return data.to_numpy() if not schema.named and hasattr(data, "to_numpy") else data


def example_of(model: Any) -> Any:
    """One row: a frame, or an array if columns have no names; None if the model has learned wide sparse rows.

    Numbers are those that the model scales around, categories are new to it.
    """
    schema = schema_of(model)
    centre = model._learner.centre()
    if is_tensor(schema):
        return centre[None] if len(centre) == len(schema.columns) else None
    numbers = [0.0] * schema.dense_width if schema.sparse else centre.tolist()
    row = {
        column.name: float(f"{numbers[place.start]:.6g}") if column.kind == "number" else EXAMPLES.get(column.kind)
        for column, place in zip(schema.columns, schema.places, strict=True)
    }
    return pandas().DataFrame([row])


def signature_of(model: Any) -> Any:
    """The `mlflow.models.ModelSignature` of a fitted estimator, from the columns that it has learned.

    Its parameter ``predict_method`` is "predict" (the default), "predict_proba" or "decision_function".
    """
    types, models = mlflow("types.schema"), mlflow("models")
    schema, example = schema_of(model), example_of(model)
    if is_tensor(schema):
        inputs = [types.TensorSpec(np.dtype(np.float64), (-1, len(schema.columns)))]
    else:
        named = [{"name": column.name} if schema.named else {} for column in schema.columns]
        inputs = [types.ColSpec(types.AnyType(), **name) for name in named]
    outputs = None
    if example is not None:
        outputs = models.infer_signature(model_output=model.predict(rows_of(schema, example))).outputs
    method = types.ParamSpec("predict_method", types.DataType.string, PREDICT_METHODS[0])
    return models.ModelSignature(types.Schema(inputs), outputs, types.ParamSchema([method]))
