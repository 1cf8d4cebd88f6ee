"""Being asked to stop: the block at hand is finished first, but nobody waits for rows that may never come."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Stop", "Stopped"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """Somebody asked to stop while there was nothing to do but wait."""


class Stop:
    """Within this context SIGINT and SIGTERM ask to stop; the second one ends the process as ever.

    ``signal`` says which came, None so far; ``ask`` asks without any.

    Examples
    --------
    >>> with Stop() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print(stop.asked, stop.signal == signal.SIGTERM)
    True True
    """

    def __init__(self) -> None:
        self.asked = False
        self.signal: signal.Signals | None = None
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stop":
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def ask(self) -> None:
        """Stop when it is convenient."""
        self.asked = True

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """In here `Stopped` is raised at once."""
        self._waiting = True
        try:
            if self.asked:
                raise Stopped
            yield
        finally:
            self._waiting = False

    def _take(self, number: int, _: FrameType | None) -> None:
        self.asked, self.signal = True, signal.Signals(number)
        self._restore()
        if self._waiting:
            raise Stopped

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())
