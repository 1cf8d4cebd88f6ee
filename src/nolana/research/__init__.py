"""Experiments of the paper, methods of the literature, data sets. Nothing of the product imports this package."""

import importlib
from types import ModuleType

__all__ = ["baselines", "comparison", "datasets", "paper", "peers", "rivals", "tuning"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
