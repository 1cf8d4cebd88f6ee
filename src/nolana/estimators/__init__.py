"""scikit-learn estimators on top of the learners, loaded when they are first used."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nolana.estimators.classifier import NolanaClassifier
    from nolana.estimators.regressor import NolanaRegressor
    from nolana.estimators.stream import StreamClassifier, StreamRegressor
    from nolana.estimators.transformer import OnlineNystroem

__all__ = ["NolanaClassifier", "NolanaRegressor", "OnlineNystroem", "StreamClassifier", "StreamRegressor"]

_HOMES = {
    "NolanaClassifier": "classifier",
    "NolanaRegressor": "regressor",
    "OnlineNystroem": "transformer",
    "StreamClassifier": "stream",
    "StreamRegressor": "stream",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
