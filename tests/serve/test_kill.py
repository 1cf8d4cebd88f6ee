"""kill -9 under load, with clients that try again by id: each row is learned once, in the order of the log."""

import http.client
import itertools
import json
import random
import shutil
import sqlite3
import threading
import time
from collections import Counter

import numpy as np
import pytest

import commands
import nolana
from conftest import effort
from nolana import modelfile
from serving import Served

OPTIONS = ("--target", "label", "--task", "classification", "--memory", "64KB", "--missing", "mean", "--keep-log")


def requests(seed=0, typos=0.0):
    """Bodies with ids, without end: rows by name or as arrays, some values missing; n is the number of the body.

    typos: the share of labels that are no class, from the second body on.
    """
    rng = np.random.default_rng(seed)
    for i in itertools.count():
        x = rng.normal(size=(rng.integers(1, 4), 2)).round(6)
        labels = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
        if typos and i:
            labels = np.where(rng.random(len(x)) < typos, "othre", labels)
        rows = [{"a": a, "b": b if rng.random() < 0.9 else None, "n": i} for a, b in x.tolist()]
        yield {
            "rows": [list(row.values()) for row in rows] if i % 3 == 1 else rows,
            "labels": labels.tolist(),
            "id": f"body-{i}",
        }


class Clients:
    """Threads that send bodies until `stop`; each tries again with the same id until it has an answer."""

    def __init__(self, bodies, threads=8):
        self.place = None
        self.sent, self.answers, self.duplicates, self.problems = [], 0, 0, []
        self._bodies, self._lock, self._stopped = bodies, threading.Lock(), False
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Wait until all that was sent is answered."""
        self._stopped = True
        for thread in self._threads:
            thread.join(commands.DEADLINE)
            assert not thread.is_alive()

    def _send(self):
        while not self._stopped:
            with self._lock:
                body = next(self._bodies)
                self.sent.append(body)
            content, deadline = json.dumps(body).encode(), time.monotonic() + commands.DEADLINE
            while not self._try(content):
                if time.monotonic() > deadline:
                    self.problems.append("no answer in time")
                    return
                time.sleep(0.01)

    def _try(self, content):
        try:
            connection = http.client.HTTPConnection(*self.place, timeout=20)
            try:
                connection.request("POST", "/learn", content, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = json.loads(response.read())
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, ValueError, TypeError):
            return False
        if response.status in (429, 503):
            return False
        if response.status not in (200, 202):
            self.problems.append((response.status, answer))
        with self._lock:
            self.answers += 1
            self.duplicates += answer.get("duplicate", False)
        return True


def kill_often(folder, kills, every, typos=0.0, options=OPTIONS):
    """Kill the service under load, each time after it has answered some requests; the bodies that were sent."""
    bodies, chance = requests(typos=typos), random.Random(0)
    with Served(folder, *options, "--checkpoint-every", every) as served:
        first = next(bodies)
        served.learn(**first)
        clients = Clients(bodies)
        for _ in range(kills):
            clients.place = served.host, served.port
            enough, deadline = clients.answers + chance.randint(5, 100), time.monotonic() + commands.DEADLINE
            while clients.answers < enough:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            served.kill()
            served.__init__(folder, *options, "--checkpoint-every", every)
        clients.place = served.host, served.port
        clients.stop()
        assert not clients.problems
        assert served.stop().code == 0
    return [first, *clients.sent], clients.duplicates


def records(folder, table="records"):
    with sqlite3.connect(folder / "log" / "log.sqlite") as db:
        return [bytes(text) for (text,) in db.execute(f"SELECT text FROM {table} ORDER BY rowid")]


def check(folder, bodies, options=OPTIONS):
    texts = records(folder)
    rows = [json.loads(line) for text in texts for line in text.split(b"\n")]
    held = [json.loads(text) for text in records(folder, "quarantine")]
    assert {row["label"] for row in rows} == {"same", "other"}
    assert {row["label"] for row in held} <= {"othre"}
    sent = {int(body["id"].removeprefix("body-")): len(body["rows"]) for body in bodies}
    assert Counter(row["n"] for row in rows + held) == sent  # each once
    if not held:
        assert sorted(json.loads(text.split(b"\n")[0])["n"] for text in texts) == list(range(len(bodies)))
    model = nolana.load(folder / "model.nolana")
    assert model.n_rows_ == len(rows)

    # One pass over the log by a service that was never killed: the same bytes.
    again = folder / "again"
    again.mkdir()
    shutil.copytree(folder / "log", again / "log")
    with Served(again, *options) as served:
        assert served.stop().code == 0
    assert (again / "model.nolana").read_bytes() == (folder / "model.nolana").read_bytes()

    # `nolana learn` on the rows of the log: the same model, means and score.
    source = folder / "log.jsonl"
    source.write_bytes(b"\n".join(texts) + b"\n")
    words = [word for word in OPTIONS if word != "--keep-log"]
    done = commands.call(
        "learn", source, "--model", folder / "learned.nolana", "--keep-column", "n", *words, folder=folder
    )
    assert done.code == 0, done.err
    served, learned = (modelfile.read(folder / name) for name in ("model.nolana", "learned.nolana"))
    assert modelfile.packed({"e": served["estimator"]}) == modelfile.packed({"e": learned["estimator"]})
    for name in ("encoder", "new_columns"):
        mine, theirs = served["run"]["stream"][name], learned["run"]["stream"][name]
        assert modelfile.packed({"e": mine}) == modelfile.packed({"e": theirs})
    assert modelfile.packed({"e": served["run"]["evaluation"]}) == modelfile.packed({"e": learned["run"]["evaluation"]})


def test_killed_under_load_each_row_is_learned_once(tmp_path):
    bodies, _ = kill_often(tmp_path, kills=3, every="100")
    check(tmp_path, bodies)


def test_killed_under_load_each_row_is_learned_or_quarantined_once(tmp_path):
    options = (*OPTIONS, "--classes", "same,other")
    bodies, _ = kill_often(tmp_path, kills=3, every="100", typos=0.1, options=options)
    assert records(tmp_path, "quarantine")
    check(tmp_path, bodies, options)


@pytest.mark.soak
@pytest.mark.parametrize("every", ["200", "1h"])
def test_killed_many_times_under_load(tmp_path, every):
    bodies, duplicates = kill_often(tmp_path, kills=effort(thorough=8, endurance=30), every=every)
    assert duplicates > 0  # some were written, and killed before they were answered
    check(tmp_path, bodies)
