"""Options of commands built from declared ones, their values, and errors in the words of the command line."""

import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Protocol, get_args, get_origin, get_type_hints

import typer
import typer.core

from nolana.cli import discard_output
from nolana.cli.learner import LearnerOptions
from nolana.errors import Diagnostic, NolanaError, Setting
from nolana.serve.options import ServeOptions
from nolana.sources import SourceOptions
from nolana.sources.declaration import Option, Options, declared
from nolana.sources.messages import address, is_address
from nolana.sources.options import ColumnNumber, column_of_text, columns_of_text

__all__ = [
    "Group", "blame_option", "blame_source", "check_model", "check_source", "convert_plain_values", "exit_when_unread",
    "hide_types_of_flags", "text_of", "with_groups", "words",
]  # fmt: skip

OF_COMMANDS = {  # and of no group
    "again": "--again", "delay": "--delay", "fresh": "--fresh", "lag": "--lag", "leave_rest": "--leave-rest",
    "metrics": "--metrics", "probabilities": "--proba", "window": "--window",
}  # fmt: skip
BUILD = "build_runtime_param"  # the function of typer that makes the converter of an option
TYPE = "display_type_rich"  # the method of typer that writes the type of an option in the help
PLAIN = {str: str, Path: Path}


# Groups of options


@dataclass(frozen=True)
class Group:
    """Marks a parameter of a command, ``Annotated[SomeOptions, Group(...)]``, whose fields are options of the command.

    title: of its panel in the help; only: the names of the options to take, all by default.
    """

    title: str
    only: tuple[str, ...] | None = None


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose grouped parameters are replaced by one option for each declared field."""
    parameters: list[inspect.Parameter] = []
    builders: dict[str, Callable[[dict[str, object]], Options]] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        group = next((mark for mark in get_args(hints[name])[1:] if isinstance(mark, Group)), None)
        if get_origin(hints[name]) is not Annotated or group is None:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        cls: type[Options] = get_args(hints[name])[0]
        options = {n: o for n, o in declared(cls).items() if o.flag != "" and (group.only is None or n in group.only)}
        parameters += [_parameter(n, o, group.title) for n, o in options.items()]
        builders[name] = functools.partial(_build, cls, options)

    @functools.wraps(function)
    def command(**values: object) -> None:
        groups = {name: build(values) for name, build in builders.items()}
        function(**values, **groups)

    del command.__wrapped__  # typer must see the signature below
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _flag(name: str, option: Option) -> str:
    if option.flag:
        return option.flag
    name = name.rstrip("_").replace("_", "-")
    return f"--{name}/--no-{name}" if option.kind is bool and option.default is None else f"--{name}"


def _parameter(name: str, option: Option, panel: str) -> inspect.Parameter:
    text = f"{option.help} {option.listed}".strip()
    repeatable = option.kind is bool or get_origin(option.kind) is not None
    metavar = option.metavar or (None if repeatable else "INTEGER" if option.kind is int else "TEXT")
    info = typer.Option(_flag(name, option), help=text, metavar=metavar, rich_help_panel=panel)
    kind = option.kind if repeatable else GenericAlias(list, option.kind)
    annotation: object = Annotated[kind | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _build(cls: type[Options], options: dict[str, Option], values: dict[str, object]) -> Options:
    """The options object; its values are taken out of ``values``."""
    specified = {}
    for name, option in options.items():
        value = values.pop(name)
        once = get_origin(option.kind) is None
        if once and isinstance(value, list | tuple) and value:  # the last one alone would be used
            if len(value) > 1:
                raise typer.BadParameter(
                    f"it is given {len(value)} times ({', '.join(map(str, value))}); give it once",
                    param_hint=_flag(name, option),
                )
            value = value[0]
        is_absent_flag = value is False and "/" not in _flag(name, option)
        if value is not None and value != [] and not is_absent_flag:
            with blame_option(_flag(name, option)):
                specified[name] = option.parse(value)
    return cls(**specified)


# Values


class _Parameter(Protocol):
    multiple: bool
    nargs: int


class _Descriptor(Protocol):
    annotation: type


class _Converter:
    """Converts plain values itself, and others as typer does."""

    def __init__(self, build: "Callable[[_Descriptor], _Converter]", descriptor: _Descriptor) -> None:
        self._build, self._descriptor = build, descriptor

    def coerce(self, value: object, param: _Parameter, ctx: object) -> object:
        kind = self._descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is kind:  # a default
            return value
        if isinstance(value, str | Path) and kind in PLAIN:
            return PLAIN[kind](value)
        if kind == list[str] and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return list(value)
        return self._build(self._descriptor).coerce(value, param=param, ctx=ctx)


def convert_plain_values() -> None:
    """From now on typer loads pydantic only for values that need it.

    New versions of typer (0.29) load it to convert values, a third of the start-up time of ``nolana predict``. Options
    that are left out, strings, lists of strings and paths need no conversion. Other versions are left as they are.
    """
    names = vars(typer.core)
    build = names.get(BUILD)
    if build is not None and getattr(build, "func", None) is not _Converter:
        names[BUILD] = functools.partial(_Converter, build)


def hide_types_of_flags() -> None:
    """From now on the help has no ``<bool>`` beside a flag, which takes no value; old versions had none."""
    shown: Callable[..., str | None] | None = getattr(typer.core.TyperOption, TYPE, None)
    if shown is None or hasattr(shown, "__wrapped__"):
        return

    @functools.wraps(shown)
    def type_of_value(option: typer.core.TyperOption, ctx: object) -> str | None:
        return None if option.is_flag else shown(option, ctx)

    setattr(typer.core.TyperOption, TYPE, type_of_value)


# Errors


def words(setting: Setting) -> str | None:
    """A setting as the command line has it; None: Python alone has it.

    >>> words(Setting("missing", "mean")), words(Setting("ignore", [2])), words(Setting("scale", False))
    ('--missing mean', '--ignore 3', '--no-scale')
    >>> words(Setting("n_features")), words(Setting("solver", "exact")), words(Setting("target", False))
    ('--n-features ...', '--set solver=exact', None)
    """
    name, value = setting.option, setting.value
    option = (declared(SourceOptions) | declared(LearnerOptions) | declared(ServeOptions)).get(name)
    flag = OF_COMMANDS.get(name, f"--set {name}=") if option is None else _flag(name, option)
    yes, _, no = flag.partition("/")
    if isinstance(value, bool) and not yes.endswith("="):
        return None if name == "target" else yes if value else no or f"leave out {yes}"
    columns = option is not None and option.parse in (column_of_text, columns_of_text)
    items = value if isinstance(value, list | tuple) else [value]
    text = "..." if value is ... else shlex.quote(",".join(_column(each) if columns else str(each) for each in items))
    return yes + text if yes.endswith("=") else f"{yes} {text}"


def _column(column: object) -> str:
    """A column: Python counts from 0, the command line from 1."""
    if isinstance(column, ColumnNumber):
        return str(column.number)
    return str(column + 1) if isinstance(column, int) and column >= 0 else str(column)


def text_of(error: object) -> str:
    """The message of an error or a warning for the command line."""
    return error.message(words) if isinstance(error, Diagnostic) else str(error)


@contextmanager
def blame_option(option: str) -> Iterator[None]:
    """Within this context an OSError or ValueError is an invalid value of ``option``, unless it names an option."""
    try:
        yield
    except NolanaError:
        raise
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


@contextmanager
def blame_source(source: str) -> Iterator[None]:
    """Within this context errors are about opening a source, or about options that do not fit it."""
    try:
        yield
    except NolanaError:
        raise
    except OSError as error:
        raise typer.BadParameter(f"{source}: {error.strerror or error}", param_hint="SOURCE") from error
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error


def check_source(source: str) -> None:
    """Reports a file that cannot be read, or an invalid address, before anything heavy is loaded."""
    with blame_source(source):
        if is_address(source):
            address(source)
        elif source != "-" and (os.path.isdir(source) or os.path.isfile(source) or not os.path.exists(source)):
            Path(source).open("rb").close()  # a pipe is opened once


def check_model(model: Path, option: str) -> None:
    """The same for a model file."""
    if not model.exists():
        raise typer.BadParameter(f"there is no file {str(model)!r}", param_hint=option)


@contextmanager
def exit_when_unread() -> Iterator[None]:
    """When standard output is closed by its reader, the command ends silently, with the code of SIGPIPE."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        raise typer.Exit(141) from None
