"""The parts of a rival as plain data, and back.

Names come from closed lists; arguments are what the NumPy class of that name takes, by name and type.
"""

import inspect
import typing
from collections.abc import Collection
from typing import Any

import numpy as np

from nolana import kernels, losses, reference
from nolana.errors import ModelFileError
from nolana.learners.passive_aggressive import Aggressiveness, Demand
from nolana.learners.rival import HOMES, Part
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree
from nolana.reference.kernels import Kernel
from nolana.reference.losses import Loss

HOW = ("Unbounded", "Capped", "Softened")
WHAT = ("Margin", "Band")
RIVALS = tuple(name for name in HOMES if name not in HOW + WHAT)
NAMES: dict[Any, Collection[str]] = {
    Aggressiveness: HOW,
    Demand: WHAT,
    Kernel: tuple(kernels.CLASSES.values()),
    Loss: tuple(losses.CLASSES.values()),
}
WITH_MATRIX = ("Projectron", "ProjectronPlusPlus", "BSGDProject")  # budget x budget numbers


def record_of(part: Part) -> Tree:
    """Name and arguments, those that are parts as records again."""
    arguments = {key: record_of(value) if isinstance(value, Part) else value for key, value in part.arguments.items()}
    return {"name": part.name, "arguments": arguments}


def part_of(node: Node, features: int, names: Collection[str] = RIVALS) -> Part:
    """The part of a record; its name must be one of these."""
    fields = node.fields("name", "arguments")
    name = fields["name"].text(names)
    types = _types(Part(name).class_of(reference))
    entries = fields["arguments"].fields(*types)
    arguments = {key: _argument(entries[key], key, kind, features) for key, kind in types.items()}
    if arguments.get("merged", 1) > arguments.get("budget", 1):
        raise entries["merged"].wrong(f"at most the budget, {arguments['budget']}")
    if "start" in arguments and len(arguments["start"]) != 2 * len(arguments["projections"]):
        raise entries["start"].wrong(f"{2 * len(arguments['projections'])} numbers")
    return Part(name, arguments)


def _types(kind: type) -> dict[str, Any]:
    """The types of the arguments that a class is made with."""
    if kind.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    hints = typing.get_type_hints(kind.__init__)  # type: ignore[misc]
    return {name: hints[name] for name in inspect.signature(kind).parameters}


def _argument(node: Node, name: str, kind: Any, features: int) -> Any:
    if kind in NAMES:
        return part_of(node, features, NAMES[kind])
    if kind is bool:
        return node.flag()
    if kind is float:
        return node.number(0.0)
    if kind is not int:
        array = node.array((None,) if name == "start" else (None, features))
        if not len(array):
            raise node.wrong("at least one row")
        return np.ascontiguousarray(array)
    if name == "features" and node.value != features:
        raise ModelFileError(f"{node.place}: expected {features}, as many as the learner has, got {node.value!r}")
    return node.integer(0 if name == "seed" else 1, (1 << 31) - 1 if name == "degree" else 1 << 53)


def bytes_needed(part: Part, features: int, outputs: int) -> int:
    """Support vectors, random features and matrices over them, with a few rows of scratch."""
    budget = part.arguments.get("budget", 0) + 9
    draws = len(part.arguments.get("projections", ())) + 8
    wide = features + outputs + 16
    matrix = budget * budget if part.name in WITH_MATRIX else 0
    return int(8 * (budget * wide + 4 * draws * wide + matrix))
