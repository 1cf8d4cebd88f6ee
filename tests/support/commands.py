"""Run nolana commands in children that can be killed, without the start-up time of a new interpreter.

The children are forked from a server that runs one thread and has loaded the commands: forking the process of the
tests, which runs threads, could deadlock. What is passed to a child must be picklable.
"""

import multiprocessing
import multiprocessing.forkserver
import os
import pkgutil
import sys
import time
import traceback
from dataclasses import dataclass
from functools import cache
from unittest import mock

import nolana.cli
import nolana.serve

DEADLINE = 120  # seconds for one command, the start of the server included
TERMINAL = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")  # would change the output
# Libraries that start threads when they are loaded: BLAS, and the allocator of pyarrow, which pandas loads.
NO_THREADS = {f"{blas}_NUM_THREADS": "1" for blas in ("OPENBLAS", "OMP", "MKL")} | {
    "JE_ARROW_MALLOC_CONF": "background_thread:false"
}


@dataclass
class Done:
    code: int  # negative: the signal that killed it
    out: str
    err: str


@cache
def _context():
    """The fork server, with every module of the command line and of the service loaded."""
    context = multiprocessing.get_context("forkserver")
    packages = ((nolana.cli.__path__, "nolana.cli."), (nolana.serve.__path__, "nolana.serve."))
    modules = [module.name for package in packages for module in pkgutil.iter_modules(*package)]
    context.set_forkserver_preload(modules)
    with mock.patch.dict(os.environ, NO_THREADS):
        multiprocessing.forkserver.ensure_running()
    return context


def start(*arguments, folder, before=None, stdin=os.devnull):
    """Start a command in a child; `before` is called there first, `stdin` is the path of its standard input."""
    words = ["nolana", *map(str, arguments)]
    for name in (".out", ".err"):
        (folder / name).write_bytes(b"")  # here, not in the child: it may be killed before it comes to that
    environment = {name: value for name, value in os.environ.items() if name not in TERMINAL}
    # A daemon is killed with the tests; any other child would be waited for without end.
    child = _context().Process(target=_run, args=(words, folder, before, stdin, environment), daemon=True)
    child.start()
    return child


def _run(words, folder, before, stdin, environment):
    """The child: its output goes to the files .out and .err of the folder."""
    code = 99
    try:
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        for number, name in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(folder / name, os.O_WRONLY), number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = words
        os.environ.clear()
        os.environ.update(environment)
        if before is not None:
            before()
        try:
            nolana.cli.main()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait(child, folder):
    child.join(DEADLINE)
    if child.exitcode is None:
        child.kill()
        raise TimeoutError(f"the command did not end within {DEADLINE} s")
    return Done(child.exitcode, (folder / ".out").read_text(), (folder / ".err").read_text())


def call(*arguments, folder, before=None, stdin=os.devnull):
    return wait(start(*arguments, folder=folder, before=before, stdin=stdin), folder)


def wait_for(path):
    """Wait until there is a file at the path."""
    deadline = time.monotonic() + DEADLINE
    while not path.exists():
        assert time.monotonic() < deadline, f"no file {path} after {DEADLINE} s"
        time.sleep(0.005)


def kill_after(writes, seconds, path, *arguments, folder):
    """Let the command write a file so many times, wait a moment more, then kill -9; it may have ended before."""
    child, seen = start(*arguments, folder=folder), _identity(path)
    deadline = time.monotonic() + DEADLINE
    while writes and child.is_alive():
        assert time.monotonic() < deadline, f"the command did not write {path} within {DEADLINE} s"
        time.sleep(0.0005)
        now = _identity(path)
        writes, seen = writes - (now != seen), now
    time.sleep(seconds)
    child.kill()
    return wait(child, folder)


def _identity(path):
    try:
        return path.stat().st_ino, path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
