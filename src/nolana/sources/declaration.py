"""Options declared once: a dataclass field with its default, its check, its help text and its command-line flag.

Keyword arguments of functions, options of commands and what is written about both follow from the declaration.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from nolana.errors import OptionError

__all__ = ["Option", "Options", "at_least", "declared", "document", "option", "signature"]


def _unchanged(value: object) -> object:
    return value


def _any(_: str, value: object) -> object:
    return value


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is declared about one option.

    Parameters
    ----------
    default : its value if none is specified.
    help : one sentence for the command line and the documentation.
    details : what only a Python caller needs to know.
    choices : the legal values, or a function that returns them; None: ``check`` decides.
    check : (name, value) -> value; raises OptionError or TypeError if the value is invalid.
    flag : its command-line form; None: ``--`` and the name; "": commands do not have it.
    metavar : the value's name in the help of commands; None: its type.
    kind : the type that the command line reads.
    parse : turns what the command line reads into the value.
    saved : whether a model file stores it, so that a resumed run must not contradict it.
    """

    default: object
    help: str
    details: str = ""
    choices: tuple[str, ...] | Callable[[], Iterable[str]] | None = None
    check: Callable[[str, Any], object] = _any
    flag: str | None = None
    metavar: str | None = None
    kind: type = str
    parse: Callable[[Any], object] = _unchanged
    saved: bool = True

    def checked(self, name: str, value: object) -> object:
        """The value, or an error that names the option."""
        legal = self._legal()
        if legal is not None and value not in legal:
            raise OptionError(name, value, "is not one of: {expected}", expected=", ".join(legal))
        return self.check(name, value)

    @property
    def listed(self) -> str:
        """The legal values and the default as a sentence."""
        legal = self._legal()
        choices = "" if legal is None else f"One of {', '.join(legal)}."
        stated = self.default in (None, False) or "Default:" in self.help
        default = "" if stated else f"Default: {self.default}."
        return " ".join(filter(None, [choices, default]))

    def _legal(self) -> tuple[str, ...] | None:
        return tuple(self.choices()) if callable(self.choices) else self.choices


def option(default: object = None, **declaration: Any) -> Any:
    """A dataclass field that declares an option; the parameters are those of ``Option``."""
    return field(default=None, metadata={"option": Option(default=default, **declaration)})


class Options:
    """Base of frozen dataclasses whose fields are declared by ``option``; None means that a value is not specified.

    ``specified`` has the values that were specified, by name; all other fields have their defaults.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Blocks(Options):
    ...     rows: int = option(1000, help="Rows of a block.", check=at_least(1))
    >>> Blocks().rows, Blocks(rows=5).specified
    (1000, {'rows': 5})
    >>> Blocks(rows=0)
    Traceback (most recent call last):
    nolana.errors.OptionError: rows=0 is not an integer of at least 1
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    specified: dict[str, Any]

    def __post_init__(self) -> None:
        specified = {}
        for name, declaration in declared(type(self)).items():
            value = getattr(self, name)
            if value is None:
                value = declaration.default
            else:
                value = specified[name] = declaration.checked(name, value)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "specified", specified)

    @property
    def to_save(self) -> dict[str, object]:
        """The specified values that a model file stores, in JSON's types."""
        options = declared(type(self))
        values = {name: value for name, value in self.specified.items() if options[name].saved}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def declared(cls: type[Options]) -> dict[str, Option]:
    """The declarations of an options class, by name, in their order."""
    return {field.name: field.metadata["option"] for field in fields(cls)}


def at_least(minimum: int) -> Callable[[str, object], int]:
    """The check for integers from ``minimum`` on."""

    def check(name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
            raise OptionError(name, value, "is not an integer of at least {expected}", expected=minimum)
        return int(value)

    return check


def signature(function: Callable[..., object], cls: type[Options]) -> inspect.Signature:
    """The signature of a function whose last parameter is an options object, with its fields as keyword arguments."""
    own = inspect.signature(function)
    keywords = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.metadata["option"].default,
            annotation=field.type,
        )
        for field in fields(cls)
    ]
    return own.replace(parameters=[*list(own.parameters.values())[:-1], *keywords])


def document(cls: type[Options]) -> str:
    """The options of a class as the section "Parameters" of a docstring, indented by four blanks."""
    lines = []
    for name, option in declared(cls).items():
        text = " ".join(filter(None, [option.help, option.listed, option.details]))
        lines.append(textwrap.fill(f"{name} : {text}", 116, initial_indent=" " * 4, subsequent_indent=" " * 8))
    return "\n".join(lines)
