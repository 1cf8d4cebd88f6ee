"""What a file cannot hold, a function or an object of the user's own: its place is kept, and filled when it is read."""

from collections.abc import Mapping
from typing import Any

from nolana.errors import ModelFileError
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree


def stand_in(name: str, value: Any) -> Tree:
    """What is written in the place of an object that is given again under this name."""
    named = getattr(value, "__name__", "")
    return {"given": name, "was": f"{type(value).__name__} {named}".strip()}


def is_stand_in(node: Node) -> bool:
    """Whether an object belongs here that is not in the file."""
    return isinstance(node.value, dict) and "given" in node.value


def given_object(node: Node, given: Mapping[str, Any]) -> Any:
    """The object for a stand-in."""
    fields = node.fields("given", "was")
    name, was = fields["given"].text(), fields["was"].text()
    if name not in given:
        raise ModelFileError(
            f"{name} was an object of your own ({was}), which a file cannot hold; give it again: "
            f"nolana.load(path, {name}=...)"
        )
    return given[name]
