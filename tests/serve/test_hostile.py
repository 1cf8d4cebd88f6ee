"""Hostile requests: no crash, no traceback in the answer, the model unchanged."""

import json
import socket
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import commands
import nolana
from serving import Served

TOKEN = "a-token-of-32-characters-0123456"
LIMITS = ("--max-request", "64KB", "--timeout", "1s", "--queue", "4", "--connections", "40", "--memory", "64KB")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    with Served(folder, *LIMITS, "--task", "classification") as served:
        X = np.random.default_rng(0).normal(size=(50, 2)).round(4)
        served.learn([{"a": a, "b": b} for a, b in X.tolist()], (X[:, 0] > 0).astype(int).tolist())
        yield served


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "token").write_text(f"{TOKEN}\n")
    with Served(folder, "--token-file", folder / "token", "--memory", "64KB") as served:
        yield served


@pytest.fixture(autouse=True)
def unchanged(request):
    """The service lives, its model has the same bytes, and it has printed no traceback."""
    if "served" not in request.fixturenames:
        yield
        return
    served = request.getfixturevalue("served")
    before = served.get("/model")[1]
    yield
    wait_until(lambda: served.get("/healthz")[0] == 200)
    assert served.get("/model")[1] == before
    assert "Traceback" not in (served.output / ".err").read_text()


def wait_until(condition):
    deadline = time.monotonic() + commands.DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def refused(answer, *statuses):
    status, content = answer
    assert status in (statuses or (400,)), content
    assert "Traceback" not in content["error"]
    assert 'File "' not in content["error"]
    return content["error"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "rows", "x"]) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("rows", "labels", "label", "id", "more"), JSON)))
def test_fuzzed_json_is_refused_or_predicted(served, body):
    status, answer = served.post("/predict", body | ({"rows": body["rows"]} if "rows" in body else {}))
    assert status in (200, 400, 409), answer
    if "labels" in body or "label" in body:  # never valid: labels must be integers, one for each row
        body = body | {"label": {"no": "label"}}
        body.pop("labels", None)
    assert served.post("/learn", body)[0] in (400, 404)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"rows"',
        b'{"rows": 5}',
        b'{"rows": {}}',
        b'{"rows": [5]}',
        b'{"rows": ["a"]}',
        b'{"rows": [{}]}',
        b'{"rows": [[1]], "labels": [1]}',
        b'{"rows": [[1, 2, 3]], "labels": [1]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": []}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1, 2]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": ["yes"]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1.5]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [null]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [[1]]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "label": 1}',
        b'{"rows": [{"a": NaN, "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": Infinity, "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": 1e999, "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": 1e308, "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": true, "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": "one", "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": [1], "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": {"b": 1}, "b": 2}], "labels": [1]}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "id": ""}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "id": 1.5}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "id": {"x": 1}}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "id": "\\u0000"}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "id": "\\ud800"}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "id": "' + b"x" * 300 + b'"}',
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1], "unknown": 1}',
        b'{"rows": ' + b"[" * 30_000,
        b'{"rows": [{"a": ' + b"[" * 30_000 + b"]" * 30_000 + b"}]}",
        b'{"rows": [{"a": 1, "b": 2}], "labels": [1' + b"0" * 5000 + b"]}",
        b"\xff\xfe\x00\x01",
        b'{"rows": [{"a": "\xff", "b": 2}], "labels": [1]}',
        b'{"labels": [1]}',
        b'{"id": "nothing"}',
    ],
)
def test_invalid_bodies(served, body):
    refused(served.post("/learn", body))


@pytest.mark.parametrize(
    "body",
    [b"", b"\n\n", b"[1, 2", b"[1, 2]", b"[" * 30_000, b"{", b'{"a": 1, "b": 2}', b'{"a": 1, "b": 2, "label": 1} {}',
     b'{"a": 1, "b": 2, "label": 1}\n{"a": 1', b'{"a": 1, "b": 2, "label": 1}\n5', b"\x00", b"\xff", b"null"],
)  # fmt: skip
def test_invalid_lines(served, body):
    refused(served.post("/learn", body, "application/x-ndjson"))
    refused(served.post("/learn", body, "application/vnd.apache.arrow.stream"))


def test_huge_bodies(served):
    rows = b'{"rows": [' + b"[1, 2]," * 20_000 + b'[1, 2]], "labels": [1]}'
    refused(served.post("/learn", rows), 413)
    refused(served.post("/learn", b'{"a": 1, "b": 2, "label": 1}\n' * 3000, "application/x-ndjson"), 413)
    # The length is not what it says.
    with connection(served) as client:
        client.sendall(head("POST /learn", "Transfer-Encoding: chunked"))
        assert is_cut_off(client, (b"1000\r\n" + b" " * 4096 + b"\r\n" for _ in range(2000)))
    with connection(served) as client:
        client.sendall(head("POST /learn", "Content-Length: 99999999999999999999"))
        assert client.recv(100).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))


def connection(served):
    return socket.create_connection((served.host, served.port), timeout=30)


def is_cut_off(client, parts):
    """Whether the connection ends before all parts are sent, or after them without a good answer."""
    answer = b""
    try:
        for part in parts:
            client.sendall(part)
        while more := client.recv(65536):
            answer += more
    except OSError:
        return True
    return not answer.startswith(b"HTTP/1.1 2")


def head(what, *headers, kind="application/json"):
    lines = [f"{what} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def test_slow_clients_are_cut_off(served):
    """Bytes that do not come: of the first line, of the headers, of the body."""
    starts = (
        b"",
        b"POST /le",
        b"POST /learn HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        head("POST /learn", "Content-Length: 50"),
    )
    for start in starts:
        with connection(served) as client:
            client.sendall(start)
            answer = client.recv(65536)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 408"), answer


def test_endless_headers_are_cut_off(served):
    with connection(served) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        assert is_cut_off(client, (f"X-{i}: {'x' * 100}\r\n".encode() for i in range(10_000)))


def test_many_connections_do_not_stop_the_service(served):
    clients = [connection(served) for _ in range(60)]
    for client in clients:
        client.sendall(b"POST /learn HTTP/1.1\r\n")
    for client in clients:
        client.close()
    wait_until(lambda: served.get("/healthz")[0] == 200)


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/predict/", "/PREDICT", "/model/../metrics",
     "/static/x", "/%00", "/" + "a" * 5000, "/predict%0d%0aX:1", "/events/../model", "/?x=/model"],
)  # fmt: skip
def test_path_tricks(served, path):
    status, _, content = served.call("GET", path)
    assert status in (200, 400, 404, 405)
    assert status != 200 or content.startswith(b"<!doctype html>")
    assert b"root:" not in content


def test_methods_content_types_and_protocols(served):
    row = b'{"rows": [{"a": 1, "b": 2}], "labels": [1]}'
    assert served.call("GET", "/learn")[0] == 405
    assert served.call("DELETE", "/model")[0] == 405
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/xml"):
        refused(served.post("/learn", row, kind), 415)
    with connection(served) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not HTTP at all \r\n\r\n")
        assert b"Traceback" not in client.recv(65536)
    upgrade = head("GET /events", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
    with connection(served) as client:
        client.sendall(upgrade)
        assert b"101" not in client.recv(100)


def test_pages_of_other_sites_cannot_use_a_service_without_token(served):
    row = b'{"rows": [{"a": 1, "b": 2}], "labels": [1]}'
    refused(served.post("/learn", row, Origin="http://evil.example"), 403)
    refused(served.post("/learn", row, Host="evil.example"), 403)
    refused(served.post("/learn", row, Host="127.0.0.1.evil.example:80"), 403)
    for host in ("127.0.0.1", "localhost:9", "[::1]:80"):
        assert served.post("/predict", {"rows": [[1, 2]]}, Host=host)[0] == 200
    origin = f"http://{served.host}:{served.port}"
    assert served.post("/predict", {"rows": [[1, 2]]}, Origin=origin)[0] == 200


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"bearer {TOKEN}", TOKEN,
     f"Basic {TOKEN}", "Bearer \xff"],
)  # fmt: skip
def test_wrong_tokens(guarded, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    for method, path in (("POST", "/learn"), ("POST", "/predict"), ("GET", "/model"), ("GET", "/metrics"),
                         ("GET", "/classes"), ("POST", "/classes"),
                         ("GET", "/events"), ("GET", "/openapi.json")):  # fmt: skip
        status, given, content = guarded.call(method, path, b"{}", headers | {"Content-Type": "application/json"})
        assert status == 401
        assert given["www-authenticate"] == "Bearer"
        assert TOKEN.encode() not in content
    assert guarded.get("/healthz")[0] == 200
    assert guarded.get("/")[0] == 200


def test_the_right_token(guarded):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.post("/learn", {"rows": [{"a": 1}], "labels": [1]}, **headers)[0] == 200
    assert guarded.get("/metrics", **headers)[0] == 200
    assert guarded.post("/predict", {"rows": [{"a": 1}]}, Host="any.example", **headers)[0] == 200


def test_overload_is_answered_with_429(tmp_path):
    """More requests than the queue holds: some are refused at once, with a time to wait; the others are learned."""
    with Served(tmp_path, "--queue", "2", "--memory", "64KB", "--task", "classification") as served:
        served.learn([[0.5, 0.5]], [0])
        count, accepted, statuses = 60, 0, set()
        body = json.dumps({"rows": [[0.1, 0.2]] * 2000, "labels": [0, 1] * 1000}).encode()
        clients = [connection(served) for _ in range(count)]
        for client in clients:
            client.sendall(head("POST /learn", f"Content-Length: {len(body)}") + body)
        for client in clients:
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += client.recv(65536)
            statuses.add(int(answer[9:12]))
            accepted += answer[9:12] == b"200"
            assert answer[9:12] != b"429" or b"retry-after: 1\r\n" in answer
            client.close()
        assert statuses == {200, 429}
        served.stop()
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 1 + 2000 * accepted
