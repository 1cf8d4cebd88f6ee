"""Estimators as plain data, and back: class, parameters, what was fitted, and the learner."""

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from nolana.errors import ModelFileError
from nolana.learners import records
from nolana.learners.records.memory import FREE, RATIO, bytes_of
from nolana.modelfile.given import given_object, is_stand_in, stand_in
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

TWISTER = 624  # words in the state of NumPy's RandomState


def record_of(estimator: Any) -> Tree:
    """Everything about a fitted estimator at one moment between two blocks."""
    kind = type(estimator)
    if not kind.__module__.startswith("nolana."):
        raise ModelFileError(f"{kind.__name__} is a class of your own, and files know nolana's own only; pickle it")
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
        raise ModelFileError(f"the parameters make no sense, so what is saved could not be loaded: {error}") from error
    return record


def estimator_of(kind: Any, node: Node, given: Mapping[str, Any]) -> Any:
    """The estimator of a record; `given` has the objects that a file cannot hold."""
    fields = node.fields("class", "parameters", "fitted", "learner")
    parameters = _parameters_of(kind, fields["parameters"], given, bytes_of(node.value))
    learner = records.learner_of(fields["learner"], given)
    unused = [name for name in given if name not in _stand_ins(fields)]
    if unused:
        raise ValueError(f"{unused[0]} is in the file; only objects that a file cannot hold are given again")
    estimator = kind(**parameters)
    if type(learner) is not estimator._learner_class:
        raise ModelFileError(f"{fields['learner'].place}: this is no learner of {kind.__name__}")
    estimator._learner = learner
    estimator._restore_fitted(fields["fitted"])
    fields["fitted"].fields(*estimator._fitted_record())
    return estimator


def _check_parameters(kind: Any, parameters: Mapping[str, Any], there: int) -> None:
    """ValueError for what ``fit`` would refuse or a record of this size cannot hold.

    Nothing is drawn from anybody's random state.
    """
    for name, value in parameters.items():
        if isinstance(value, numbers.Integral) and name != "random_state" and 8 * int(value) > FREE + RATIO * there:
            raise ValueError(f"{name}={value} is more than a model of {there} bytes has")
    twin = kind(**(dict(parameters) | {"random_state": 0}))
    twin._check_parameters()
    if "max_iter" in parameters:
        twin._check_epochs()


def _parameter_record(name: str, value: Any) -> Tree:
    if value is None or isinstance(value, bool | np.bool_ | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if name == "initial_landmarks":
        return np.ascontiguousarray(value, dtype=np.float64)
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            words = {"keys": state["state"]["key"].astype(np.uint32), "position": int(state["state"]["pos"])}
            return words | {"has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}
    return stand_in(name, value)


def _parameters_of(kind: Any, node: Node, given: Mapping[str, Any], there: int) -> dict[str, Any]:
    """Parameters that `fit` would take; one that the file does not know has its default."""
    known = kind._get_param_names()
    entries = node.fields(optional=known)
    parameters = {name: _parameter_of(name, entry, given) for name, entry in entries.items()}
    try:
        _check_parameters(kind, parameters, there)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"{node.place}: {error}") from error
    return parameters


def _parameter_of(name: str, node: Node, given: Mapping[str, Any]) -> Any:
    if is_stand_in(node):
        return given_object(node, given)
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


def _stand_ins(fields: dict[str, Node]) -> set[str]:
    """The names of all objects that are not in the file."""

    def names(tree: Tree) -> set[str]:
        if not isinstance(tree, dict):
            return set()
        own = {tree["given"]} if isinstance(tree.get("given"), str) else set()
        return own.union(*(names(value) for value in tree.values()))

    return names(fields["parameters"].value) | names(fields["learner"].value)
