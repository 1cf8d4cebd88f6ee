"""A service from its start to its end.

Model file and log must belong together; then the tail of the log is learned, and the rows in quarantine whose label the
options make a class. Connections are accepted until a signal comes; what has come is answered, and the model is saved.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nolana.backend import text_parsers
from nolana.errors import ConflictError, LogError, Remedy
from nolana.modelfile.atomic import remove_leftovers
from nolana.runs.process import Stop
from nolana.serve.app import App
from nolana.serve.log import DamagedLogError, Log
from nolana.serve.model import NewModel, ServedModel, load
from nolana.serve.options import ServeOptions, size
from nolana.serve.service import Service

__all__ = ["listen", "open_service", "run"]

BACKLOG = 1024
IDLE = 30  # seconds after which a connection without requests is closed
LARGEST_HEAD = 1 << 16  # bytes of the request line and the headers


class MismatchError(ConflictError):
    """Model file and log do not belong together."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem, hint=hint, remedies=[Remedy("new_log", True, "starts a new one")])


def open_service(path: Path, new: NewModel, options: ServeOptions) -> tuple[Service, int]:
    """The service of a model file, and the number of records that were learned from the log; not yet started.

    The caller holds the lock of the model file, which can be written, unless the service is read-only. With ``new_log``
    a log that cannot be used is renamed: the model has then learned the records that can be read.
    """
    text_parsers()  # a service that cannot read rows does not start
    if options.read_only:
        return Service(path, load(path, new), new, None, options), 0
    if options.log is None:
        remedies = [Remedy("log", ..., "names its directory"), Remedy("read_only", True, "predicts without one")]
        raise ConflictError("the service has no log", remedies=remedies)
    remove_leftovers(path)
    service = Service(path, load(path, new) if path.exists() else None, new, None, options)
    try:
        return service, _open_log(service, options.log, options)
    except (DamagedLogError, MismatchError):
        if not options.new_log:
            raise
    Log.put_aside(options.log)
    if service.model is not None:
        service.model.follow(None)
    return service, _open_log(service, options.log, options)


def _open_log(service: Service, directory: Path, options: ServeOptions) -> int:
    """Open the log of a service and learn its tail; the number of its records."""
    log = service.log = Log(directory, most_ids=options.ids, most_waiting_bytes=size("waiting", options.waiting))
    try:
        _check(service.path, service.model, log)
        count = service.replay()
        service.release_known()
        is_new = service.model is not None and service.model.log is None
        if service.model is not None:
            service.model.follow(log.id, service.model.position)
        service.checkpoint(always=is_new)  # from now on the file says to which log it belongs
        if service.checkpoint_failure is not None:
            raise LogError(f"the first checkpoint could not be written: {service.checkpoint_failure}")
        return count
    except BaseException:
        log.close()
        raise


def _check(path: Path, model: ServedModel | None, log: Log) -> None:
    """MismatchError if model file and log do not belong together."""
    if model is None:
        if log.deleted:
            raise ConflictError(
                f"there is no model file {str(path)!r}, but the first {log.deleted:,} records of {log.path} were "
                "learned and deleted",
                hint="restore the model file, or choose another log",
            )
        return
    learned = f"{path} has learned {model.position:,} records, but {log.path}"
    if model.log != log.id and (log.last or model.log is not None):
        other = "was never served with it" if model.log is None else "was served with another log"
        what = f"{path} and the log {log.path} do not belong together: the model {other}"
        raise MismatchError(what, "choose the log of this model")
    if model.log == log.id and model.position > log.last:
        raise MismatchError(f"{learned} ends at {log.last:,}: the log is older", "restore the newer log")
    if model.log == log.id and model.position < log.deleted:
        what = f"{learned} begins after {log.deleted:,}: the model file is older"
        raise MismatchError(what, "restore the newer model file")


# Connections


class _Protocol(HttpToolsProtocol):
    """A connection; a client that sends its headers too slowly, or too many of them, is cut off."""

    timeout = 10.0
    _deadline: asyncio.TimerHandle | None = None
    _head = 0  # bytes since the last complete head of a request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait()

    def data_received(self, data: bytes) -> None:
        reading = self.cycle is None or self.cycle.response_complete
        if reading:
            self._head += len(data)
            if self._deadline is None:
                self._wait()
        super().data_received(data)
        if self._deadline is not None and self._head > LARGEST_HEAD:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._head = 0
        self._end_wait()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.timeout, self.transport.abort)

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Server(uvicorn.Server):
    """Ends when a stop is requested, or when the service has failed."""

    def __init__(self, config: uvicorn.Config, stop: Stop, service: Service) -> None:
        super().__init__(config)
        self._stop, self._service = stop, service

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The signals are handled by `Stop`."""
        yield

    async def on_tick(self, counter: int) -> bool:
        ended = await super().on_tick(counter)
        ended = ended or self._stop.requested or self._service.failure is not None
        if ended:
            self._service.stopping = True  # also the pages end
        return ended


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; OSError if the address cannot be used."""
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


def run(app: App, opened: socket.socket, stop: Stop, options: ServeOptions) -> None:
    """Serve until a stop is requested."""
    protocol = type("Protocol", (_Protocol,), {"timeout": options.timeout_seconds})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=options.connections,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=max(1, round(options.timeout_seconds)),
    )
    _Server(config, stop, app.service).run(sockets=[opened])
