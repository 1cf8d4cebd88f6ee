"""Runs the cells of a plan, as many at a time as there are jobs, and keeps every result as soon as it is there.

``cells.jsonl`` in the output directory has one line for each finished cell: its key, a digest of what it depends on
(function and the source of its module, arguments, the results it was given, data and version) and its result. A cell
whose line has the digest of today is not run again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import nolana
from nolana._threads import one_blas_thread
from nolana.paper.experiment import Cell, Result, Results, Source

__all__ = ["Kept", "run"]

CELLS = "cells.jsonl"


class Kept:
    """The results of a directory, by key."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / CELLS
        self._lines: dict[str, tuple[str, Result]] = {}
        if self._path.exists():
            whole = self._path.read_bytes()
            for line in whole.split(b"\n"):
                try:
                    entry = json.loads(line)
                    self._lines[entry["key"]] = (entry["digest"], entry["result"])
                except (ValueError, KeyError, TypeError):
                    continue  # the line that an interruption cut short
            if whole and not whole.endswith(b"\n"):
                with self._path.open("ab") as file:
                    file.write(b"\n")

    def find(self, key: str, digest: str) -> Result | None:
        """The result of a cell, if it was run just so."""
        found = self._lines.get(key)
        return found[1] if found is not None and found[0] == digest else None

    def keep(self, key: str, digest: str, result: Result) -> Result:
        """Write the result down; what is returned is what a later run will read."""
        line = json.dumps({"key": key, "digest": digest, "result": result}, allow_nan=True)
        with self._path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        again: Result = json.loads(line)["result"]
        self._lines[key] = (digest, again)
        return again


def digest_of(cell: Cell, given: Results, source: str) -> str:
    """What the result of a cell depends on."""
    home, name = cell.work.__module__, cell.work.__qualname__
    what = [home, _code_of(home), name, dict(cell.arguments), dict(given), source, nolana.__version__]
    return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()[:16]


@lru_cache
def _code_of(module: str) -> str:
    """A digest of the source of a module."""
    path = sys.modules[module].__file__
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""


def run(
    cells: Sequence[Cell],
    source: Source,
    kept: Kept,
    *,
    jobs: int,
    label: str,
    progress: Callable[[str, float], None],
) -> dict[str, Result]:
    """The results of all cells.

    Parameters
    ----------
    cells : each at most once; those they need are among them.
    source : of the data.
    kept : where results are, and go.
    jobs : processes.
    label : names the data of the source; results of another label are not used.
    progress : told the key and the cost of every cell that is finished.
    """
    results: dict[str, Result] = {}
    todo = {cell.key: cell for cell in cells}

    def finish(cell: Cell, result: Result) -> None:
        results[cell.key] = result
        progress(cell.key, cell.cost)

    def given_to(cell: Cell) -> dict[str, Result]:
        return {key: results[key] for key in cell.needs}

    def take_kept() -> bool:
        """Whether any of the cells that can be run now was run before."""
        before = len(todo)
        for cell in _ready(todo, results):
            found = kept.find(cell.key, digest_of(cell, given_to(cell), label))
            if found is not None:
                del todo[cell.key]
                finish(cell, found)
        return len(todo) < before

    pool: ProcessPoolExecutor | None = None
    running: dict[Future[Result], tuple[Cell, str]] = {}
    try:
        while todo or running:
            while take_kept():
                pass  # what was taken may be what others wait for
            ready = _ready(todo, results)
            if not ready and not running:
                if todo:
                    raise ValueError(f"the plan lacks the cells that these need: {', '.join(todo)}")
                break
            together = [cell for cell in ready if not cell.alone]
            start = [cell for cell in together if len(running) < jobs] or ([] if running else ready[:1])
            for cell in start:
                if len(running) >= jobs and not cell.alone:
                    break
                pool = pool or ProcessPoolExecutor(jobs, get_context("spawn"), _end_with_parent)
                future = pool.submit(_work, cell.work, source, given_to(cell), dict(cell.arguments))
                running[future] = (todo.pop(cell.key), digest_of(cell, given_to(cell), label))
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                cell, digest = running.pop(future)
                finish(cell, kept.keep(cell.key, digest, future.result()))
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
    """What can be run now, the long ones first."""
    ready = [cell for cell in todo.values() if all(key in results for key in cell.needs)]
    return sorted(ready, key=lambda cell: -cell.cost)


def _end_with_parent() -> None:
    """A worker whose run was killed would wait for cells forever."""
    parent = parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_and_end, daemon=True).start()


def _work(work: Callable[..., Result], source: Source, given: Results, arguments: dict[str, Any]) -> Result:
    with one_blas_thread():
        return work(source, given, **arguments)
