"""Full disks, directories that cannot be written, damaged logs, clocks that jump: clear behaviour, nothing is lost."""

import re
import shutil
import sqlite3
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import commands
import nolana
from faults import jump_clock, limit_files, serve_as_nobody
from serving import Served, refused

OPTIONS = ("--memory", "64KB", "--task", "classification")


def block(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2)).round(5)
    return [{"a": a, "b": b} for a, b in X.tolist()], np.where(X[:, 0] > X[:, 1], "more", "less").tolist()


def row(i):
    X, y = block(1, seed=i)
    return {"rows": X, "labels": y, "id": f"row-{i}"}


def learn_rows(folder, count, *options, kill=True):
    with Served(folder, *OPTIONS, "--keep-log", *options) as served:
        for i in range(count):
            served.learn(**row(i))
        if kill:
            served.kill()
        else:
            served.stop()


def test_full_disk(tmp_path):
    full = tmp_path / "full"
    with Served(tmp_path, *OPTIONS, "--checkpoint-every", "1", before=partial(limit_files, str(full))) as served:
        for i in range(10):
            served.learn(**row(i))
        wait_until(lambda: b"nolana_log_lag_records 0\n" in served.get("/metrics")[1])
        full.touch()
        sent = 99
        status = 200
        while status == 200:  # until the limit is in force
            sent += 1
            status, answer = served.post("/learn", row(sent))
        assert status == 507
        assert "cannot write the log" in answer["error"]
        assert "retry with the same id" in answer["error"]
        assert served.get("/healthz") == (503, b'{"status":"the log cannot be written"}')
        assert served.post("/predict", {"rows": block(3)[0]})[0] == 200  # predictions go on
        nolana.load(tmp_path / "model.nolana")  # the last checkpoint is whole
        full.unlink()
        wait_until(lambda: served.post("/learn", row(sent))[0] == 200)
        wait_until(lambda: served.get("/healthz")[0] == 200)  # the checkpoint is tried again
        for i in range(10, 20):
            served.learn(**row(i))
        assert served.stop().code == 0
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 20 + sent - 99


def test_full_disk_at_the_last_checkpoint(tmp_path):
    full = tmp_path / "full"
    with Served(tmp_path, *OPTIONS, "--checkpoint-every", "1h", before=partial(limit_files, str(full))) as served:
        for i in range(10):
            served.learn(**row(i))
        full.touch()
        time.sleep(0.05)
        done = served.stop()
        assert done.code == 1
        assert "the model was not saved, its rows are in the log" in done.err
    full.unlink()
    with Served(tmp_path, *OPTIONS) as served:
        assert served.stop().code == 0
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 10


def wait_until(condition):
    deadline = time.monotonic() + commands.DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def public():
    """A directory that everybody can read."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_directories_that_cannot_be_written(public):
    folder = public / "mine"
    folder.mkdir()
    learn_rows(folder, 3, kill=False)
    output = public / "words"
    output.mkdir()
    output.chmod(0o777)
    words = ["serve", folder / "model.nolana", "--port", 0, "--log"]
    # The model's directory.
    done = commands.call(*words, folder / "log", folder=output, before=serve_as_nobody)
    assert done.code in (1, 2)
    assert "may not be written" in done.err
    # The log's directory.
    other = public / "other"
    other.mkdir()
    other.chmod(0o777)
    shutil.copy(folder / "model.nolana", other)
    words[1] = other / "model.nolana"
    done = commands.call(*words, folder / "log", folder=output, before=serve_as_nobody)
    assert done.code == 1
    assert "cannot open the log" in done.err
    assert "Traceback" not in done.err
    # Predictions need neither.
    with Served(public, "--read-only", model=folder / "model.nolana", log=None) as served:
        assert served.post("/predict", {"rows": block(1)[0]})[0] == 200


def database(folder):
    return folder / "log" / "log.sqlite"


def test_a_damaged_last_record_is_reported_and_new_log_continues(tmp_path):
    learn_rows(tmp_path, 5, kill=False)
    learn_rows(tmp_path, 8, "--checkpoint-every", "1h")  # five are duplicates; three are only in the log
    with sqlite3.connect(database(tmp_path)) as db:
        db.execute("UPDATE records SET text = replace(text, 'a', 'x') WHERE position = 8")
    db.close()
    before = (tmp_path / "model.nolana").read_bytes()
    code, message = refused(tmp_path, *OPTIONS)
    assert code == 1
    assert "record 8 of the log is damaged or missing" in message
    assert "--new-log lets the model learn the records" in message
    assert (tmp_path / "model.nolana").read_bytes() == before
    with Served(tmp_path, *OPTIONS, "--new-log") as served:  # learns the records before it
        for i in range(7, 9):
            served.learn(**row(i))
        served.kill()
    assert (tmp_path / "log" / "log.sqlite.1").exists()
    with Served(tmp_path, *OPTIONS, "--new-log") as served:  # the log is intact now, so the option does nothing
        assert served.learn(**row(8))["duplicate"]
        assert served.stop().code == 0
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 9
    assert not (tmp_path / "log" / "log.sqlite.2").exists()


def test_a_torn_end_of_the_write_ahead_log_loses_that_record_alone(tmp_path):
    """SQLite drops a transaction whose frames are not whole: the client has to send it again."""
    with Served(tmp_path, *OPTIONS, "--checkpoint-every", "1h") as served:
        for i in range(6):
            served.learn(**row(i))
        served.kill()
    wal = tmp_path / "log" / "log.sqlite-wal"
    content = bytearray(wal.read_bytes())
    content[-2000:] = bytes(2000)
    wal.write_bytes(content)
    with Served(tmp_path, *OPTIONS) as served:
        assert not served.learn(**row(5))["duplicate"]
        assert served.learn(**row(4))["duplicate"]
        served.stop()
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 6


@pytest.fixture(scope="module")
def sixty(tmp_path_factory):
    """A model and its log after sixty records."""
    folder = tmp_path_factory.mktemp("sixty")
    with Served(folder, *OPTIONS, "--keep-log") as served:
        for i in range(60):
            served.learn(**row(i))
        served.stop()
    return folder


@pytest.mark.parametrize("damage", ["no database", "empty", "zeros", "middle", "cut off"])
def test_a_damaged_database_is_refused(tmp_path, damage, sixty):
    shutil.copytree(sixty, tmp_path, dirs_exist_ok=True)
    path = database(tmp_path)
    content = bytearray(path.read_bytes())
    if damage == "no database":
        content[:100] = b"this is not a database" + bytes(78)
    elif damage == "empty":
        content = bytearray()
    elif damage == "zeros":
        content[:] = bytes(len(content))
    elif damage == "middle":
        content[4096:] = np.random.default_rng(0).bytes(len(content) - 4096)
    else:
        del content[len(content) // 2 :]
    path.write_bytes(content)
    before = (tmp_path / "model.nolana").read_bytes()
    code, message = refused(tmp_path, *OPTIONS)
    assert code in (1, 2)
    assert "--new-log" in message
    assert (tmp_path / "model.nolana").read_bytes() == before
    with Served(tmp_path, *OPTIONS, "--new-log") as served:
        served.learn(**row(100))
        assert served.stop().code == 0
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 61


def test_clock_jumps_change_nothing(tmp_path):
    for name, before in (("steady", None), ("jumping", jump_clock)):
        folder = tmp_path / name
        folder.mkdir()
        with Served(folder, *OPTIONS, "--checkpoint-every", "50ms", before=before) as served:
            for i in range(30):
                served.learn(**row(i))
            checkpoints = lambda served=served: b"nolana_checkpoints_total 0\n" not in served.get("/metrics")[1]  # noqa: E731
            wait_until(checkpoints)
            assert served.get("/healthz")[0] == 200
            assert served.stop().code == 0
    steady, jumping = (nolana.load(tmp_path / name / "model.nolana") for name in ("steady", "jumping"))
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert np.array_equal(steady.scores(X), jumping.scores(X))


def test_model_and_log_must_belong_together(tmp_path):
    learn_rows(tmp_path, 3, kill=False)
    model, log = tmp_path / "model.nolana", tmp_path / "log"
    old_model, old_log = tmp_path / "old.nolana", tmp_path / "old-log"
    shutil.copy(model, old_model)
    shutil.copytree(log, old_log)

    code, message = refused(tmp_path, *OPTIONS, log="another")
    assert (code, "was served with another log" in message) == (2, True)

    with Served(tmp_path, *OPTIONS) as served:  # without --keep-log: the records are deleted
        served.learn(**row(3))
        served.stop()
    code, message = refused(tmp_path, *OPTIONS, log="old-log")
    assert (code, "the log is older" in message) == (2, True)
    code, message = refused(tmp_path, *OPTIONS, model=old_model)
    assert (code, "the model file is older" in message) == (2, True)
    nolana.load(model).save(tmp_path / "plain.nolana")  # a file without a run
    code, message = refused(tmp_path, *OPTIONS, model=tmp_path / "plain.nolana")
    assert (code, "was never served with it" in message) == (2, True)
    model.rename(tmp_path / "away")
    code, message = refused(tmp_path, *OPTIONS)
    assert (code, "there is no model file" in message) == (2, True)

    (tmp_path / "away").rename(model)
    with Served(tmp_path, *OPTIONS) as served:
        other = tmp_path / "other.nolana"
        shutil.copy(model, other)
        code, message = refused(tmp_path, *OPTIONS, model=other)
        assert (code, "is in use by another process" in message) == (1, True)
        code, message = refused(tmp_path, *OPTIONS, log="another")
        assert (code, "locked by process" in message) == (1, True)
        served.stop()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--host", "0.0.0.0"), "can be reached by other machines.*--token-file"),
        (("--token-file", "short"), "no token of at least 16"),
        (("--token-file", "missing"), "No such file"),
        (("--checkpoint-every", "often"), "neither a number of rows"),
        (("--max-request", "much"), "is not a size"),
        (("--timeout", "10"), "is not a time"),
        (("--landmarks", "5"), "cannot be combined with"),
        (("--port", "1", "--host", "203.0.113.1", "--without-token"), "--host or --port"),
    ],
)
def test_invalid_options_are_one_line(tmp_path, words, message):
    (tmp_path / "short").write_text("secret\n")
    words = [tmp_path / word if word in ("short", "missing") else word for word in words]
    done = commands.call("serve", tmp_path / "model.nolana", "--log", tmp_path / "log", *words, folder=tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert re.search(message, done.err), done.err


def test_without_a_log_it_says_what_is_missing(tmp_path):
    code, message = refused(tmp_path, log=None)
    assert (code, "--log ... names its directory, or --read-only predicts without one" in message) == (2, True)
