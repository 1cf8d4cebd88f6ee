"""`nolana serve` beside the same model behind a plain FastAPI service: one-row requests per second, p50 and p99.

The model is the default classifier with 20 features, after 5,000 rows. A client in Python keeps 1, 16 or 64
connections busy over loopback; each sends its next request when it has its answer. Learning is durable in
`nolana serve`: the answer comes when the row is on the disk (fsync) and learned. The other service is what people write
in an hour: FastAPI, the estimator in memory, `pickle.dump` after each row ("pickle"), or no saving at all
("in memory").

What is unfair. To FastAPI: it runs in one process as it must, because the model learns; its default JSON is used, and
its endpoints are plain functions in the thread pool, as its documentation says. To nolana: "pickle" writes no log and
calls no fsync, so a crash of the machine loses rows and may leave half a file, and "in memory" loses everything;
neither checks columns, scores rows or recognises a request that is sent again. Client and service share the machine:
with two cores the client takes one of them.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import asyncio
import itertools
import json
import pickle
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nolana import StreamClassifier
from nolana.research.paper.harness.machine import version_of
from streams import print_setting

SEED = 0
FEATURES, ROWS = 20, 5000
CONNECTIONS = (1, 16, 64)
NOLANA = [sys.executable, "-c", "from nolana.cli import main; main()"]
FASTAPI = """
import pickle, sys
from fastapi import FastAPI
from pydantic import BaseModel

path, save = sys.argv[1], sys.argv[2] == "pickle"
with open(path, "rb") as file:
    model = pickle.load(file)
app = FastAPI()

class Row(BaseModel):
    x: list[float]
    y: int | None = None

@app.post("/predict")
def predict(row: Row):
    return {"prediction": model.predict([row.x])[0].item(), "probabilities": model.predict_proba([row.x])[0].tolist()}

@app.post("/learn")
def learn(row: Row):
    model.partial_fit([row.x], [row.y])
    if save:
        with open(path, "wb") as file:
            pickle.dump(model, file)
    return {"learned": True}

import uvicorn
uvicorn.run(app, port=int(sys.argv[3]), access_log=False, log_level="error")
"""


@dataclass(frozen=True)
class Load:
    """Answers of one cell of the table: seconds of each, and how long all of them took."""

    latencies: list[float]
    seconds: float

    def __str__(self) -> str:
        p50, p99 = np.quantile(self.latencies, [0.5, 0.99]) * 1e3
        return f"{len(self.latencies) / self.seconds:8,.0f}/s {p50:7.2f} {p99:7.2f}"


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, FEATURES)).round(4)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return int(opened.getsockname()[1])


# Services


@contextmanager
def process(words: list[str], port: int, folder: Path) -> Iterator[int]:
    with (folder / "errors").open("w") as errors:
        child = subprocess.Popen(words, stderr=errors, stdout=errors)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if child.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the service did not start: {(folder / 'errors').read_text()}") from None
                time.sleep(0.05)
        yield port
    finally:
        child.terminate()
        child.wait(60)


def nolana_serve(folder: Path, model: StreamClassifier) -> tuple[list[str], int]:
    model.save(folder / "model.nolana")
    port = free_port()
    words = ["serve", str(folder / "model.nolana"), "--log", str(folder / "log"), "--port", str(port)]
    return [*NOLANA, *words], port


def fastapi(folder: Path, model: StreamClassifier, save: str) -> tuple[list[str], int]:
    (folder / "model.pickle").write_bytes(pickle.dumps(model))
    (folder / "service.py").write_text(FASTAPI)
    port = free_port()
    return [sys.executable, str(folder / "service.py"), str(folder / "model.pickle"), save, str(port)], port


# The client


def bodies(kind: str, path: str) -> Iterator[bytes]:
    X, y = rows(4096, seed=1)
    for i in itertools.count():
        x, label = X[i % len(X)].tolist(), int(y[i % len(X)])
        if kind == "nolana":
            body: dict[str, object] = {"rows": [x]}
            if path == "/learn":
                body |= {"labels": [label], "id": secrets.token_hex(8)}
        else:
            body = {"x": x, "y": label}
        yield json.dumps(body).encode()


async def connection(port: int, path: str, source: Iterator[bytes], until: float, latencies: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ".encode()
    while time.perf_counter() < until:
        body = next(source)
        begin = time.perf_counter()
        writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        if not answer.startswith(b"HTTP/1.1 200") or length is None:
            raise SystemExit(f"an answer is not as expected: {answer!r} {await reader.read(1000)!r}")
        await reader.readexactly(int(length[1]))
        latencies.append(time.perf_counter() - begin)
    writer.close()


async def load(port: int, path: str, kind: str, connections: int, seconds: float) -> Load:
    source, latencies = bodies(kind, path), list[float]()
    begin = time.perf_counter()
    await asyncio.gather(*(connection(port, path, source, begin + seconds, latencies) for _ in range(connections)))
    return Load(latencies, time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each cell")
    chosen = parser.parse_args()
    print(__doc__)
    print_setting(SEED)
    others = ("uvicorn", "httptools", "uvloop", "fastapi", "pydantic")
    print(f"others    {', '.join(f'{name} {version_of(name)}' for name in others)}")
    print(f"load      {os.getloadavg()[0]:.1f} processes on average in the last minute")
    model = StreamClassifier(random_state=SEED)
    model.learn(*rows(ROWS, SEED))
    print(f"\n{'':<22} {'':<8} " + " ".join(f"{f'{n} connections, p50, p99 ms':>28}" for n in CONNECTIONS))
    for name, kind in (("nolana serve", "nolana"), ("FastAPI, pickle", "pickle"), ("FastAPI, in memory", "memory")):
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            words, port = nolana_serve(folder, model) if kind == "nolana" else fastapi(folder, model, kind)
            with process(words, port, folder):
                for path in ("/predict", "/learn"):
                    asyncio.run(load(port, path, kind, 4, 0.5))  # warm
                    cells = [asyncio.run(load(port, path, kind, n, chosen.seconds)) for n in CONNECTIONS]
                    print(f"{name:<22} {path:<8} " + " ".join(f"{cell!s:>28}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
