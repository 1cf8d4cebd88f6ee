"""Models in MLflow: the flavour ``nolana``, whose only artifact is the model file, and its pyfunc."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nolana
from nolana.errors import OptionError
from nolana.estimators.loading import load
from nolana.mlflow.requirements import mlflow
from nolana.mlflow.signature import PREDICT_METHODS, example_of, rows_of, schema_of, signature_of

__all__ = ["FLAVOR_NAME", "PyFunc", "load_model", "log_model", "save_model"]

FLAVOR_NAME = "nolana"
MODULE = "nolana.mlflow"  # which MLflow imports, and whose _load_pyfunc it calls
FILE = "model.nolana"


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    mlflow_model: Any = None,
    **options: Any,
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
    is_file = isinstance(model, str | os.PathLike)
    estimator = load(model) if is_file else model
    if not hasattr(estimator, "predict"):
        raise TypeError(f"{type(estimator).__name__} has no predict; log a classifier or a regressor")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        if is_file:
            shutil.copyfile(model, file)
        else:
            estimator.save(file)
        record.add_flavor(
            FLAVOR_NAME,
            nolana_version=nolana.__version__,
            estimator=type(estimator).__name__,
            columns=schema_of(estimator).describe() if schema_of(estimator).named else None,
            data=f"data/{FILE}",
        )
        pyfunc.save_model(
            path=os.fspath(path),
            loader_module=MODULE,
            data_path=str(file),
            mlflow_model=record,
            signature=signature_of(estimator) if signature is None else signature,
            input_example=example_of(estimator) if input_example is None else input_example,
            pip_requirements=requirements() if pip_requirements is None else list(pip_requirements),
            **options,
        )


def log_model(
    model: Any,
    name: str = "model",
    *,
    registered_model_name: str | None = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    **options: Any,
) -> Any:
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
    return mlflow("models").Model.log(
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


def load_model(model_uri: str, **objects: object) -> Any:
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
    return load(Path(folder) / flavors[FLAVOR_NAME]["data"], **objects)


def requirements() -> list[str]:
    """What a server that loads the model must install."""
    return [f"mlflow=={mlflow().__version__}", f"nolana=={nolana.__version__}"]


class PyFunc:
    """What `mlflow.pyfunc.load_model` returns wraps this object; it predicts and does not learn."""

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._schema = estimator, schema_of(estimator)

    def get_raw_model(self) -> Any:
        """The estimator."""
        return self._estimator

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> Any:
        """Predictions of a frame or an array; ``params={"predict_method": "predict_proba"}`` for probabilities."""
        method = (params or {}).get("predict_method", PREDICT_METHODS[0])
        if method not in PREDICT_METHODS or not hasattr(self._estimator, method):
            choices = ", ".join(name for name in PREDICT_METHODS if hasattr(self._estimator, name))
            raise OptionError("predict_method", method, "is not one of {expected}", expected=choices)
        return getattr(self._estimator, method)(rows_of(self._schema, data))


def _load_pyfunc(path: str) -> PyFunc:
    """The object that MLflow calls ``predict`` of."""
    return PyFunc(load(path))
