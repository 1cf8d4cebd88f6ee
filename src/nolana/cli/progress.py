"""Progress bars on standard error, drawn only in a terminal."""

from rich.console import Console
from rich.progress import Progress, ProgressColumn

__all__ = ["progress_bar"]


def progress_bar(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """A progress bar of these columns; standard output stays free for results."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=transient, disable=not console.is_terminal)
