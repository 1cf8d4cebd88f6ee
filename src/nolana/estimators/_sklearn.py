"""The parts of scikit-learn that the estimators are built on, loaded when they are first used.

Loading scikit-learn takes most of the start-up time of a command (2 s of CPU time). A process that only learns and
predicts rows that it has read itself calls `use_stand_ins` before it loads the estimators: they are then built on the
small classes below, which do what such rows need. Such estimators are not for scikit-learn's own tools.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["use_stand_ins"]

HOMES = {
    "BaseEstimator": "sklearn.base",
    "ClassNamePrefixFeaturesOutMixin": "sklearn.base",
    "ClassifierMixin": "sklearn.base",
    "NotFittedError": "sklearn.exceptions",
    "RegressorMixin": "sklearn.base",
    "TransformerMixin": "sklearn.base",
    "available_if": "sklearn.utils.metaestimators",
    "check_array": "sklearn.utils.validation",
    "check_classification_targets": "sklearn.utils.multiclass",
    "check_is_fitted": "sklearn.utils.validation",
    "check_random_state": "sklearn.utils",
    "column_or_1d": "sklearn.utils.validation",
    "is_classifier": "sklearn.base",
    "validate_data": "sklearn.utils.validation",
}

_stand_ins: dict[str, object] = {}  # in use, by name


def use_stand_ins() -> None:
    """From now on this process works without scikit-learn, unless it is loaded already."""
    if "sklearn" not in sys.modules and "nolana.estimators.base" not in sys.modules:
        _stand_ins.update(STAND_INS)


def __getattr__(name: str) -> Any:
    if name in _stand_ins:
        return _stand_ins[name]
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _stand_ins:
        return _loaded_when_called(name)
    return getattr(importlib.import_module(HOMES[name]), name)


def _loaded_when_called(name: str) -> Callable[..., object]:
    """A function of scikit-learn that most commands do not need."""

    def call(*arguments: object, **keywords: object) -> object:
        return getattr(importlib.import_module(HOMES[name]), name)(*arguments, **keywords)

    return call


class _Estimator:
    """Parameters by name."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {name: getattr(self, name) for name in self._get_param_names()}

    def __getstate__(self) -> dict[str, object]:
        return dict(self.__dict__)


class _Classifier:
    pass


class _Regressor:
    pass


class _Transformer:
    pass


class _NamedFeatures:
    pass


class _NotFittedError(ValueError, AttributeError):
    pass


class _Available:
    """A method that an object has where a condition holds."""

    def __init__(self, method: Callable[..., object], condition: Callable[[object], bool]) -> None:
        self._method, self._condition = method, condition

    def __get__(self, owner: object, kind: type) -> object:
        if owner is not None and not self._condition(owner):
            raise AttributeError(f"this {kind.__name__} has no {self._method.__name__!r}")
        return self._method.__get__(owner, kind)


def _available_if(condition: Callable[[object], bool]) -> Callable[[Callable[..., object]], _Available]:
    return lambda method: _Available(method, condition)


def _check_is_fitted(estimator: Any) -> None:
    if not estimator.__sklearn_is_fitted__():
        raise _NotFittedError(f"this {type(estimator).__name__} has learned nothing yet")


def _check_random_state(seed: int | np.random.RandomState | None) -> np.random.RandomState:
    try:
        return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)
    except TypeError:
        raise ValueError(f"{seed!r} cannot be used to seed a numpy.random.RandomState instance") from None


def _validate_data(estimator: Any, x: Any, *, reset: bool, **_: Any) -> Any:
    sparse = getattr(x, "format", None) == "csr"
    x = x.astype(np.float64, copy=False) if sparse else np.asarray(x, dtype=np.float64, order="C")
    if reset and x.ndim == 2:
        estimator.n_features_in_ = x.shape[1]
    if x.ndim != 2 or x.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X has shape {x.shape}, expected {estimator.n_features_in_} features")
    return x


STAND_INS = {
    "BaseEstimator": _Estimator,
    "ClassNamePrefixFeaturesOutMixin": _NamedFeatures,
    "ClassifierMixin": _Classifier,
    "NotFittedError": _NotFittedError,
    "RegressorMixin": _Regressor,
    "TransformerMixin": _Transformer,
    "available_if": _available_if,
    "check_is_fitted": _check_is_fitted,
    "check_random_state": _check_random_state,
    "is_classifier": lambda estimator: isinstance(estimator, _Classifier),
    "validate_data": _validate_data,
}
