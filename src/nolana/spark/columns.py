"""The columns of a DataFrame that are learned, checked against its schema before any job runs.

pyspark is loaded when it is first needed; the extra ``spark`` brings it.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING

from nolana.columns import Schema
from nolana.errors import ConflictError, MissingExtraError
from nolana.estimators._sklearn import is_classifier
from nolana.estimators.base import OnlineEstimator
from nolana.sources.options import ColumnKind, LabelKind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["Columns", "Features", "check_frame", "choose", "learned_columns", "pyspark"]

NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")
INTEGERS = NUMBERS[:4]
TEXTS = ("string", "char", "varchar")
Features = str | Sequence[str]


def pyspark(module: str = "") -> ModuleType:
    """A module of pyspark; MissingExtraError if it is not installed."""
    try:
        return importlib.import_module(f"pyspark.{module}".rstrip("."))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise MissingExtraError('nolana.spark needs the package pyspark; pip install "nolana[spark]"') from None


def check_frame(df: object) -> None:
    """TypeError if this is no DataFrame of a session with a SparkContext."""
    if isinstance(df, pyspark("sql.classic.dataframe").DataFrame):
        return
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise TypeError(
            "this DataFrame is of Spark Connect, which has neither broadcasts nor RDDs; use a classic session: "
            'SparkSession.builder.master("...").getOrCreate()'
        )
    raise TypeError(f"expected a DataFrame of Spark, got {type(df).__name__}; spark.createDataFrame(...) makes one")


@dataclass(frozen=True)
class Columns:
    """The features and the label, by name.

    Parameters
    ----------
    features : columns of numbers, of true and false, and, for a model that takes tables, of strings and dates; or one
        column of vectors or arrays of numbers.
    kinds : of each of the features.
    vector : whether the feature is a column of vectors or arrays.
    tables : whether the model takes categories, dates and missing values.
    schema : of a model that has learned a table.
    label, labels : the column of the label and its type; None: there is none.
    width : numbers in a vector; None: as many as in the first row.
    """

    features: tuple[str, ...]
    kinds: tuple[ColumnKind, ...]
    vector: bool = False
    tables: bool = False
    schema: Schema | None = None
    label: str | None = None
    labels: LabelKind | None = None
    width: int | None = None

    def project(self, df: "DataFrame", *others: str) -> "DataFrame":
        """A DataFrame of these columns and of some others alone, with vectors as arrays."""
        names = dict.fromkeys([*self.features, *([] if self.label is None else [self.label]), *others])
        return df.select(*(as_arrays(df, name).alias(name) for name in names))


def as_arrays(df: "DataFrame", name: str) -> "Column":
    """A column; vectors of ``pyspark.ml`` and ``pyspark.mllib`` as arrays."""
    column: Column = pyspark("sql.functions").col(quoted(name))
    if is_vector(df.schema[name].dataType):
        column = pyspark("ml.functions").vector_to_array(column)
    return column


def quoted(name: str) -> str:
    """A name that may have dots in it, for ``functions.col``."""
    return f"`{name.replace('`', '``')}`"


def is_vector(kind: "DataType") -> bool:
    """Whether a type of Spark is the vector of its machine learning libraries."""
    return kind.typeName() == "vector" or type(kind).__name__ == "VectorUDT"


def choose(df: "DataFrame", features: Features | None, label: str | None, model: OnlineEstimator | None) -> Columns:
    """The columns to learn from; by default the last column is the label, and all others are features."""
    names = df.columns
    label = names[-1] if label is None else label
    chosen = choose_features(df, [name for name in names if name != label] if features is None else features, model)
    if label in chosen.features:
        raise ValueError(f"label={label!r} is one of the features too; leave it out of features")
    kind = label_kind(df, label, model)
    return _of_width(replace(chosen, label=label, labels=kind), getattr(model, "n_features_in_", None))


def choose_features(df: "DataFrame", features: Features, model: OnlineEstimator | None) -> Columns:
    """The columns of features, without a label; model None: the default one."""
    tables = model is None or bool(model._takes_tables)
    schema = None if model is None else model.__dict__.get("_schema")
    of_numbers = not tables or (schema is None and hasattr(model, "n_features_in_"))
    single = [features] if isinstance(features, str) else list(features)
    if not single:
        raise ValueError("features is empty; name the columns to learn from")
    if len(set(single)) < len(single):
        raise ValueError(f"features={single} names a column twice")
    kinds = [_kind(df, name, not of_numbers) for name in single]
    vectors = [name for name, (_, vector) in zip(single, kinds, strict=True) if vector]
    if vectors and len(single) > 1:
        raise ValueError(
            f"features: column {vectors[0]!r} has vectors or arrays, so it must be the only one; "
            "pyspark.ml.feature.VectorAssembler joins several columns"
        )
    if schema is not None and schema.named and set(schema.names) == set(single):  # in any order
        single = [str(name) for name in schema.names]
        kinds = [_kind(df, name, not of_numbers) for name in single]
    kept = schema if not vectors and schema is not None and len(schema.columns) == len(single) else None
    return Columns(tuple(single), tuple(kind for kind, _ in kinds), bool(vectors), tables, kept)


def _kind(df: "DataFrame", name: str, tables: bool) -> tuple[ColumnKind, bool]:
    """The kind of a feature, and whether it is a column of vectors or arrays of that kind."""
    kind = _type(df, name, "features")
    if is_vector(kind):
        return "number", True
    inner: DataType = getattr(kind, "elementType", kind)  # of an array
    if inner.typeName() in NUMBERS or inner.typeName().startswith("decimal"):
        return "number", inner is not kind
    if inner.typeName() == "boolean":
        return "bool", inner is not kind
    is_date, is_text = inner.typeName().startswith(("timestamp", "date")), inner.typeName() in TEXTS
    if tables and inner is kind and (is_date or is_text):
        return "date" if is_date else "text", False
    remedy = "leave it out of features"
    if is_text:
        remedy += ", or turn it into numbers with pyspark.ml.feature.StringIndexer and OneHotEncoder"
    elif is_date:
        remedy += ", or turn it into numbers with functions.hour, functions.dayofweek or functions.dayofyear"
    raise ValueError(
        f"features: column {name!r} has type {kind.simpleString()}; expected a number, true or false, a vector, or an "
        f"array of numbers. Please {remedy}"
    )


def label_kind(df: "DataFrame", label: str, model: OnlineEstimator | None) -> LabelKind:
    """The type of the labels, by the schema alone; the targets of a regressor are numbers."""
    kind = _type(df, label, "label")
    name = "decimal" if kind.typeName().startswith("decimal") else kind.typeName()
    if model is not None and not is_classifier(model):
        if name not in NUMBERS:
            raise ValueError(
                f"label: column {label!r} has type {kind.simpleString()}; {type(model).__name__} learns numbers. "
                "Choose another label, or a classifier"
            )
        return "float"
    if name in NUMBERS:
        return "int" if name in INTEGERS else "float"
    if name in ("boolean", "string"):
        return "bool" if name == "boolean" else "text"
    raise ValueError(
        f"label: column {label!r} has type {kind.simpleString()}; expected a number, true or false, or a string"
    )


def _type(df: "DataFrame", name: str, argument: str) -> "DataType":
    if name not in df.columns:
        raise ValueError(
            f"{argument}: there is no column {name!r}; the DataFrame has {', '.join(map(repr, df.columns))}"
        )
    if df.columns.count(name) > 1:
        raise ValueError(f"{argument}: several columns are named {name!r}; rename them with df.toDF(...)")
    return df.schema[name].dataType


def learned_columns(df: "DataFrame", model: OnlineEstimator, features: Features | None) -> Columns:
    """The features to predict from: those specified, those the model has learned, or those that fit its width."""
    if features is None:
        features = getattr(model, "spark_features_", None)
    if features is None and hasattr(model, "feature_names_in_"):
        features = [str(name) for name in model.feature_names_in_]
    if features is None:
        features = _fitting(df, int(model.n_features_in_))
    return _of_width(choose_features(df, features, model), model.n_features_in_)


def _of_width(columns: Columns, width: int | None) -> Columns:
    """The same columns for a model that has learned so many features; ConflictError if they are not as many."""
    if width is not None and not columns.vector and len(columns.features) != width:
        raise ConflictError(f"features names {len(columns.features)} columns, but the model has learned {width}")
    return replace(columns, width=None if width is None else int(width))


def _fitting(df: "DataFrame", width: int) -> Features:
    """For a model that knows no names: the only column of vectors, or all columns if they are as many."""
    vectors = [f.name for f in df.schema.fields if is_vector(f.dataType) or f.dataType.typeName() == "array"]
    if len(vectors) == 1:
        return str(vectors[0])
    if not vectors and len(df.columns) == width:
        return list(df.columns)
    raise ValueError(
        f"the model has learned {width} features without names, and the DataFrame has the columns "
        f"{', '.join(map(repr, df.columns))}; name them: predict(df, model, features=[...])"
    )
