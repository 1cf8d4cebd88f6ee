"""The endpoints: requests in, answers out; the work is done by the service."""

import asyncio
import contextlib
import functools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from nolana.errors import Words
from nolana.learner.rows import MomentRows
from nolana.serve.bodies import Body, read_body, read_choice
from nolana.serve.guard import Guard
from nolana.serve.jobs import Classes, Decided, FetchModel, Job, Learn, Learned, Store
from nolana.serve.openapi import description
from nolana.serve.refusal import RETRY, Refusal
from nolana.serve.rows import as_object, with_label, with_moments
from nolana.serve.service import Service, deliver
from nolana.serve.status import note_error, prometheus

__all__ = ["App"]

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]

SMALL = 1 << 14  # bytes of a body that is read by the thread of the event loop
READERS = 2  # threads for larger bodies
BODIES = 8  # largest bodies that may be in memory at a time
VIEWERS = 32  # of the page at a time
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


class App:
    """The application that a server of ASGI runs.

    Parameters
    ----------
    service : the model and its log.
    guard : who may use it.
    max_request : bytes of a body.
    timeout : seconds in which a body must have come, and in which a request is answered.
    words : how the program that starts the service writes its options, for remedies.
    """

    def __init__(self, service: Service, guard: Guard, *, max_request: int, timeout: float, words: Words = str) -> None:
        self.service, self._guard, self._max_request, self._timeout = service, guard, max_request, timeout
        self._words = words
        self._memory = BODIES * max_request  # bytes that are left for bodies
        self._viewers = 0
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
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

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
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
            self.service.counters.answered(path, response.status_code, time.perf_counter() - begin)
            return response

        return answer

    def _refuse(self, path: str, refusal: Refusal) -> Response:
        answer = refusal.answer(self._words)
        self.service.counters.refused(path, refusal.status, answer["error"])
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
        service, loaded = self.service, await self._body(request, read_body)
        body, held = loaded
        try:
            if body.labels is not None:
                raise Refusal(400, 'a prediction takes no labels; send "rows", and POST /learn for labels')
            if body.id is not None and service.log is None:
                raise Refusal(403, "the service is read-only and stores no rows; leave out the id")
            text, answer = await self._worker(held, functools.partial(self._predict, body))
            if body.id is not None:
                answer["stored"] = await self._wait(functools.partial(Store, text=text, id=body.id))
            return _json(answer)
        finally:
            self._memory += held

    def _predict(self, body: Body) -> tuple[bytes, dict[str, object]]:
        if not body.rows:
            raise Refusal(400, 'there are no rows; send {"rows": [{"column": value, ...}]}')
        model = self.service.model
        if model is None or not model.estimator.__sklearn_is_fitted__():
            if body.id is None:
                raise Refusal(409, "the model has learned nothing yet; POST /learn first")
            text = b"\n".join(as_object(row) for row in body.rows)
            return text, {"predictions": [None] * len(body.rows), "rows": 0}
        text = b"\n".join(model.reader.as_line(row) for row in body.rows)
        rows = model.reader.read(text, labelled=False)
        unknown = rows.unknown_columns
        x = model.encoded(rows)
        answer = model.predict(x, body.level) | ({"unknown_columns": unknown} if unknown else {})
        if isinstance(x, MomentRows) and body.id is not None:  # learned with what this prediction knew
            text = with_moments(text, [msgspec.json.encode(moment) for moment in x.moment.tolist()])
        return text, answer

    async def learn(self, request: Request) -> Response:
        """Learn rows with labels, or the labels of rows that were predicted with an id."""
        if self.service.log is None:
            raise Refusal(403, "the service is read-only; it predicts and does not learn")
        body, held = await self._body(request, read_body)
        try:
            make = await self._worker(held, functools.partial(self._learn, body))
            learned: Learned = await self._wait(make)
        finally:
            self._memory += held
        self.service.counters.duplicates += learned.duplicate
        return _json(_answer(learned), 202 if learned.held else 200)

    def _learn(self, body: Body) -> Callable[[Callable[[object], None]], Job]:
        if body.level is not None:
            raise Refusal(400, 'a "level" is for POST /predict')
        if body.rows is None:
            if body.id is None or not body.labels:
                raise Refusal(
                    400, 'send "rows" and "labels", or "id" and "label" of rows that were predicted with this id'
                )
            return functools.partial(Learn, labels=body.labels, id=body.id)
        if not body.rows:
            raise Refusal(400, "there are no rows")
        model = self.service.model
        if model is None:
            lines, target = [as_object(row) for row in body.rows], self.service.new.target
        else:
            lines, target = [model.reader.as_line(row) for row in body.rows], model.reader.target
        if body.labels is not None:
            if len(body.labels) != len(lines):
                raise Refusal(400, f"there are {len(lines)} rows and {len(body.labels)} labels; send one for each row")
            lines = [with_label(line, target, label) for line, label in zip(lines, body.labels, strict=True)]
        text = b"\n".join(lines)
        rows = None if model is None else model.reader.read(text, labelled=True)
        return functools.partial(Learn, text=text, rows=rows, id=body.id)

    async def classes(self, _: Request) -> Response:
        """The classes, and the labels in quarantine."""
        return _json(_chosen(await self._wait(Classes)))

    async def choose_classes(self, request: Request) -> Response:
        """Accept or discard labels in quarantine."""
        if self.service.log is None:
            raise Refusal(403, "the service is read-only; it predicts and does not learn")
        choice, held = await self._body(request, lambda content, kind, _: read_choice(content, kind))
        try:
            decided = await self._wait(functools.partial(Classes, accept=choice.accept, discard=choice.discard))
        finally:
            self._memory += held
        return _json(_chosen(decided) | {"learned": decided.learned, "discarded": decided.discarded})

    async def model(self, _: Request) -> Response:
        """The current model file."""
        content = await self._wait(FetchModel)
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

    # Bodies and jobs

    async def _body(self, request: Request, reader: Callable[..., T]) -> tuple[T, int]:
        """The request, and the bytes that it holds of the memory for bodies until it is answered."""
        declared = request.headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > self._max_request:
            raise self._too_large()
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._timeout):
                more = True
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "the client has disconnected", close=True)
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    if size > self._max_request:
                        raise self._too_large()
                    if 4 * len(part) > self._memory:
                        self.service.counters.overloads += 1
                        raise Refusal(
                            429, "too many large requests at a time; retry later", retry_after=RETRY, close=True
                        )
                    self._memory -= 4 * len(part)  # rows as numbers need more than their text
                    parts.append(part)
            kind = request.headers.get("content-type", "")
            read = functools.partial(reader, b"".join(parts), kind, request.query_params)
            return await self._worker(size, read), 4 * size
        except BaseException as error:
            self._memory += 4 * sum(map(len, parts))
            if isinstance(error, TimeoutError):
                raise Refusal(
                    408, f"the request did not come within {self._timeout:g} s", retry_after=RETRY, close=True
                ) from error
            raise

    def _too_large(self) -> Refusal:
        return Refusal(413, f"a request may have {self._max_request:,} bytes; send several requests", close=True)

    async def _worker(self, size: int, call: Callable[[], T]) -> T:
        """The result of a call; large requests do not hold up the others."""
        if size <= SMALL:
            return call()
        assert self._loop is not None
        return await self._loop.run_in_executor(self._pool, call)

    async def _wait(self, make: Callable[[Callable[[Any], None]], Job]) -> Any:
        """The result of a job of the thread that writes."""
        assert self._loop is not None
        future: asyncio.Future[object] = self._loop.create_future()
        job = make(functools.partial(_resolve, future))
        self.service.submit(job)
        try:
            async with asyncio.timeout(self._timeout):
                result = await future
        except TimeoutError:
            job.abandoned = True
            what = f"no answer within {self._timeout:g} s; it may still be learned: retry with the same id"
            raise Refusal(503, what, retry_after=RETRY) from None
        except asyncio.CancelledError:
            job.abandoned = True
            raise
        if isinstance(result, Refusal):
            raise result
        return result


def _deliver_to(loop: asyncio.AbstractEventLoop, results: list[tuple[Job, object]]) -> None:
    """All results of a group wake the event loop once."""
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(deliver, results)


def _resolve(future: "asyncio.Future[object]", result: object) -> None:
    if not future.done():
        future.set_result(result)


def _answer(learned: Learned) -> dict[str, object]:
    """What a client gets for rows to learn; rows in quarantine have no prediction and no score."""
    outcome, held = learned.outcome, learned.held
    count = 0 if outcome is None else len(outcome.scores)
    answer: dict[str, object] = {"rows": count, "duplicate": learned.duplicate, "position": learned.position}
    if outcome is not None:
        places = {row.row - 1 for row in held}
        scores, predicted = iter(outcome.scores.tolist()), iter(outcome.predicted)
        rows = range(count + len(held))
        answer["predictions"] = [None if i in places else next(predicted) for i in rows]
        answer["scores"] = [None if i in places else next(scores) for i in rows]
        if outcome.classes is not None:
            answer["classes"] = outcome.classes.tolist()
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
