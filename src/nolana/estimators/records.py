"""Estimators as plain data, and back: class, parameters, what was fitted, and the learner."""

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nolana import engine as numpy_engine
from nolana.errors import ModelFileError
from nolana.estimators._sklearn import NotFittedError
from nolana.estimators.parameters import sets_of
from nolana.experts import Expert
from nolana.learner import records
from nolana.learner.room import FREE, RATIO, bytes_of
from nolana.modelfile import specs
from nolana.modelfile.node import Node
from nolana.modelfile.placeholders import is_placeholder, placeholder, placeholder_names, resolve
from nolana.modelfile.tree import Tree

if TYPE_CHECKING:
    from nolana.estimators.base import OnlineEstimator

LATER = {"calibration"}  # of what was fitted: names that files of v0.1 do not have
OF_COLUMNS = ("categorical_features", "text_features")
TWISTER = 624  # words in the state of NumPy's RandomState


def record_of(estimator: "OnlineEstimator") -> Tree:
    """Everything about a fitted estimator at one moment between two blocks."""
    kind = type(estimator)
    if not kind.__module__.startswith("nolana."):
        raise ModelFileError(f"{kind.__name__} is a class of your own; files hold nolana's own classes only: pickle it")
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(f"this {kind.__name__} has learned nothing yet: there is nothing to save")
    parameters = estimator.get_params(deep=False)
    with estimator._learner.lock:
        record = {
            "class": kind.__name__,
            "parameters": {name: _parameter_record(name, value) for name, value in parameters.items()},
            "fitted": estimator._fitted_record(),
            "learner": records.record_of(estimator._learner),
        }
    try:
        _check_parameters(kind, parameters, bytes_of(record))
    except ValueError as error:
        raise ModelFileError(f"the parameters are invalid, so the saved model could not be loaded: {error}") from error
    try:
        estimator._check_unchanged()
    except ValueError as error:
        raise ModelFileError(f"the model was not written: {error}") from error
    return record


def estimator_of(kind: "type[OnlineEstimator]", node: Node, objects: Mapping[str, object]) -> "OnlineEstimator":
    """The estimator of a record; `objects` has what a file cannot hold."""
    fields = node.fields("class", "parameters", "fitted", "learner")
    parameters = _parameters_of(kind, fields["parameters"], objects, bytes_of(node.value))
    learner = records.learner_of(fields["learner"], objects)
    names = placeholder_names(fields["parameters"].value) | placeholder_names(fields["learner"].value)
    unused = [name for name in objects if name not in names and not isinstance(objects[name], type)]
    if unused:
        raise ValueError(f"{unused[0]} is in the file; pass only objects that a file cannot hold")
    estimator = kind(**parameters)
    if not estimator._accepts(learner):
        raise ModelFileError(f"{fields['learner'].place}: this is no learner of {kind.__name__}")
    estimator._learner = learner
    estimator._restore_fitted(fields["fitted"])
    estimator._note_parameters()
    expected = estimator._fitted_record()
    fields["fitted"].fields(*(expected.keys() - LATER), optional=LATER & expected.keys())
    return estimator


def _check_parameters(kind: "type[OnlineEstimator]", parameters: Mapping[str, object], present: int) -> None:
    """ValueError for what ``fit`` would refuse or a record of this size cannot hold.

    Nothing is drawn from anybody's random state.
    """
    for name, value in parameters.items():
        if isinstance(value, numbers.Integral) and name != "random_state" and 8 * int(value) > FREE + RATIO * present:
            raise ValueError(f"{name}={value} is more than a model of {present} bytes has")
    twin = kind(**(dict(parameters) | {"random_state": 0}))
    twin._check_parameters()
    if "max_iter" in parameters:
        twin._passes(1)


def _parameter_record(name: str, value: Any) -> Tree:
    if value is None or isinstance(value, bool | np.bool_ | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if name == "experts":
        return [specs.record_of(each) for each in sets_of(value, mixed=True)]
    if name in OF_COLUMNS:
        return [each.item() if isinstance(each, np.generic) else each for each in value]
    if name == "class_weight":
        return {"classes": list(value), "weights": [float(weight) for weight in value.values()]}
    if name == "initial_landmarks":
        return np.ascontiguousarray(value, dtype=np.float64)
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            words = {"keys": state["state"]["key"].astype(np.uint32), "position": int(state["state"]["pos"])}
            return words | {"has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}
    return placeholder(name, value)


def _parameters_of(
    kind: "type[OnlineEstimator]", node: Node, objects: Mapping[str, object], present: int
) -> dict[str, object]:
    """Parameters that `fit` would take; one that the file does not know has its default."""
    known = kind._get_param_names()
    entries = node.fields(optional=known)
    parameters = {name: _parameter_of(name, entry, objects) for name, entry in entries.items()}
    try:
        _check_parameters(kind, parameters, present)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"{node.place}: {error}") from error
    return parameters


def _parameter_of(name: str, node: Node, objects: Mapping[str, object]) -> object:
    if is_placeholder(node):
        return resolve(node, objects)
    if name == "experts" and not node.is_none:
        return [specs.spec_of(each, Expert, 1, objects).build(numpy_engine) for each in node.items()]
    if name == "class_weight" and isinstance(node.value, dict):
        labels, weights = ([each.value for each in node[key].items()] for key in ("classes", "weights"))
        if len(labels) != len(weights) or not all(isinstance(label, str | bool | int | float) for label in labels):
            raise node.wrong("as many weights as classes")
        return dict(zip(labels, weights, strict=True))
    if name in OF_COLUMNS and isinstance(node.value, list):
        if not all(isinstance(each, str | bool | int) for each in node.value):
            raise node.wrong("names or indices of columns, or a mask")
        return list(node.value)
    if name == "initial_landmarks" and not node.is_none:
        return node.array((None, None))
    if name == "random_state" and isinstance(node.value, dict):
        return _random_state_of(node)
    if node.value is not None and not isinstance(node.value, bool | int | float | str):
        raise node.wrong("a number, a string, true, false or nothing")
    return node.value


def _random_state_of(node: Node) -> np.random.RandomState:
    fields = node.fields("keys", "position", "has_gauss", "gauss")
    state = np.random.RandomState(0)
    keys, position = fields["keys"].array((TWISTER,), np.uint32), fields["position"].integer(0, TWISTER)
    state.set_state(("MT19937", keys, position, fields["has_gauss"].integer(0, 1), fields["gauss"].number()))
    return state
