"""Models of River by name; rows are dicts, one Python call for each."""

import importlib
import inspect
from collections.abc import Callable

from nolana.evaluate.one_by_one import OneByOneClassifier, OneByOneRegressor, RowModel
from nolana.research.peers import Task

# Short names: the classes for classification and regression, and how many models an ensemble has.
SHORT: dict[str, tuple[str, str, dict[str, int]]] = {
    # Gomes et al., "Adaptive random forests for evolving data stream classification", 2017
    "arf": ("forest.ARFClassifier", "forest.ARFRegressor", {"n_models": 10}),
    # Mourtada et al., "AMF: aggregated Mondrian forests for online learning", 2021
    "amf": ("forest.AMFClassifier", "forest.AMFRegressor", {"n_estimators": 10}),
    # Gomes et al., "Streaming random patches for evolving data stream classification", 2019
    "srp": ("ensemble.SRPClassifier", "ensemble.SRPRegressor", {"n_models": 10}),
    # Bifet, Gavaldà, "Adaptive learning from evolving data streams", 2009
    "hat": ("tree.HoeffdingAdaptiveTreeClassifier", "tree.HoeffdingAdaptiveTreeRegressor", {}),
}


def make(method: str, task: Task, seed: int) -> OneByOneClassifier | OneByOneRegressor:
    """The learner of a short name, or of a class as ``tree.HoeffdingTreeClassifier``, at its defaults.

    It sees the numbers of the classes, as some models take no strings.
    """
    model = _linear(task) if method.lower() == "linear" else _model(method, task, seed)
    if hasattr(getattr(model, "_last_step", model), "predict_proba_one") != (task.classes is not None):
        kind = "regression" if task.classes is None else "classification"
        raise ValueError(f"{type(model).__name__} of River is not a model for {kind}")
    return OneByOneRegressor(model) if task.classes is None else OneByOneClassifier(model, task.classes)


def _linear(task: Task) -> RowModel:
    """StandardScaler | LogisticRegression, one against the rest for more than two classes, or LinearRegression."""
    from river import linear_model, multiclass, preprocessing

    if task.classes is None:
        return preprocessing.StandardScaler() | linear_model.LinearRegression()
    model = linear_model.LogisticRegression()
    last = model if len(task.classes) <= 2 else multiclass.OneVsRestClassifier(model)
    return preprocessing.StandardScaler() | last


def _model(method: str, task: Task, seed: int) -> RowModel:
    classifier, regressor, sizes = SHORT.get(method.lower(), (method, method, {}))
    kind = _class_of(regressor if task.classes is None else classifier)
    own = {"seed": seed} if "seed" in inspect.signature(kind).parameters else {}
    try:
        return kind(**sizes, **own)
    except TypeError as error:
        raise ValueError(f"river:{method} cannot be made without arguments: {error}") from error


def _class_of(method: str) -> Callable[..., RowModel]:
    """A class of River by its place, without ``river.``."""
    module, _, name = method.rpartition(".")
    try:
        kind: Callable[..., RowModel] = getattr(importlib.import_module(f"river.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"river:{method} is unknown: {error}. Choose from river:linear, river:{', river:'.join(SHORT)}, or name a "
            "class, as river:tree.HoeffdingTreeClassifier"
        ) from error
    return kind
