"""Options of commands built from declared ones, and errors about them in the words of the command line."""

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from nolana.cli.learner import LearnerOptions
from nolana.cli.process import discard_output
from nolana.errors import NolanaError
from nolana.options import Option, Options, declared
from nolana.sources import SourceOptions
from nolana.sources.options import column_of_text, columns_of_text

__all__ = [
    "Group", "blame_option", "blame_source", "check_model", "check_source", "exit_when_unread", "with_groups",
    "words_of_command_line",
]  # fmt: skip

PYTHON_ONLY = re.compile(r"; target=False[^;]*| \(target=False[^)]*\)")  # no option of a command
VALUE = (
    r"(?:\[(?P<list>[^\]]*)\]|"
    r"(?P<quote>[\"'])(?P<text>[^\"']*)(?P=quote)(?: or \"(?P<other>[^\"]*)\")?|(?P<word>-?\w+))?"
)


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
    builders: dict[str, Callable[[dict[str, Any]], Options]] = {}
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
    def command(**values: Any) -> None:
        groups = {name: build(values) for name, build in builders.items()}
        function(**values, **groups)

    del command.__wrapped__  # typer must see the signature below
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _flag(name: str, option: Option) -> str:
    return option.flag or "--" + name.replace("_", "-")


def _parameter(name: str, option: Option, panel: str) -> inspect.Parameter:
    text = f"{option.help} {option.listed}".strip()
    repeatable = option.kind is bool or get_origin(option.kind) is not None
    metavar = option.metavar or (None if repeatable else "INTEGER" if option.kind is int else "TEXT")
    info = typer.Option(_flag(name, option), help=text, metavar=metavar, rich_help_panel=panel)
    kind: Any = option.kind if repeatable else list[option.kind]  # type: ignore[name-defined]
    annotation: Any = Annotated[kind | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _build(cls: type[Options], options: dict[str, Option], values: dict[str, Any]) -> Options:
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
    try:
        return cls(**specified)
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(words_of_command_line(str(error))) from error


# Errors


@contextmanager
def blame_option(option: str) -> Iterator[None]:
    """Within this context an OSError or ValueError is an invalid value of ``option``."""
    try:
        yield
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
        raise typer.BadParameter(words_of_command_line(str(error))) from error


def check_source(source: str) -> None:
    """Reports a file that cannot be read before anything heavy is loaded."""
    with blame_source(source):
        if source != "-" and (os.path.isdir(source) or os.path.isfile(source) or not os.path.exists(source)):
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


def words_of_command_line(message: str) -> str:
    """A message of the library, with ``--missing mean`` for ``missing="mean"``.

    >>> words_of_command_line('the field is empty; missing="mean" fills it in')
    'the field is empty; --missing mean fills it in'
    >>> words_of_command_line('categories="hash" or "onehot" turns text into numbers, ignore=[2] leaves it out')
    '--categories hash or onehot turns text into numbers, --ignore 3 leaves it out'
    >>> words_of_command_line("scale=False differs from the model, which was made with scale=True")
    '--no-scale differs from the model, which was made with --scale'
    """
    options = declared(SourceOptions) | declared(LearnerOptions)
    flags = {name: _flag(name, option) for name, option in options.items() if option.flag != ""}

    def replacement(match: re.Match[str]) -> str:
        yes, _, no = flags[match[1]].partition("/")
        names_columns = options[match[1]].parse in (column_of_text, columns_of_text)
        if match["list"] is not None:
            items = match["list"].split(", ")
            return f"{yes} {','.join(_number(item) for item in items) if names_columns else ','.join(items)}"
        if names_columns and match["word"] is not None:
            return f"{yes} {_number(match['word'])}"
        if match["other"] is not None:
            return f"{yes} {match['text']} or {match['other']}"
        value = match["text"] or match["word"]
        if value == "False" and no:
            return no
        return yes if value in (None, "True") else f"{yes} {value}"

    def _number(item: str) -> str:
        """A column: Python counts from 0, the command line from 1."""
        return str(int(item) + 1) if item.isdigit() else item

    message = PYTHON_ONLY.sub("", message)
    return re.sub(rf"\b({'|'.join(flags)})={VALUE}", replacement, message)
