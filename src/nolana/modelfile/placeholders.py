"""Placeholders for what a file cannot hold: a function or an object of the user's own, passed again when it is read."""

from collections.abc import Mapping

from nolana.errors import ModelFileError
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

# The keys are those of format version 1.
NAME, DESCRIPTION = "given", "was"


def placeholder(name: str, value: object) -> Tree:
    """What is written in place of an object that is passed again under this name."""
    own_name = getattr(value, "__name__", "")
    return {NAME: name, DESCRIPTION: f"{type(value).__name__} {own_name}".strip()}


def is_placeholder(node: Node) -> bool:
    """Whether an object belongs here that is not in the file."""
    return isinstance(node.value, dict) and NAME in node.value


def placeholder_names(tree: Tree) -> set[str]:
    """The names of all placeholders in a tree."""
    if isinstance(tree, list):
        return set().union(*map(placeholder_names, tree))
    if not isinstance(tree, dict):
        return set()
    own = {tree[NAME]} if isinstance(tree.get(NAME), str) else set()
    return own.union(*map(placeholder_names, tree.values()))


def resolve(node: Node, objects: Mapping[str, object]) -> object:
    """The object for a placeholder."""
    fields = node.fields(NAME, DESCRIPTION)
    name, description = fields[NAME].text(), fields[DESCRIPTION].text()
    if name not in objects:
        raise ModelFileError(
            f"{name} was an object of your own ({description}), which a file cannot hold; pass it again: "
            f"nolana.load(path, {name}=...)"
        )
    return objects[name]
