"""What the commands share about their options."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def refusing(option: str) -> Iterator[None]:
    """A value that turns out to be impossible is the fault of `option`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
