"""Values of the command line without pydantic.

New versions of typer (0.29) load pydantic to convert values, a third of the start-up time of ``nolana predict``.
Options that are left out, strings, lists of strings and paths need no conversion. Other versions are left as they are.
"""

from pathlib import Path
from typing import Any

import typer.core

__all__ = ["convert_plain_values"]

BUILD = "build_runtime_param"  # the function that makes the converter of an option
PLAIN = {str: str, Path: Path}


class _Converter:
    """Converts plain values itself, and others as typer does."""

    def __init__(self, build: Any, descriptor: Any) -> None:
        self._build, self._descriptor = build, descriptor

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is self._descriptor.annotation:  # a default
            return value
        if isinstance(value, str | Path) and self._descriptor.annotation in PLAIN:
            return PLAIN[self._descriptor.annotation](value)
        if self._descriptor.annotation == list[str] and all(isinstance(each, str) for each in value):
            return list(value)
        return self._build(self._descriptor).coerce(value, param=param, ctx=ctx)


def convert_plain_values() -> None:
    """From now on typer loads pydantic only for values that need it."""
    names = vars(typer.core)
    build = names.get(BUILD)
    if build is not None and not isinstance(build, _Build):
        names[BUILD] = _Build(build)


class _Build:
    """Makes the converter of an option."""

    def __init__(self, build: Any) -> None:
        self._build = build

    def __call__(self, descriptor: Any) -> _Converter:
        return _Converter(self._build, descriptor)
