"""Commands in a child of this process: as fast as a call, and as mortal as a process."""

import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass

import nolana.cli.evaluate
import nolana.cli.inspect
import nolana.cli.learn
import nolana.cli.predict  # noqa: F401  (loaded once, for all children)
from nolana.cli.app import run


@dataclass
class Done:
    code: int  # negative: the signal that killed it
    out: str
    err: str


def start(*arguments, folder, before=None, stdin=None):
    """Fork, and run the command in the child; returns its id. `before` is called there first."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / f".{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["nolana", *map(str, arguments)]
        if before is not None:
            before()
        code = run()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait(pid, folder):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Done(code, (folder / ".out").read_text(), (folder / ".err").read_text())


def call(*arguments, folder, before=None, stdin=None):
    return wait(start(*arguments, folder=folder, before=before, stdin=stdin), folder)


def kill_after(writes, seconds, path, *arguments, folder):
    """Let the command write a file so many times, wait a moment more, then kill -9; it may have ended before."""
    pid, seen = start(*arguments, folder=folder), _identity(path)
    while writes and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.0005)
        now = _identity(path)
        writes, seen = writes - (now != seen), now
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return wait(pid, folder)


def _identity(path):
    try:
        return path.stat().st_ino, path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
