"""A file is replaced as a whole: written beside, flushed to the disk, renamed over the old one."""

import contextlib
import os
import re
import secrets
import shutil

from nolana.errors import ModelFileError


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content in the place of path; on any failure what was there stays, and nothing else is left."""
    target = os.path.realpath(path)  # a link stays a link
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError):
            raise ModelFileError(
                f"cannot write {os.fspath(path)} ({len(content)} bytes): {error.strerror or error}; "
                "a file that was there before is as it was"
            ) from error
        raise
    _flush_folder(folder)


def file_identity(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """What changes when a file is replaced; None: there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what writers of path that were killed left beside it; nobody else may be writing it now."""
    folder, name = os.path.split(os.path.realpath(path))
    beside = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{16}\.tmp")
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if beside.fullmatch(entry):
                os.unlink(os.path.join(folder, entry))


def _flush_folder(folder: str) -> None:
    """The new name itself reaches the disk; not every system can do this, and the file is there either way."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
