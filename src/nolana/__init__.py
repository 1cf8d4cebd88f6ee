"""nolana: nonlinear learning on streams, in fixed memory.

``import nolana`` loads NumPy and nothing heavier; everything else comes when it is first used.
"""

from nolana._command import IS_COMMAND  # isort: skip  (it handles Ctrl-C while the rest is loaded)

import importlib
from typing import TYPE_CHECKING, Any

if not IS_COMMAND:
    import numpy as _numpy  # noqa: F401

if TYPE_CHECKING:
    from nolana import baselines, datasets, errors, evaluate, experts, rivals, streams
    from nolana._backend import backend_name, build_name
    from nolana.estimators import NolanaClassifier, NolanaRegressor, OnlineNystroem, StreamClassifier, StreamRegressor
    from nolana.loading import load

__version__ = "0.1.0"

__all__ = [
    "NolanaClassifier",
    "NolanaRegressor",
    "OnlineNystroem",
    "StreamClassifier",
    "StreamRegressor",
    "__version__",
    "backend_name",
    "baselines",
    "build_name",
    "datasets",
    "errors",
    "evaluate",
    "experts",
    "load",
    "rivals",
    "streams",
]

_HOMES = {
    "NolanaClassifier": "nolana.estimators",
    "NolanaRegressor": "nolana.estimators",
    "OnlineNystroem": "nolana.estimators",
    "StreamClassifier": "nolana.estimators",
    "StreamRegressor": "nolana.estimators",
    "backend_name": "nolana._backend",
    "build_name": "nolana._backend",
    "load": "nolana.loading",
}
_DEPRECATED = ("trivial",)  # modules whose import warns


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__ or name in _DEPRECATED:
        return importlib.import_module(f"nolana.{name}")
    raise AttributeError(f"module 'nolana' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
