"""The endpoints: requests in, answers out; the work is done by the service."""

import asyncio
import contextlib
import functools
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from nolana.errors import Remedy, Words
from nolana.learner.rows import MomentRows
from nolana.serve.bodies import Intake, read_body, read_choice
from nolana.serve.jobs import AnyJob, Classes, Decided, FetchModel, Learn, Learned, Store
from nolana.serve.openapi import description
from nolana.serve.options import ServeOptions, is_loopback, size
from nolana.serve.refusal import RETRY, Refusal
from nolana.serve.rows import as_object, with_label, with_moments
from nolana.serve.service import Service, deliver
from nolana.serve.status import note_error, prometheus

__all__ = ["App", "Guard"]

J = TypeVar("J", bound=AnyJob)
Handler = Callable[[Request], Awaitable[Response]]

VIEWERS = 32  # of the page at a time
OPEN = ("/", "/healthz")  # without a token: they have nothing of the model
QUARANTINED = (
    "rows with a label that is no class of the model are kept and not learned: correct the label, or accept it as a "
    "class with POST /classes"
)
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


class Guard:
    """Checks each request before anything else is done with it.

    Without a token the service listens on an address of this machine. A page of another site must not use it through
    the browser, so the header Host must name this machine, and Origin must be the same.

    Parameters
    ----------
    token : that a request must have; None: no token is needed.
    host : the address on which the service listens.
    """

    def __init__(self, token: bytes | None, host: str) -> None:
        self._expected = None if token is None else b"Bearer " + token
        self._local = token is None and is_loopback(host)

    def check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refusal if the request is not allowed."""
        if self._local:
            self._check_local(headers)
        if self._expected is None or path in OPEN:
            return
        # Takes the same time wherever the first difference is.
        if not hmac.compare_digest(headers.get(b"authorization", b"").strip(), self._expected):
            raise Refusal(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN")

    def _check_local(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
        if not is_loopback(name):
            raise Refusal(
                403,
                "the header Host names {value}",
                value=host[:100],
                hint="use 127.0.0.1",
                remedies=[Remedy("token_file", ..., "allows other names")],
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            remedies = [Remedy("token_file", ..., "allows them")]
            raise Refusal(403, "pages of other sites may not use this service", remedies=remedies)


class App:
    """The application that a server of ASGI runs.

    Parameters
    ----------
    service : the model and its log.
    guard : who may use it.
    options : the largest body, and the time in which a body must have come, and in which a request is answered.
    words : how the program that starts the service writes its options, for remedies.
    """

    def __init__(self, service: Service, guard: Guard, options: ServeOptions, words: Words = str) -> None:
        self.service, self._guard, self._timeout, self._words = service, guard, options.timeout_seconds, words
        self._intake = Intake(service.counters, size("max_request", options.max_request), self._timeout)
        self._viewers = 0
        self._page = files("nolana.serve").joinpath("page.html").read_bytes()
        self._loop: asyncio.AbstractEventLoop | None = None
        routes = [
            ("/predict", self.predict, "POST"),
            ("/learn", self.learn, "POST"),
            ("/classes", self.classes, "GET"),
            ("/classes", self.choose_classes, "POST"),
            ("/model", self.model, "GET"),
            ("/metrics", self.metrics, "GET"),
            ("/healthz", self.health, "GET"),
            ("/events", self.events, "GET"),
            ("/openapi.json", self.openapi, "GET"),
            ("/", self.page, "GET"),
        ]
        self._app = Starlette(
            routes=[Route(path, self._checked(path, handler), methods=[method]) for path, handler, method in routes],
            exception_handlers={HTTPException: self._unknown},
        )
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self.service.deliver = functools.partial(_deliver_to, self._loop)
        await self._app(scope, receive, send)

    def _checked(self, path: str, handler: Handler) -> Handler:
        """The handler, with the guard before it; what it refuses, and every error, becomes an answer."""

        async def answer(request: Request) -> Response:
            begin = time.perf_counter()
            try:
                self._guard.check(path, dict(request.scope["headers"]))
                response = await handler(request)
            except Refusal as refusal:
                response = self._refuse(path, refusal)
            except Exception:
                note_error()
                response = self._refuse(
                    path, Refusal(500, "internal error; the standard error of the service has the traceback")
                )
            finally:
                self._intake.release(request)
            self.service.counters.answered(path, response.status_code, time.perf_counter() - begin)
            return response

        return answer

    def _refuse(self, path: str, refusal: Refusal) -> Response:
        answer = refusal.answer(self._words)
        self.service.counters.refused(path, refusal.status, str(answer["error"]))
        response = _json(answer, refusal.status)
        if refusal.retry_after is not None:
            response.headers["retry-after"] = str(refusal.retry_after)
        if refusal.status == 401:
            response.headers["www-authenticate"] = "Bearer"
        if refusal.close:
            response.headers["connection"] = "close"
        return response

    async def _unknown(self, request: Request, error: Exception) -> Response:
        """No such path, or another method."""
        assert isinstance(error, HTTPException)
        legal = "POST /predict, /learn and /classes; GET /, /classes, /model, /metrics, /healthz and /openapi.json"
        return _json({"error": f"{error.detail}; there are: {legal}"}, error.status_code)

    # Endpoints

    async def predict(self, request: Request) -> Response:
        """Predict rows; with an id they are stored until their labels come."""
        answer, store = await self._intake.read(request, self._predict)
        if store is not None:
            answer["stored"] = (await self._wait(store)).get()
        return _json(answer)

    def _predict(self, content: bytes, kind: str, query: Mapping[str, str]) -> tuple[dict[str, object], Store | None]:
        body = read_body(content, kind, query)
        if body.labels is not None:
            raise Refusal(400, 'a prediction takes no labels; send "rows", and POST /learn for labels')
        if body.id is not None and self.service.log is None:
            raise Refusal(403, "the service is read-only and stores no rows; leave out the id")
        if not body.rows:
            raise Refusal(400, 'there are no rows; send {"rows": [{"column": value, ...}]}')
        model = self.service.model
        answer: dict[str, object] = {"predictions": [None] * len(body.rows), "rows": 0}
        if model is None or not model.fitted:
            if body.id is None:
                raise Refusal(409, "the model has learned nothing yet; POST /learn first")
            return answer, Store(b"\n".join(as_object(row) for row in body.rows), body.id)
        text = b"\n".join(as_object(row, model.reader.names) for row in body.rows)
        rows = model.reader.read(text, labelled=False)
        x = model.encoded(rows)
        answer = model.predict(x, body.level)
        if rows.new:
            answer["unknown_columns"] = rows.unknown_columns
        if body.id is None:
            return answer, None
        if isinstance(x, MomentRows):  # learned with what this prediction knew
            text = with_moments(text, [msgspec.json.encode(moment) for moment in x.moment.tolist()])
        return answer, Store(text, body.id)

    async def learn(self, request: Request) -> Response:
        """Learn rows with labels, or the labels of rows that were predicted with an id."""
        self._check_log()
        learned = (await self._wait(await self._intake.read(request, self._learn))).get()
        self.service.counters.duplicates += learned.duplicate
        return _json(_answer(learned), 202 if learned.held else 200)

    def _learn(self, content: bytes, kind: str, query: Mapping[str, str]) -> Learn:
        body = read_body(content, kind, query)
        if body.level is not None:
            raise Refusal(400, 'a "level" is for POST /predict')
        if body.rows is None:
            if body.id is None or not body.labels:
                raise Refusal(
                    400, 'send "rows" and "labels", or "id" and "label" of rows that were predicted with this id'
                )
            return Learn(labels=body.labels, id=body.id)
        if not body.rows:
            raise Refusal(400, "there are no rows")
        model = self.service.model
        names, target = (None, self.service.new.target) if model is None else (model.reader.names, model.reader.target)
        lines = [as_object(row, names) for row in body.rows]
        if body.labels is not None:
            if len(body.labels) != len(lines):
                raise Refusal(400, f"there are {len(lines)} rows and {len(body.labels)} labels; send one for each row")
            lines = [with_label(line, target, label) for line, label in zip(lines, body.labels, strict=True)]
        text = b"\n".join(lines)
        return Learn(text, None if model is None else model.reader.read(text, labelled=True), id=body.id)

    def _check_log(self) -> None:
        if self.service.log is None:
            raise Refusal(403, "the service is read-only; it predicts and does not learn")

    async def classes(self, _: Request) -> Response:
        """The classes, and the labels in quarantine."""
        return _json(_chosen((await self._wait(Classes())).get()))

    async def choose_classes(self, request: Request) -> Response:
        """Accept or discard labels in quarantine."""
        self._check_log()
        decided = (await self._wait(await self._intake.read(request, read_choice))).get()
        return _json(_chosen(decided) | {"learned": decided.learned, "discarded": decided.discarded})

    async def model(self, _: Request) -> Response:
        """The current model file."""
        content = (await self._wait(FetchModel())).get()
        log = self.service.log
        headers = HEADERS | {
            "content-disposition": f'attachment; filename="{_plain(self.service.path.name)}"',
            "nolana-quarantine-rows": str(0 if log is None else log.quarantine.rows),  # they are not in the file
        }
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def metrics(self, _: Request) -> Response:
        """Metrics for Prometheus."""
        return Response(prometheus(self.service), media_type="text/plain; version=0.0.4", headers=HEADERS)

    async def health(self, _: Request) -> Response:
        """Whether the service works."""
        service, problem = self.service, None
        if service.failure is not None or service.stopping:
            problem = "the service ends"
        elif service.log_failure is not None:
            problem = "the log cannot be written"
        elif service.checkpoint_failure is not None:
            problem = "the model file cannot be written or read"
        return _json({"status": problem or "ok"}, 503 if problem else 200)

    async def openapi(self, _: Request) -> Response:
        """The description of all endpoints."""
        return _json(description(self.service))

    async def page(self, _: Request) -> Response:
        """The live page."""
        return Response(self._page, media_type="text/html; charset=utf-8", headers=HEADERS | PAGE_HEADERS)

    async def events(self, _: Request) -> Response:
        """The summary, once a second, as server-sent events."""
        if self._viewers >= VIEWERS:
            raise Refusal(429, f"{VIEWERS} pages are open already; retry later", retry_after=10)
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=HEADERS)

    async def _events(self) -> AsyncIterator[bytes]:
        self._viewers += 1
        try:
            while not self.service.stopping:
                yield b"data: " + _encode(self._now()) + b"\n\n"
                for _ in range(10):
                    if not self.service.stopping:
                        await asyncio.sleep(0.1)
        finally:
            self._viewers -= 1

    def _now(self) -> dict[str, object]:
        service, counters = self.service, self.service.counters
        latency = {path: [each.quantile(0.5), each.quantile(0.99)] for path, each in counters.latency.items()}
        return service.summary | {
            "seconds": time.monotonic() - counters.begun,
            "requests": sum(counters.requests.values()),
            "latency": latency,
            "queue": service.waiting,
            "waiting": 0 if service.log is None else service.log.waiting,
            "quarantine_rows": 0 if service.log is None else service.log.quarantine.rows,
            "lag": service.summary.get("position", 0) - service.checkpoint_position,
            "duplicates": counters.duplicates,
            "errors": list(counters.errors),
            "problem": service.failure or service.log_failure or service.checkpoint_failure,
        }

    async def _wait(self, job: J) -> J:
        """The job, when the thread that writes has done it."""
        self.service.submit(job)
        try:
            async with asyncio.timeout(self._timeout):
                await job.done.wait()
        except TimeoutError:
            what = f"no answer within {self._timeout:g} s; it may still be learned: retry with the same id"
            raise Refusal(503, what, retry_after=RETRY) from None
        finally:
            job.abandoned = True
        return job


def _deliver_to(loop: asyncio.AbstractEventLoop, jobs: Sequence[AnyJob]) -> None:
    """All results of a group wake the event loop once."""
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(deliver, jobs)


def _answer(learned: Learned) -> dict[str, object]:
    """What a client gets for rows to learn; rows in quarantine have no prediction and no score."""
    rows, held = learned.rows, learned.held
    count = 0 if rows is None else len(rows)
    answer: dict[str, object] = {"rows": count, "duplicate": learned.duplicate, "position": learned.position}
    if rows is not None:
        places = {row.row - 1 for row in held}
        predicted, scores = iter(rows.answers), iter(rows.scores.tolist())
        answer["predictions"] = [None if i in places else next(predicted) for i in range(count + len(held))]
        answer["scores"] = [None if i in places else next(scores) for i in range(count + len(held))]
        if rows.classes is not None:
            answer["classes"] = rows.classes.tolist()
    if held:
        answer["quarantined"] = [{"row": row.row, "label": json.loads(row.label)} for row in held]
        answer["message"] = QUARANTINED
    if learned.unknown_columns:
        answer["unknown_columns"] = learned.unknown_columns
    return answer


def _chosen(decided: Decided) -> dict[str, object]:
    quarantine = [{"label": label, "rows": rows} for label, rows in decided.quarantine]
    return {"classes": decided.classes, "quarantine": quarantine}


def _json(content: dict[str, object], status: int = 200) -> Response:
    return Response(_encode(content), status, media_type="application/json", headers=HEADERS)


def _encode(content: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(content)
    except OverflowError:  # a label beyond 64 bits
        return json.dumps(content).encode()


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
