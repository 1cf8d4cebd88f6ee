"""Runs the cells of a plan in parallel processes and stores every result as soon as it is computed.

``cells.jsonl`` in the output directory has one line for each finished cell: its key, a digest of everything it depends
on (function, source of its module, arguments, inputs, data and version) and its result. A cell whose line has the
current digest is not run again.
"""

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import nolana
from nolana.engine.base.threads import one_blas_thread
from nolana.errors import GrowthWarning
from nolana.research.paper.harness import Cell, Result, Results, Source

__all__ = ["ResultStore", "run"]

CELLS = "cells.jsonl"


class ResultStore:
    """The stored results of a directory, by key."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / CELLS
        self._lines: dict[str, tuple[str, Result]] = {}
        if self._path.exists():
            content = self._path.read_bytes()
            for line in content.split(b"\n"):
                try:
                    stored = json.loads(line)
                    self._lines[stored["key"]] = (stored["digest"], stored["result"])
                except (ValueError, KeyError, TypeError):
                    continue  # a line that an interruption left incomplete
            if content and not content.endswith(b"\n"):
                with self._path.open("ab") as file:
                    file.write(b"\n")

    def load(self, key: str, digest: str) -> Result | None:
        """The result of a cell; None if it was not run, or with another digest."""
        stored = self._lines.get(key)
        return stored[1] if stored is not None and stored[0] == digest else None

    def save(self, key: str, digest: str, result: Result) -> Result:
        """Append the result to the file; returns it as a later run will read it."""
        line = json.dumps({"key": key, "digest": digest, "result": result}, allow_nan=True)
        with self._path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        stored: Result = json.loads(line)["result"]
        self._lines[key] = (digest, stored)
        return stored


def digest_of(cell: Cell, inputs: Results, source: str) -> str:
    """A digest of everything that the result of a cell depends on."""
    module, name = cell.work.__module__, cell.work.__qualname__
    parts = [module, _source_digest(module), name, dict(cell.arguments), dict(inputs), source, nolana.__version__]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


@lru_cache
def _source_digest(module: str) -> str:
    path = sys.modules[module].__file__
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""


def run(
    cells: Sequence[Cell],
    source: Source,
    store: ResultStore,
    *,
    jobs: int,
    label: str,
    progress: Callable[[str, float], None],
) -> dict[str, Result]:
    """The results of all cells.

    Parameters
    ----------
    cells : each at most once, including the cells that others need.
    source : of the data.
    store : stored results are read from it, new ones are saved to it.
    jobs : processes.
    label : names the data of the source; stored results with another label are not used.
    progress : is called with the key and the cost of every finished cell.
    """
    results: dict[str, Result] = {}
    todo = {cell.key: cell for cell in cells}

    def finish(cell: Cell, result: Result) -> None:
        results[cell.key] = result
        progress(cell.key, cell.cost)

    def inputs_of(cell: Cell) -> dict[str, Result]:
        return {key: results[key] for key in cell.needs}

    def load_stored() -> bool:
        """Whether a cell that is ready has a stored result."""
        before = len(todo)
        for cell in _ready(todo, results):
            stored = store.load(cell.key, digest_of(cell, inputs_of(cell), label))
            if stored is not None:
                del todo[cell.key]
                finish(cell, stored)
        return len(todo) < before

    pool: ProcessPoolExecutor | None = None
    running: dict[Future[Result], tuple[Cell, str]] = {}
    try:
        while todo or running:
            while load_stored():
                pass  # other cells may need the results that were just loaded
            ready = _ready(todo, results)
            if not ready and not running:
                if todo:
                    raise ValueError(f"the plan lacks the cells that these need: {', '.join(todo)}")
                break
            parallel = [cell for cell in ready if not cell.alone][: jobs - len(running)]
            for cell in parallel or ([] if running else ready[:1]):
                pool = pool or ProcessPoolExecutor(jobs, get_context("spawn"), _exit_with_parent)
                future = pool.submit(_work, cell.work, source, inputs_of(cell), dict(cell.arguments))
                running[future] = (todo.pop(cell.key), digest_of(cell, inputs_of(cell), label))
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                cell, digest = running.pop(future)
                finish(cell, store.save(cell.key, digest, future.result()))
    except BaseException:
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)
        raise
    if pool is not None:
        pool.shutdown()
    return results


def _ready(todo: Mapping[str, Cell], results: Results) -> list[Cell]:
    """The cells whose inputs are complete, the most expensive first."""
    ready = [cell for cell in todo.values() if all(key in results for key in cell.needs)]
    return sorted(ready, key=lambda cell: -cell.cost)


def _exit_with_parent() -> None:
    """End a worker whose parent was killed; it would wait for cells forever."""
    parent = parent_process()
    assert parent is not None

    def wait_and_exit() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_and_exit, daemon=True).start()


def _work(work: Callable[..., Result], source: Source, inputs: Results, arguments: dict[str, object]) -> Result:
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", GrowthWarning)  # elec2 has a date, and every pass would warn of it
        return work(source, inputs, **arguments)
