"""What the commands share about their options."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from nolana.errors import NolanaError

PYTHON = re.compile(
    r"\b(categories|delimiter|features|format|header|ignore|labels|missing|n_features|on_bad_row|zero_based)="
    r"(?:\[(?P<list>[^\]]*)\]|(?P<quote>[\"'])(?P<text>[^\"']*)(?P=quote)(?: or \"(?P<other>[^\"]*)\")?|(?P<word>\w+))?"
)


@contextmanager
def refusing(option: str) -> Iterator[None]:
    """A value that turns out to be impossible is the fault of `option`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


@contextmanager
def refusing_source(source: str) -> Iterator[None]:
    """A source that is not there, or options of its reader that make no sense; what is in it speaks for itself."""
    try:
        yield
    except NolanaError:
        raise
    except OSError as error:
        raise typer.BadParameter(f"{source}: {error.strerror or error}", param_hint="SOURCE") from error
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(in_words_of_options(str(error))) from error


@contextmanager
def while_somebody_reads() -> Iterator[None]:
    """When nobody reads standard output any more, the command ends in silence, with the code of SIGPIPE."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still in the buffer goes nowhere
        raise typer.Exit(141) from None


def in_words_of_options(message: str) -> str:
    """A message of the library, with ``--missing mean`` for ``missing="mean"``.

    >>> in_words_of_options('the field is empty; missing="mean" or "indicator" fills it in')
    'the field is empty; --missing mean or indicator fills it in'
    """

    def option(match: re.Match[str]) -> str:
        name = "--" + match[1].replace("_", "-")
        if match["list"] is not None:
            return f"{name} {match['list'].replace(', ', ',')}"
        if match["other"] is not None:
            return f"{name} {match['text']} or {match['other']}"
        value = match["text"] or match["word"]
        return name if value in (None, "True") else f"{name} {value}"

    return PYTHON.sub(option, message)


def columns(text: str | None) -> tuple[str | int, ...] | None:
    """Names or numbers with commas between them."""
    return None if text is None else tuple(column(name.strip()) for name in text.split(",") if name.strip())


def column(text: str) -> str | int:
    """A name or a number."""
    return int(text) if text.lstrip("-").isdigit() else text


def value(text: str) -> Any:
    """A number, True, False, None, or a word.

    >>> value("0.5"), value("inf"), value("median"), value("none")
    (0.5, inf, 'median', None)
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return float(text) if not text.lstrip("-").isdigit() else int(text)
    except ValueError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text


def settings(pairs: list[str]) -> dict[str, Any]:
    """``name=value`` of each text."""
    found = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"{pair!r} is not name=value")
        found[name.strip()] = value(text.strip())
    return found
