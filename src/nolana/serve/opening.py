"""How a service is opened: model file and log must belong together, then the tail of the log is learned."""

import os
from pathlib import Path

from nolana.errors import ConflictError, LogError
from nolana.modelfile.atomic import remove_leftovers
from nolana.serve.log import FILE, Log
from nolana.serve.model import NewModel, ServedModel, load
from nolana.serve.options import ServeOptions
from nolana.serve.service import Service

__all__ = ["open_service"]


def open_service(path: Path, new: NewModel, options: ServeOptions) -> tuple[Service, int]:
    """The service of a model file, and the number of records that were learned from the log; not yet started.

    The caller holds the lock of the model file, which can be written, unless the service is read-only.
    """
    if options.read_only:
        return Service(path, load(path, new, ""), new, None, every=options.interval), 0
    if options.log is None:
        raise ConflictError("--log DIR is missing: the directory of the log; or add --read-only")
    remove_leftovers(path)
    if options.new_log:
        _put_aside(options.log)
    log = Log(options.log, most_ids=options.ids, most_waiting_bytes=options.waiting)
    try:
        model = load(path, new, log.id) if path.exists() else None
        known = _check(path, model, log, new_log=options.new_log)
        service = Service(
            path, model, new, log,
            every=options.interval, keep_log=options.keep_log, most_jobs=options.queue,
        )  # fmt: skip
        count = service.replay()
        # From now on the file says which log it belongs to, and where it is in it.
        service.checkpoint(always=not known)
        if service.checkpoint_failure is not None:
            raise LogError(f"the first checkpoint could not be written: {service.checkpoint_failure}")
        return service, count
    except BaseException:
        log.close()
        raise


def _check(path: Path, model: ServedModel | None, log: Log, *, new_log: bool) -> bool:
    """Whether the model file knows the log already; ConflictError where they do not belong together."""
    if model is None:
        if log.deleted:
            raise ConflictError(
                f"there is no model file {str(path)!r}, but the first {log.deleted:,} records of {log.path} were "
                "learned and deleted. Restore the model file, or choose another log"
            )
        return False
    saved = model.log_position
    if saved is not None and saved.id == log.id:
        if saved.position > log.last:
            raise ConflictError(
                f"{path} has learned {saved.position:,} records, but {log.path} ends at {log.last:,}: the log is "
                "older. Restore the newer log, or start a new one with --new-log"
            )
        if saved.position < log.deleted:
            raise ConflictError(
                f"{path} has learned {saved.position:,} records, but {log.path} begins after {log.deleted:,}: the "
                "model file is older. Restore the newer model file, or start a new log with --new-log"
            )
        return True
    if log.last or (saved is not None and not new_log):
        other = "was never served with it" if saved is None else "was served with another log"
        raise ConflictError(
            f"{path} and the log {log.path} do not belong together: the model {other}. Choose the log of this model, "
            "or start a new one with --new-log"
        )
    model.position = 0
    return False


def _put_aside(directory: Path) -> None:
    """Rename the files of a log, so that a new one can be made."""
    number = 1
    while (directory / f"{FILE}.{number}").exists():
        number += 1
    for ending in ("-shm", "-wal", ""):
        if (directory / (FILE + ending)).exists():
            os.rename(directory / (FILE + ending), directory / f"{FILE}.{number}{ending}")
