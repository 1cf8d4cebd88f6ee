"""How a service is opened: model file and log must belong together, then the tail of the log is learned.

Then the rows in quarantine whose label the options make a class.
"""

from pathlib import Path

from nolana.backend import text_parsers
from nolana.errors import ConflictError, LogError, Remedy
from nolana.modelfile.atomic import remove_leftovers
from nolana.serve.log import DamagedLogError, Log
from nolana.serve.model import NewModel, ServedModel, load
from nolana.serve.options import ServeOptions
from nolana.serve.service import Service

__all__ = ["open_service"]


NEW_LOG = Remedy("new_log", True, "starts a new one")


class MismatchError(ConflictError):
    """Model file and log do not belong together."""


def open_service(path: Path, new: NewModel, options: ServeOptions) -> tuple[Service, int]:
    """The service of a model file, and the number of records that were learned from the log; not yet started.

    The caller holds the lock of the model file, which can be written, unless the service is read-only.
    """
    text_parsers()  # a service that cannot read rows does not start
    if options.read_only:
        return Service(path, load(path, new), new, None, options), 0
    if options.log is None:
        remedies = [Remedy("log", ..., "names its directory"), Remedy("read_only", True, "predicts without one")]
        raise ConflictError("the service has no log", remedies=remedies)
    remove_leftovers(path)
    model = load(path, new) if path.exists() else None
    log = _open_log(path, model, options)
    try:
        service = Service(path, model, new, log, options)
        count = 0
        try:
            count = service.replay()
        except DamagedLogError:
            if not options.new_log:
                raise
            log.close()
            service.log = log = _start_log(service.model, options)
        service.release_known()
        model = service.model
        is_new = model is not None and model.log is None
        if model is not None:
            model.follow(log.id, model.position)
        service.checkpoint(always=is_new)  # from now on the file says to which log it belongs
        if service.checkpoint_failure is not None:
            raise LogError(f"the first checkpoint could not be written: {service.checkpoint_failure}")
        return service, count
    except BaseException:
        log.close()
        raise


def _open_log(path: Path, model: ServedModel | None, options: ServeOptions) -> Log:
    """The log of a model; with ``new_log`` a new one, if the existing one cannot be used."""
    log = None
    try:
        log = _log(options)
        _check(path, model, log)
        return log
    except BaseException as error:
        if log is not None:
            log.close()
        if not options.new_log or not isinstance(error, DamagedLogError | MismatchError):
            raise
    return _start_log(model, options)


def _start_log(model: ServedModel | None, options: ServeOptions) -> Log:
    """A new log in the place of one that cannot be used."""
    assert options.log is not None
    Log.put_aside(options.log)
    if model is not None:
        model.follow(None)
    return _log(options)


def _log(options: ServeOptions) -> Log:
    assert options.log is not None
    return Log(options.log, most_ids=options.ids, most_waiting_bytes=options.waiting_bytes)


def _check(path: Path, model: ServedModel | None, log: Log) -> None:
    """MismatchError where model file and log do not belong together."""
    if model is None:
        if log.deleted:
            raise ConflictError(
                f"there is no model file {str(path)!r}, but the first {log.deleted:,} records of {log.path} were "
                "learned and deleted",
                hint="restore the model file, or choose another log",
            )
    elif model.log == log.id:
        if model.position > log.last:
            raise MismatchError(
                f"{path} has learned {model.position:,} records, but {log.path} ends at {log.last:,}: the log is older",
                hint="restore the newer log",
                remedies=[NEW_LOG],
            )
        if model.position < log.deleted:
            raise MismatchError(
                f"{path} has learned {model.position:,} records, but {log.path} begins after {log.deleted:,}: the "
                "model file is older",
                hint="restore the newer model file",
                remedies=[NEW_LOG],
            )
    elif log.last or model.log is not None:
        other = "was never served with it" if model.log is None else "was served with another log"
        raise MismatchError(
            f"{path} and the log {log.path} do not belong together: the model {other}",
            hint="choose the log of this model",
            remedies=[NEW_LOG],
        )
