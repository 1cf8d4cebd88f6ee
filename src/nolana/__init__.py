"""nolana: nonlinear learning on streams, in fixed memory.

``import nolana`` loads NumPy and nothing heavier; everything else comes when it is first used.
"""

import os as _os
import sys as _sys

_IS_COMMAND = [_os.path.basename(name) for name in getattr(_sys, "argv", [])[:1]] == ["nolana"]
if _IS_COMMAND:
    # From here on Ctrl-C ends the command with code 130 and without a traceback, until nolana.cli handles it.
    # Python has loaded all these modules already: another import would leave more time for a traceback.
    import _signal  # type: ignore[import-not-found]

    _signal.signal(_signal.SIGINT, lambda *_: _os._exit(130))

import importlib  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if not _IS_COMMAND:
    import numpy as _numpy  # noqa: F401

if TYPE_CHECKING:
    from nolana import baselines, columns, datasets, errors, evaluate, experts, research, rivals, sources, streams
    from nolana.backend import backend_name, build_name
    from nolana.estimators import NolanaClassifier, NolanaRegressor, OnlineNystroem, StreamClassifier, StreamRegressor
    from nolana.estimators.loading import load
    from nolana.estimators.merging import merge

__version__ = "0.3.0"

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
    "columns",
    "datasets",
    "errors",
    "evaluate",
    "experts",
    "load",
    "merge",
    "mlflow",
    "research",
    "rivals",
    "sources",
    "spark",
    "streams",
]

_HOMES = {
    "NolanaClassifier": "nolana.estimators",
    "NolanaRegressor": "nolana.estimators",
    "OnlineNystroem": "nolana.estimators",
    "StreamClassifier": "nolana.estimators",
    "StreamRegressor": "nolana.estimators",
    "backend_name": "nolana.backend",
    "build_name": "nolana.backend",
    "load": "nolana.estimators.loading",
    "merge": "nolana.estimators.merging",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"nolana.{name}")
    raise AttributeError(f"module 'nolana' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
