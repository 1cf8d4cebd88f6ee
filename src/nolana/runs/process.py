"""The process of a run: its memory, and signals.

A run finishes its current block first, but one that only waits for rows stops at once.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

__all__ = ["Stop", "Stopped", "exit_on_signals", "resident_bytes"]

# SIGHUP: the terminal was closed; Windows has no such signal.
ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def _handle_with(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> list[Callable[[], object]]:
    """Install a handler and return what restores those before.

    ``nohup`` makes a process ignore SIGHUP, and that stays so.
    """
    handled = [n for n in numbers if n == signal.SIGINT or signal.getsignal(n) != signal.SIG_IGN]
    return [partial(signal.signal, n, signal.signal(n, handler)) for n in handled]


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Within this context SIGTERM and SIGHUP raise SystemExit with code 128 + signal: files and locks are removed."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = _handle_with(ENDS, end)
    try:
        yield
    finally:
        for restore in before:
            restore()


class Stopped(KeyboardInterrupt):
    """A stop was requested while the run waited for rows."""


class Stop:
    """Within this context SIGINT, SIGTERM and SIGHUP request a stop; a second signal ends the process as usual.

    ``signal`` is the one that came, None so far; ``request`` requests a stop without a signal.

    Examples
    --------
    >>> with Stop() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print(stop.requested, stop.signal == signal.SIGTERM)
    True True
    """

    def __init__(self) -> None:
        self.requested = False
        self.signal: signal.Signals | None = None
        self._waiting = False
        self._before: list[Callable[[], object]] = []

    def __enter__(self) -> "Stop":
        self._before = _handle_with((signal.SIGINT, *ENDS), self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def request(self) -> None:
        """Stop after the current block."""
        self.requested = True

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within this context a request raises `Stopped` at once."""
        self._waiting = True
        try:
            if self.requested:
                raise Stopped
            yield
        finally:
            self._waiting = False

    def _handle(self, number: int, _: FrameType | None) -> None:
        self.requested, self.signal = True, signal.Signals(number)
        self._restore()
        if self._waiting:
            raise Stopped

    def _restore(self) -> None:
        while self._before:
            self._before.pop()()


def resident_bytes() -> int | None:
    """Bytes of this process that are in memory now; None if the system does not report them.

    Examples
    --------
    >>> (resident_bytes() or 1 << 20) >= 1 << 20
    True
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
