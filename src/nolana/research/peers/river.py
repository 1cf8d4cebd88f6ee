"""Models of River by name; rows are dicts, one Python call for each."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from nolana.evaluate.one_by_one import OneByOneClassifier, OneByOneRegressor
from nolana.research.peers import Task

MODELS = 10  # of an ensemble


def learner(task: Task, model: Any) -> Any:
    """A model as a learner; it sees the numbers of the classes, as some models take no text."""
    if hasattr(getattr(model, "_last_step", model), "predict_proba_one") != (task.classes is not None):
        kind = "regression" if task.classes is None else "classification"
        raise ValueError(f"{type(model).__name__} of River is not a model for {kind}")
    return OneByOneRegressor(model) if task.classes is None else OneByOneClassifier(model, task.classes)


def linear(task: Task, seed: int) -> Any:  # noqa: ARG001
    """StandardScaler | LogisticRegression, one against the rest for more than two classes, or LinearRegression."""
    from river import linear_model, multiclass, preprocessing

    if task.classes is None:
        return learner(task, preprocessing.StandardScaler() | linear_model.LinearRegression())
    model: Any = linear_model.LogisticRegression()
    if len(task.classes) > 2:
        model = multiclass.OneVsRestClassifier(model)
    return learner(task, preprocessing.StandardScaler() | model)


def arf(task: Task, seed: int) -> Any:
    """Adaptive random forest (Gomes et al., 2017) of ten trees."""
    from river import forest

    kind = forest.ARFRegressor if task.classes is None else forest.ARFClassifier
    return learner(task, kind(n_models=MODELS, seed=seed))


def amf(task: Task, seed: int) -> Any:
    """Aggregated Mondrian forest (Mourtada et al., 2021) of ten trees."""
    from river import forest

    kind = forest.AMFRegressor if task.classes is None else forest.AMFClassifier
    return learner(task, kind(n_estimators=MODELS, seed=seed))


def srp(task: Task, seed: int) -> Any:
    """Streaming random patches (Gomes et al., 2019) of ten models."""
    from river import ensemble

    kind = ensemble.SRPRegressor if task.classes is None else ensemble.SRPClassifier
    return learner(task, kind(n_models=MODELS, seed=seed))


def hat(task: Task, seed: int) -> Any:
    """Hoeffding adaptive tree (Bifet and Gavaldà, 2009)."""
    from river import tree

    kind = tree.HoeffdingAdaptiveTreeRegressor if task.classes is None else tree.HoeffdingAdaptiveTreeClassifier
    return learner(task, kind(seed=seed))


SHORT = {"linear": linear, "arf": arf, "amf": amf, "srp": srp, "hat": hat}


def maker(method: str) -> Callable[[Task, int], Any]:
    """What makes the learner of a short name, or of a class as ``tree.HoeffdingTreeClassifier``, at its defaults."""
    if method.lower() in SHORT:
        return SHORT[method.lower()]

    def make(task: Task, seed: int) -> Any:
        kind = class_of(method)
        own = {"seed": seed} if "seed" in inspect.signature(kind).parameters else {}
        try:
            return learner(task, kind(**own))
        except TypeError as error:
            raise ValueError(f"river:{method} cannot be made without arguments: {error}") from error

    return make


def class_of(method: str) -> Any:
    """A class of River by its place, without ``river.``."""
    module, _, name = method.rpartition(".")
    try:
        return getattr(importlib.import_module(f"river.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"river:{method} is unknown: {error}. Choose from river:{', river:'.join(SHORT)}, or name a class, as "
            "river:tree.HoeffdingTreeClassifier"
        ) from error
