"""Worker processes that learn the parts of a round.

A worker reads pickled tasks from its standard input and writes pickled results to its standard output; it ends when its
input ends, also when the process that started it was killed. Signals of the terminal do not reach it.
"""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, Self

from nolana.estimators.base import OnlineEstimator
from nolana.estimators.rounds import PARTS, Result, Task, learn_here

__all__ = ["Workers", "main", "parts_for"]

START = "from nolana.runs.workers import main; main()"
MOST = 1024


def parts_for(workers: int) -> int:
    """Parts of a round: a multiple of 8, so that up to 8 workers end with the same model."""
    return PARTS * -(-workers // PARTS)


class Workers:
    """So many processes, started with the first round; ends them when it is closed."""

    def __init__(self, count: int) -> None:
        if not 1 <= count <= MOST:
            raise ValueError(f"{count} is not a number of worker processes; choose 1 to {MOST}")
        self.count = count
        self._own = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: ThreadPoolExecutor | None = None

    def learn_all(self, tasks: list[Task]) -> list[tuple[OnlineEstimator, Result]]:
        """Each part after its rows, and what its verb returned, in the order of the tasks."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.count, "nolana-worker")
        return list(self._threads.map(self._learn, tasks))

    def _learn(self, task: Task) -> tuple[OnlineEstimator, Result]:
        """One task, by the process of this thread."""
        process = getattr(self._own, "process", None) or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, task)
            failed, result = receive(process.stdout)
        except (OSError, EOFError) as error:
            code = process.wait()
            raise ChildProcessError(f"a worker process ended with code {code}; its rows were not learned") from error
        if failed:
            raise result
        return result  # type: ignore[no-any-return]

    def _start(self) -> subprocess.Popen[bytes]:
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self._own.process = process
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End the processes."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # it was killed while a task was sent
                        pipe.close()
            process.wait()
        self._processes, self._threads = [], None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def send(pipe: IO[bytes], value: object) -> None:
    """Write a value."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read a value; EOFError if there is none."""
    size = pipe.read(8)
    if len(size) < 8:
        raise EOFError
    data = pipe.read(int.from_bytes(size, "little"))
    return pickle.loads(data)


def main() -> None:
    """The loop of a worker process."""
    tasks, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            task = receive(tasks)
        except EOFError:
            return
        try:
            send(results, (False, learn_here([task])[0]))
        except Exception as error:
            send(results, (True, error))
