"""Methods by name: what ``nolana learn --method`` runs, and whose estimators a model file may hold.

Methods of other packages are plug-ins: a module of `PLUGINS` has a function ``catalogue()`` that returns them by name.
It is imported when a method is asked for that nolana itself does not have.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nolana.errors import OptionError
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.classifier import NolanaClassifier
from nolana.estimators.regressor import NolanaRegressor
from nolana.estimators.stream import StreamClassifier, StreamRegressor

__all__ = ["NOLANA", "PLUGINS", "STREAM", "Method", "method_by_name", "method_of", "methods"]

PLUGINS = ("nolana.research.rivals",)


@dataclass(frozen=True)
class Method:
    """A method with its estimators.

    Parameters
    ----------
    name : the name in the catalogue.
    citation : authors, title, place and year.
    classifier, regressor : the estimator classes; ``regressor`` is None if the method has no regression form.
    abbreviation : the name in tables and options, if it differs from `name`.
    """

    name: str
    citation: str
    classifier: type[OnlineEstimator]
    regressor: type[OnlineEstimator] | None = None
    abbreviation: str | None = field(default=None, kw_only=True)

    @property
    def short_name(self) -> str:
        """The name in tables and options."""
        return self.abbreviation or self.name

    def is_named(self, name: str) -> bool:
        """Whether this is its name or short name, in upper or lower case."""
        return name.lower() in (self.name.lower(), self.short_name.lower())

    def solves(self, task: str) -> bool:
        """Whether the method has an estimator for "classification" or for "regression"."""
        return self.class_for(task) is not None

    def class_for(self, task: str) -> Any:
        """The estimator class for "classification" or for "regression"; None if there is none."""
        classes = {"classification": self.classifier, "regression": self.regressor}
        if task not in classes:
            raise OptionError("task", task, "is unknown; choose 'classification' or 'regression'")
        return classes[task]


STREAM = Method(
    "stream",
    "nolana: a linear model, landmarks, bins and recent neighbours behind one stack",
    StreamClassifier,
    StreamRegressor,
)
NOLANA = Method(
    "nolana",
    "Si, Kumar, Li: Nonlinear Online Learning with Adaptive Nyström Approximation",
    NolanaClassifier,
    NolanaRegressor,
)


def methods() -> Iterator[Method]:
    """All methods, those of nolana itself first."""
    yield from (STREAM, NOLANA)
    for plugin in PLUGINS:
        yield from importlib.import_module(plugin).catalogue().values()


def method_by_name(name: str) -> Method:
    """A method by its name or short name, in upper or lower case."""
    for method in methods():
        if method.is_named(name):
            return method
    legal = ", ".join(each.short_name for each in methods())
    raise OptionError("method", name, "is unknown; choose from {expected}", expected=legal)


def method_of(estimator: object) -> Method | None:
    """The method of an estimator; None if it is none that ``nolana learn`` runs."""
    kind = type(estimator)
    return next((method for method in methods() if kind in (method.classifier, method.regressor)), None)
