"""Engine objects before their engine is known: a class and its arguments, some of them specs again.

A spec builds the compiled object or its NumPy twin, and is written to and read from model files. The type hints of a
class's constructor say what a file may hold for it.
"""

import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Range, Rows
from nolana.engine.protocol import Engine
from nolana.errors import ModelFileError
from nolana.modelfile.node import Node
from nolana.modelfile.placeholders import placeholder, resolve
from nolana.modelfile.tree import Tree

__all__ = ["Spec", "arguments_of", "defaults_of", "kinds", "labels", "record_of", "spec_of", "tree_of"]

CLASS = "class"
T = TypeVar("T")
# Classes that have another name in files of 0.2.
RENAMED = {"CellMap": "BinMap", "Cells": "Bins", "ConstantCells": "ConstantBins", "DiagonalCells": "DiagonalBins"}


@dataclass(frozen=True)
class Spec:
    """An object of an engine: its class in `nolana.engine`, and its arguments."""

    kind: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def build(self, engine: Engine) -> Any:
        """The object, by this engine."""
        kind = self.kind if engine is numpy_engine else getattr(engine, self.kind.__name__)
        arguments = dict(self.arguments)
        for name, value in self.arguments.items():
            if isinstance(value, Spec):
                arguments[name] = value.build(engine)
            elif isinstance(value, list):
                arguments[name] = [each.build(engine) if isinstance(each, Spec) else each for each in value]
        return kind(**arguments)

    def parts(self) -> Iterator["Spec"]:
        """This spec and all specs in it."""
        yield self
        for value in self.arguments.values():
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, Spec):
                    yield from each.parts()

    def is_compiled(self, engine: Engine) -> bool:
        """Whether the engine has every class that it takes."""
        return engine is numpy_engine or all(hasattr(engine, part.kind.__name__) for part in self.parts())

    @property
    def runs_user_code(self) -> bool:
        """Whether a kernel or a policy of the user's own runs inside the loop."""
        return any(user_parameter(part.kind) is not None for part in self.parts())


def user_parameter(kind: type) -> str | None:
    """The estimator parameter that holds the user's object, for the classes that wrap one."""
    return getattr(kind, "user_parameter", None)


def kinds(base: type[T]) -> dict[str, type[T]]:
    """Every concrete class of a kind in nolana, by its name."""
    found: dict[str, type[T]] = {}
    for kind in [base, *base.__subclasses__()]:
        if kind is not base:
            found |= kinds(kind)
        elif not inspect.isabstract(kind) and kind.__module__.startswith("nolana."):
            found[kind.__name__] = kind
    return found


def labels(base: type[T]) -> dict[str, type[T]]:
    """Every class of a kind that users can choose, by its name for them."""
    found = {getattr(kind, "label", None): kind for kind in kinds(base).values()}
    return {label: found[label] for label in sorted(filter(None, found))}


def hints_of(kind: Any) -> dict[str, object]:
    """The types of the arguments of a class's constructor."""
    if kind.__init__ is object.__init__:
        return {}
    hints = typing.get_type_hints(kind.__init__, include_extras=True)
    return {name: hints[name] for name in inspect.signature(kind).parameters}


def defaults_of(kind: type) -> dict[str, object]:
    """The arguments of a class's constructor that have a default: files hold them, whatever later defaults are."""
    arguments = inspect.signature(kind).parameters
    return {name: each.default for name, each in arguments.items() if each.default is not inspect.Parameter.empty}


def record_of(spec: Spec) -> Tree:
    """Plain data, arguments in the order of the constructor; an object of the user's own becomes a placeholder."""
    own = user_parameter(spec.kind)
    hints = hints_of(spec.kind)
    tree: dict[str, Tree] = {CLASS: spec.kind.__name__}
    ordered = [name for name in hints if name in spec.arguments]  # as a spec from a file has them
    for name in [*ordered, *sorted(spec.arguments.keys() - set(ordered))]:
        value = spec.arguments[name]
        tree[name] = placeholder(own, value) if own and hints[name] is Any else tree_of(value)
    return tree


def tree_of(value: object) -> Tree:
    """Plain data of a spec, of a list of specs, or of what is plain already."""
    if isinstance(value, Spec):
        return record_of(value)
    if isinstance(value, list):
        return [tree_of(each) for each in value]
    plain: Tree = value
    return plain


def spec_of(node: Node, base: type, features: int, objects: Mapping[str, object]) -> Spec:
    """The spec of a record, of a class of this kind; `objects` has what a file cannot hold."""
    own = {name: kind for name, kind in objects.items() if isinstance(kind, type) and issubclass(kind, base)}
    legal: dict[str, type] = kinds(base) | own
    name = node[CLASS].text()
    kind = legal.get(RENAMED.get(name, name))
    if kind is None:
        raise ModelFileError(
            f"{node.place}/{CLASS}: expected one of {', '.join(sorted(legal))}, got {name!r}; pass a class of your own "
            f"again: nolana.load(path, {name}=...)"
        )
    arguments = arguments_of(kind, node, features, objects, beside=(CLASS,))
    if arguments.get("features", features) != features:
        raise ModelFileError(f"{node.place}/features: expected {features}, as many as the learner has")
    return Spec(kind, arguments)


def arguments_of(
    kind: type, node: Node, features: int, objects: Mapping[str, object], *, beside: tuple[str, ...] = ()
) -> dict[str, object]:
    """The arguments of a class's constructor from a record; one with a default may be missing in an older record."""
    hints, parameters = hints_of(kind), inspect.signature(kind).parameters
    required = [name for name in hints if parameters[name].default is inspect.Parameter.empty]
    fields = node.fields(*required, *beside, optional=hints)
    return {name: _argument(fields[name], hint, features, objects) for name, hint in hints.items() if name in fields}


def _argument(node: Node, hint: object, features: int, objects: Mapping[str, object]) -> object:
    if hint is Any:
        return resolve(node, objects)
    if hint is bool:
        return node.flag()
    if hint is str:
        return node.text()
    if hint is int:
        return node.integer(0)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        inner, nothing = typing.get_args(hint)
        assert nothing is type(None)
        return None if node.is_none else _argument(node, inner, features, objects)
    if typing.get_origin(hint) is list:
        return [_argument(each, typing.get_args(hint)[0], features, objects) for each in node.items()]
    if isinstance(hint, type):
        return spec_of(node, hint, features, objects)
    base, bound = typing.get_args(hint)
    if isinstance(bound, Rows):
        array = node.array((None,) if bound.dimensions == 1 else (None, None if bound.free else features))
        if not len(array):
            raise node.wrong("at least one row")
        return np.ascontiguousarray(array)
    assert isinstance(bound, Range)
    if base is int:
        return node.integer(int(bound.low), int(bound.high))
    return node.number(bound.low, bound.high, open_low=bound.above, unbounded=bound.unbounded)
