"""Messages on standard error; a service must not end because they cannot be written."""

import contextlib
import sys
import traceback

__all__ = ["note", "note_error"]


def note(text: str) -> None:
    """Print one line."""
    with contextlib.suppress(OSError, ValueError):
        print(f"nolana: {text}", file=sys.stderr, flush=True)


def note_error() -> None:
    """Print the exception that is being handled, with its traceback."""
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
