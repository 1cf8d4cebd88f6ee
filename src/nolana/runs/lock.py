"""One writer for a model file: a lock file beside it names the process that has locked it.

Two mechanisms, because each covers what the other cannot:

- The file is created with O_EXCL, which is atomic on local and on network file systems, and names process and host. A
  process that was killed leaves it behind.
- The holder has an flock on it. The kernel releases it with the process: on one machine it shows whether a lock is held
  or was left behind, and only one of several processes can take it over. On a network file system flock may be local to
  each machine, or missing; then process and host decide, and a lock of another host is never taken over.
"""

import contextlib
import errno
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TypedDict

from nolana.errors import LockedError
from nolana.runs.process import ENDS

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

__all__ = ["ModelLock", "release_all"]

ATTEMPTS = 100  # a lock may be removed by its holder while it is read
LARGEST = 4096  # bytes that are read of a lock file
NO_SUCH_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # neither a link nor a FIFO is a lock


_held: set["ModelLock"] = set()  # by this process


def release_all() -> None:
    """Before the process ends at once, without leaving its contexts."""
    for lock in list(_held):
        lock._release()


class Holder(TypedDict, total=False):
    """The process that has a lock, as its file says."""

    pid: int
    host: str
    start: str | None
    since: str


class ModelLock:
    """Within this context the model file is locked; LockedError if another process has locked it.

    Parameters
    ----------
    model : the model file; links to one file have one lock.
    report : called with a sentence if a lock that was left behind is taken over.
    """

    def __init__(self, model: str | os.PathLike[str], report: Callable[[str], None] = lambda _: None) -> None:
        self._model, self._report = os.fspath(model), report
        target = Path(os.path.realpath(model))
        self.path = target.with_name(f".{target.name}.lock")
        self._handle: int | None = None

    def __enter__(self) -> "ModelLock":
        try:
            for _ in range(ATTEMPTS):
                with _no_signals():
                    acquired = self._acquire()
                if acquired:
                    _held.add(self)
                    return self
        except BaseException:
            self._release()
            raise
        what = f"the lock {self.path} is created and removed again and again"
        raise LockedError(what, place=self._model, hint="retry later")

    def __exit__(self, *_: object) -> None:
        _held.discard(self)
        self._release()

    def _acquire(self) -> bool:
        """Whether the lock is ours now; False: it has changed in the meantime, retry."""
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return self._remove_if_left()
        if _flock(self._handle) is not False and self._is_at_path(self._handle):
            os.write(self._handle, json.dumps(_this_process()).encode())
            return True
        self._release()  # another process was faster than our flock
        return False

    def _remove_if_left(self) -> bool:
        """Remove a lock whose holder has ended; LockedError if it may still run. False: retry."""
        try:
            handle = os.open(self.path, os.O_RDONLY | SAFE)
        except FileNotFoundError:
            return False
        try:
            granted, holder = _flock(handle), _read(handle)
            if granted is not False and not self._is_at_path(handle):
                return False
            if granted is False or _may_be_alive(holder, certain=granted is True):
                raise self._refusal(holder)
            who = f"process {holder['pid']}" if holder else "a process"
            self._report(f"{who} ended without removing its lock on {self._model}; its last checkpoint is used")
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()  # others that have opened this file see that it is no longer at the path
        finally:
            os.close(handle)
        return False

    def _release(self) -> None:
        if self._handle is not None:
            if self._is_at_path(self._handle):
                with contextlib.suppress(OSError):
                    self.path.unlink()
            os.close(self._handle)
            self._handle = None

    def _is_at_path(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def _refusal(self, holder: Holder) -> LockedError:
        pid, host, since = (holder.get(name, "unknown") for name in ("pid", "host", "since"))
        who = f"locked by process {pid} on host {host} since {since}"
        if host == socket.gethostname():
            hint = f"wait until it ends, or stop it (kill {pid}), or choose another model file"
            return LockedError(who, place=self._model, hint=hint)
        hint = "wait until it ends; if that process no longer runs, remove that file and retry"
        return LockedError(f"{who}, as {self.path} says", place=self._model, hint=hint)


@contextlib.contextmanager
def _no_signals() -> Iterator[None]:
    """Within this context signals wait: none can come between the creation of a file and the note that it is ours."""
    mask = getattr(signal, "pthread_sigmask", None)
    before = mask(signal.SIG_BLOCK, {signal.SIGINT, *ENDS}) if mask else None
    try:
        yield
    finally:
        if mask:
            mask(signal.SIG_SETMASK, before)


def _flock(handle: int) -> bool | None:
    """Whether an flock was granted; None if the file system has none."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_SUCH_LOCKS:
            raise
        return None
    return True


def _this_process() -> Holder:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "start": _start_of(os.getpid()), "since": since}


def _read(handle: int) -> Holder:
    """What a lock file says; nothing if its writer was killed before it wrote."""
    try:
        record: Holder = json.loads(os.pread(handle, LARGEST, 0))
    except (ValueError, OSError):
        return {}
    return record if isinstance(record, dict) and isinstance(record.get("pid"), int) else {}


def _may_be_alive(holder: Holder, *, certain: bool) -> bool:
    """Whether the holder may still run; certain: our flock says that no process of this machine holds the lock."""
    if not holder:
        return not certain
    if holder.get("host") != socket.gethostname():
        return True
    if holder["pid"] == os.getpid():
        return not certain
    try:
        os.kill(holder["pid"], 0)
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    except PermissionError:
        pass
    return bool(holder.get("start") == _start_of(holder["pid"]))  # otherwise the number belongs to another process


def _start_of(pid: int) -> str | None:
    """When a process started, as Linux counts it; None if the system does not report it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        return None
