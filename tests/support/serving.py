"""A service in a child that can be killed, and a client for it."""

import http.client
import json
import os
import re
import signal
import time
from pathlib import Path

import commands

ADDRESS = re.compile(r"at http://([\d.]+):(\d+)")


class Served:
    """`nolana serve` in a child: a context manager that ends it."""

    def __init__(self, folder: Path, *arguments, model=None, log="log", before=None):
        self.folder, self.model = folder, model or folder / "model.nolana"
        words = ["serve", self.model, "--port", 0, *([] if log is None else ["--log", folder / log]), *arguments]
        self.output = folder / "output"
        self.output.mkdir(exist_ok=True)
        self.child = commands.start(*words, folder=self.output, before=before)
        self.host, self.port = self._address()

    def _address(self):
        deadline = time.monotonic() + commands.DEADLINE
        while True:
            found = ADDRESS.search((self.output / ".err").read_text())
            if found:
                return found[1], int(found[2])
            assert self.child.is_alive(), (self.output / ".err").read_text()
            assert time.monotonic() < deadline, "the service did not start"
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.is_alive():
            self.child.kill()
        self.child.join()

    def stop(self, number=signal.SIGTERM):
        os.kill(self.child.pid, number)
        return commands.wait(self.child, self.output)

    def kill(self):
        self.child.kill()
        self.child.join(commands.DEADLINE)

    def call(self, method, path, body=None, headers=None):
        """Status, headers and content of an answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        status, _, content = self.call("GET", path, headers=headers)
        return status, content

    def post(self, path, body, kind="application/json", **headers):
        """Status and decoded answer."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, answer = self.call("POST", path, content, {"Content-Type": kind} | headers)
        return status, json.loads(answer)

    def learn(self, rows, labels, id=None):
        status, answer = self.post("/learn", {"rows": rows, "labels": labels, "id": id})
        assert status == 200, answer
        return answer


def refused(folder, *arguments, model=None, log="log", before=None):
    """A service that does not start: its exit code and its message."""
    words = ["serve", model or folder / "model.nolana", "--port", 0]
    words += [] if log is None else ["--log", folder / log]
    done = commands.call(*words, *arguments, folder=folder, before=before)
    assert "Traceback" not in done.err, done.err
    return done.code, done.err
