"""Stopping a run by a signal: the current block is finished first, but a run that only waits for rows stops at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Stop", "Stopped"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """A stop was requested while the run waited for rows."""


class Stop:
    """Within this context SIGINT and SIGTERM request a stop; a second signal ends the process as usual.

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
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stop":
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            signal.signal(*self._before.popitem())
