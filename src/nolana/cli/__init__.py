"""The command line: ``main`` is its entry point, app.py lists the commands, and each command has a module.

A module is loaded when its command runs. typer, rich and matplotlib come with the extra ``cli``.
"""

import sys

from nolana.cli.process import INTERRUPTED, prepare_process

__all__ = ["main"]

EXTRA = ("matplotlib", "rich", "typer")


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
