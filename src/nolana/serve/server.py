"""The server: it accepts connections until a signal comes, then it answers what has come, and the model is saved."""

import asyncio
import socket
from contextlib import nullcontext
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nolana.runs.process import Stop
from nolana.serve.app import App
from nolana.serve.service import Service

__all__ = ["listen", "run"]

BACKLOG = 1024
IDLE = 30  # seconds after which a connection without requests is closed
LARGEST_HEAD = 1 << 16  # bytes of the request line and the headers


class _Protocol(HttpToolsProtocol):
    """A connection; a client that sends its headers too slowly, or too many of them, is cut off."""

    timeout = 10.0
    _deadline: asyncio.TimerHandle | None = None
    _head = 0  # bytes since the last complete head of a request

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
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

    def capture_signals(self) -> Any:
        """The signals are handled by `Stop`."""
        return nullcontext()

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


def run(app: App, opened: socket.socket, stop: Stop, *, timeout: float, connections: int) -> None:
    """Serve until a stop is requested."""
    protocol = type("Protocol", (_Protocol,), {"timeout": timeout})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=connections,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=max(1, round(timeout)),
    )
    _Server(config, stop, app.service).run(sockets=[opened])
