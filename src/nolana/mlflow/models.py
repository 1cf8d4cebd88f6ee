"""Models in MLflow: the flavour ``nolana``, whose only artifact is the model file, its signature and its pyfunc.

A table has a column of the type ``any`` for each column of the model: nolana checks the values itself, as its
estimators do. The types of MLflow would refuse integers in a column of numbers and pandas categories in a column of
strings, and read a missing boolean as false. Rows of numbers without names are a tensor of float64 with d columns.

MLflow and pandas are loaded when they are first needed; the extra ``mlflow`` brings them.
"""

import importlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

import nolana
from nolana.columns import Column, Schema
from nolana.errors import MissingExtraError, OptionError
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.loading import load
from nolana.metrics.label_index import Labels

if TYPE_CHECKING:
    from mlflow.models import Model, ModelSignature
    from mlflow.models.model import ModelInfo

__all__ = ["FLAVOR_NAME", "PyFunc", "load_model", "log_model", "mlflow", "save_model", "signature_of"]

FLAVOR_NAME = "nolana"
MODULE = "nolana.mlflow"  # which MLflow imports, and whose _load_pyfunc it calls
FILE = "model.nolana"
PREDICT_METHODS = ("predict", "predict_proba", "decision_function")
EXAMPLES = {"boolean": True, "category": "unknown", "date": "2025-01-01T00:00:00", "text": "some words"}


def mlflow(module: str = "") -> ModuleType:
    """A module of MLflow; MissingExtraError if it is not installed."""
    return _loaded(f"mlflow.{module}".rstrip("."))


def _loaded(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("mlflow", "pandas"):
            raise
        text = f'nolana.mlflow needs the package {package}; pip install "nolana[mlflow]"'
        raise MissingExtraError(text, name=package) from None


def save_model(
    model: OnlineEstimator | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    signature: "ModelSignature | None" = None,
    input_example: object = None,
    pip_requirements: Sequence[str] | None = None,
    mlflow_model: "Model | None" = None,
    **options: object,
) -> None:
    """Write a model to a directory, as MLflow stores models.

    Parameters
    ----------
    model : estimator or path
        A fitted estimator, or a model file of ``estimator.save``, `nolana learn` or `nolana serve`; a file is copied as
        it is, with its score and position.
    path : str or path
        The directory, which must be empty or not exist.
    signature : mlflow.models.ModelSignature, default=None
        None: `signature_of` the model.
    input_example : default=None
        None: a row made from the columns of the model.
    pip_requirements : list of str, default=None
        What a server must install. None: this version of nolana.
    mlflow_model : mlflow.models.Model, default=None
        The model to which the flavour is added.
    options : further arguments of `mlflow.pyfunc.save_model`.

    Examples
    --------
    >>> nolana.mlflow.save_model(model, "saved")                # doctest: +SKIP
    >>> mlflow.pyfunc.load_model("saved").predict(X)            # doctest: +SKIP
    """
    pyfunc, record = mlflow("pyfunc"), mlflow_model or mlflow("models").Model()
    estimator: OnlineEstimator = load(model) if isinstance(model, str | os.PathLike) else model
    if not hasattr(estimator, "predict"):
        raise TypeError(f"{type(estimator).__name__} has no predict; log a classifier or a regressor")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        if isinstance(model, str | os.PathLike):
            shutil.copyfile(model, file)
        else:
            estimator.save(file)
        schema = _schema_of(estimator)
        record.add_flavor(
            FLAVOR_NAME,
            nolana_version=nolana.__version__,
            estimator=type(estimator).__name__,
            columns=schema.describe() if schema.named else None,
            data=f"data/{FILE}",
        )
        required = [f"mlflow=={mlflow().__version__}", f"nolana=={nolana.__version__}"]
        pyfunc.save_model(
            path=os.fspath(path),
            loader_module=MODULE,
            data_path=str(file),
            mlflow_model=record,
            signature=signature_of(estimator) if signature is None else signature,
            input_example=_example_of(estimator) if input_example is None else input_example,
            pip_requirements=required if pip_requirements is None else list(pip_requirements),
            **options,
        )


def log_model(
    model: OnlineEstimator | str | os.PathLike[str],
    name: str = "model",
    *,
    registered_model_name: str | None = None,
    signature: "ModelSignature | None" = None,
    input_example: object = None,
    pip_requirements: Sequence[str] | None = None,
    **options: object,
) -> "ModelInfo":
    """Log a model to the active run of MLflow, or to a new one, and return its `mlflow.models.model.ModelInfo`.

    Parameters
    ----------
    model : estimator or path
        As for `save_model`.
    name : str, default="model"
        The name of the logged model.
    registered_model_name : str, default=None
        Registers a version of the model under this name.
    signature, input_example, pip_requirements : as for `save_model`.
    options : further arguments of `mlflow.models.Model.log` (``step``, ``tags``, ``metadata``, ``params``, ``run_id``).

    Examples
    --------
    >>> with mlflow.start_run():                                # doctest: +SKIP
    ...     info = nolana.mlflow.log_model(model, registered_model_name="visits")
    >>> nolana.mlflow.load_model(info.model_uri).learn(X, y)    # doctest: +SKIP
    """
    info: ModelInfo = mlflow("models").Model.log(
        artifact_path=None,
        name=name,
        flavor=nolana.mlflow,
        registered_model_name=registered_model_name,
        model=model,
        signature=signature,
        input_example=input_example,
        pip_requirements=pip_requirements,
        **options,
    )
    return info


def load_model(model_uri: str, **objects: object) -> OnlineEstimator:
    """The estimator of a logged model, which continues to learn bit for bit; no code of the model is run.

    Parameters
    ----------
    model_uri : str
        "models:/visits/3", "models:/visits@champion", ``info.model_uri`` or the path of a directory.
    objects : what a file cannot hold, as for `nolana.load`.
    """
    folder = mlflow("artifacts").download_artifacts(artifact_uri=os.fspath(model_uri))
    flavors = mlflow("models").Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        others = ", ".join(flavors)
        raise ValueError(
            f"{model_uri} is no model of nolana: its flavours are {others}; mlflow.pyfunc.load_model loads it"
        )
    estimator: OnlineEstimator = load(Path(folder) / flavors[FLAVOR_NAME]["data"], **objects)
    return estimator


class PyFunc:
    """What `mlflow.pyfunc.load_model` returns wraps this object; it predicts and does not learn."""

    def __init__(self, estimator: OnlineEstimator) -> None:
        self._estimator, self._schema = estimator, _schema_of(estimator)

    def get_raw_model(self) -> OnlineEstimator:
        """The estimator."""
        return self._estimator

    def predict(self, data: object, params: Mapping[str, str] | None = None) -> Labels:
        """Predictions of a frame or an array; ``params={"predict_method": "predict_proba"}`` for probabilities."""
        method = (params or {}).get("predict_method", PREDICT_METHODS[0])
        if method not in PREDICT_METHODS or not hasattr(self._estimator, method):
            choices = ", ".join(name for name in PREDICT_METHODS if hasattr(self._estimator, name))
            raise OptionError("predict_method", method, "is not one of {expected}", expected=choices)
        predicted: Labels = getattr(self._estimator, method)(_rows_of(self._schema, data))
        return predicted


def _load_pyfunc(path: str) -> PyFunc:
    """The object that MLflow calls ``predict`` of."""
    return PyFunc(load(path))


# Rows


def _schema_of(model: OnlineEstimator) -> Schema:
    """The columns of a fitted estimator; one that learns numbers alone may have names for them."""
    own: Schema | None = getattr(model, "schema_", None)
    if own is not None and (own.named or not own.plain):
        return own
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return Schema(tuple(map(Column, names)))


def _is_tensor(schema: Schema) -> bool:
    """Whether rows are numbers without names."""
    return schema.plain and not schema.named


def _rows_of(schema: Schema, data: object) -> object:
    """What pyfunc was called with, as the estimator takes it: columns without names are an array."""
    return data.to_numpy() if not schema.named and hasattr(data, "to_numpy") else data


def _example_of(model: OnlineEstimator) -> object:
    """One row: a frame, or an array if columns have no names; None if the model has learned wide sparse rows.

    Numbers are those that the model scales around, categories are new to it.
    """
    schema = _schema_of(model)
    centre = model._learner.centre()
    if _is_tensor(schema):
        return centre[None] if len(centre) == len(schema.columns) else None
    numbers = [0.0] * schema.dense_width if schema.sparse else centre.tolist()
    row = {
        column.name: float(f"{numbers[place.start]:.6g}") if column.kind == "number" else EXAMPLES.get(column.kind)
        for column, place in zip(schema.columns, schema.places, strict=True)
    }
    return _loaded("pandas").DataFrame([row])  # mlflow-skinny does not bring it


def signature_of(model: OnlineEstimator) -> "ModelSignature":
    """The `mlflow.models.ModelSignature` of a fitted estimator, from the columns that it has learned.

    Its parameter ``predict_method`` is "predict" (the default), "predict_proba" or "decision_function".
    """
    types, models = mlflow("types.schema"), mlflow("models")
    schema, example = _schema_of(model), _example_of(model)
    if _is_tensor(schema):
        inputs = [types.TensorSpec(np.dtype(np.float64), (-1, len(schema.columns)))]
    else:
        named = [{"name": column.name} if schema.named else {} for column in schema.columns]
        inputs = [types.ColSpec(types.AnyType(), **name) for name in named]
    outputs = None
    if example is not None:
        outputs = models.infer_signature(model_output=model.predict(_rows_of(schema, example))).outputs
    method = types.ParamSpec("predict_method", types.DataType.string, PREDICT_METHODS[0])
    signature: ModelSignature = models.ModelSignature(types.Schema(inputs), outputs, types.ParamSchema([method]))
    return signature
