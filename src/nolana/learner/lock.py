"""One lock per learner, fair enough that a reader gets in while another thread learns without a pause."""

import threading
from types import TracebackType


class FairLock:
    """A mutex behind a gate: who waits for the mutex holds the gate, so nobody can overtake twice in a row."""

    def __init__(self) -> None:
        self._gate, self._mutex = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._gate:
            self._mutex.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mutex.release()
