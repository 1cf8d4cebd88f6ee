"""MLflow and pandas, loaded when they are first needed; the extra ``mlflow`` brings them."""

import importlib
from typing import Any

from nolana.errors import MissingExtraError

__all__ = ["mlflow", "pandas"]


def mlflow(module: str = "") -> Any:
    """A module of MLflow; MissingExtraError if it is not installed."""
    return _loaded(f"mlflow.{module}".rstrip("."))


def pandas() -> Any:
    """pandas, which mlflow-skinny does not bring."""
    return _loaded("pandas")


def _loaded(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("mlflow", "pandas"):
            raise
        text = f'nolana.mlflow needs the package {package}; pip install "nolana[mlflow]"'
        raise MissingExtraError(text, name=package) from None
