"""The command line: ``main`` is its entry point, app.py lists the commands, and each command has a module.

A module is loaded when its command runs. typer, rich and matplotlib come with the extra ``cli``.

Here is the process of a command: standard streams that are closed or cannot be written, and Ctrl-C at any moment. Only
modules that Python has loaded anyway are imported: Ctrl-C may come while NumPy is being loaded.
"""

import contextlib
import os
import signal
import sys
from types import FrameType

__all__ = ["INTERRUPTED", "discard_output", "main", "output_error"]

EXTRA = ("matplotlib", "rich", "typer")
IMPORTS = "<frozen importlib._bootstrap>"  # the file of every frame that loads a module
ASCII = ("ascii", "us-ascii", "ansi-x3.4-1968", "646")
INTERRUPTED = 130  # exit code


def main() -> None:
    """Run ``nolana`` with the arguments of the process, and exit."""
    try:
        prepare_process()
        from nolana.cli.app import run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except ImportError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in EXTRA:
            raise
        print(
            f'nolana: this command needs {package}, which is not installed: pip install "nolana[cli]"', file=sys.stderr
        )
        code = 1
    sys.exit(code)


def prepare_process() -> None:
    """Open what the caller has closed of standard input, output and error, write any text, and handle Ctrl-C."""
    _open_closed_streams()
    _write_any_text()
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, _interrupt)


def output_error() -> OSError | None:
    """Why standard output cannot be written, None if it can; what is still in its buffer is then lost."""
    try:
        sys.stdout.flush()
    except OSError as error:
        discard_output()
        return error
    return None


def discard_output(number: int = 1) -> None:
    """Whatever is or will be written to standard output, or to standard error (2), is lost."""
    _open_at(number, os.O_WRONLY)


def _open_closed_streams() -> None:
    """Another file would get the number of a closed stream, and output of the command would go into it.

    Reading standard input and writing standard output stay errors; messages are lost.
    """
    if sys.stdin is None:
        _open_at(0, os.O_WRONLY)
    if sys.stdout is None:
        _open_at(1, os.O_RDONLY)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        _open_at(2, os.O_WRONLY)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _write_any_text() -> None:
    """No letter of a path, a label or a category ends a command: standard error escapes what it cannot write anyway."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:  # not a file
        return
    name = (sys.stdout.encoding or "").lower().replace("_", "-")
    with contextlib.suppress(OSError):  # it cannot be written at all, which the first line says
        if name in ASCII:  # a locale without UTF-8; other programs read its bytes as such
            reconfigure(encoding="utf-8", errors="surrogateescape")
        else:
            reconfigure(errors="surrogateescape" if name in ("utf-8", "utf8") else "backslashreplace")


def _open_at(number: int, mode: int) -> None:
    handle = os.open(os.devnull, mode)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """KeyboardInterrupt, unless a module is being loaded: some print it, or turn it into another error."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTS:
            # A model may be locked already; the module may be the one that is being loaded.
            getattr(sys.modules.get("nolana.runs.lock"), "release_all", lambda: None)()
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
