"""One model file has one writer, and a lock that a killed writer leaves behind stops nobody."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

import nolana
from commands import DEADLINE, call, start, wait, wait_for
from nolana.errors import LockedError
from nolana.runs import ModelLock
from nolana.runs import lock as lock_module

ROWS = b"".join(b"%d,%d,%d\n" % (i % 7, i % 5, i % 2) for i in range(40))
DEAD = 2**22 + 1  # beyond the largest number of a process


def written(folder, name="m"):
    return folder / f".{name}.lock"


@contextmanager
def learning_from_a_pipe(folder, model="m", *options):
    """A command that has learned some rows of a pipe and waits for more: the child, and a function that sends rows."""
    (folder / "child").mkdir()
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    words = ("learn", "-", "--model", folder / model, "--format", "csv", "--no-header", "--method", "FOGD", *options)
    child = start(*words, folder=folder / "child", stdin=pipe)
    with open(pipe, "wb", buffering=0) as rows:
        rows.write(ROWS)
        wait_for(written(folder, model))
        yield child, rows.write
    child.kill()


def learn(folder, model="m", *options):
    source = folder / "s.csv"
    source.write_bytes(ROWS)
    words = ("learn", source, "--no-header", "--model", folder / model, "--method", "FOGD", *options)
    return call(*words, folder=folder)


def test_a_second_writer_is_refused_and_the_first_goes_on(tmp_path):
    os.symlink(tmp_path / "m", tmp_path / "link")
    with learning_from_a_pipe(tmp_path) as (child, send):
        for name in ("m", "link"):
            done = learn(tmp_path, name)
            assert done.code == 1
            (line,) = done.err.splitlines()
            assert f"{name}: locked by process {child.pid} on host {socket.gethostname()} since 20" in line
            assert f"stop it (kill {child.pid})" in line
        send(ROWS)
    # the pipe is closed: it ends
    assert wait(child, tmp_path / "child").code in (0, -signal.SIGKILL)


def test_the_lock_is_removed_at_the_end_and_after_errors(tmp_path):
    assert learn(tmp_path).code == 0
    assert not written(tmp_path).exists()
    (tmp_path / "s.csv").write_text("a,b,c\n1,2,3\n")
    assert call("learn", tmp_path / "s.csv", "--model", tmp_path / "m", folder=tmp_path).code == 1
    assert not written(tmp_path).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_lock_is_removed_after_a_signal(tmp_path, number):
    with learning_from_a_pipe(tmp_path, "m", "--checkpoint-every", "1") as (child, _):
        wait_for(tmp_path / "m")
        os.kill(child.pid, number)
        done = wait(child, tmp_path / "child")
    assert (done.code, done.err) == (128 + number, "")
    assert f"interrupted by {number.name}" in done.out
    assert not written(tmp_path).exists()
    assert nolana.load(tmp_path / "m").n_rows_ == 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_lock_is_removed_after_a_signal_before_the_first_row(tmp_path, number):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = start("learn", "-", "--model", tmp_path / "m", folder=tmp_path, stdin=pipe)
    with open(pipe, "wb"):
        wait_for(written(tmp_path))
        os.kill(child.pid, number)
        assert wait(child, tmp_path).code == 128 + number
    assert not written(tmp_path).exists()


def test_a_lock_left_by_kill_9_is_taken_over_with_a_note(tmp_path):
    with learning_from_a_pipe(tmp_path, "m", "--checkpoint-every", "1") as (child, _):
        wait_for(tmp_path / "m")
        child.kill()
        wait(child, tmp_path / "child")
    assert written(tmp_path).exists()
    done = learn(tmp_path)
    assert done.code == 0
    assert f"process {child.pid} ended without removing its lock" in done.err
    assert not written(tmp_path).exists()


def test_kill_9_loses_at_most_one_interval_also_while_a_pipe_is_silent(tmp_path):
    with learning_from_a_pipe(tmp_path, "m", "--checkpoint-every", "200ms") as (child, send):
        wait_for(tmp_path / "m")
        send(ROWS)
        deadline = time.monotonic() + DEADLINE
        while nolana.load(tmp_path / "m").n_rows_ < 80:  # no further row comes that could cause a checkpoint
            assert time.monotonic() < deadline
            time.sleep(0.05)
        child.kill()
        wait(child, tmp_path / "child")
    assert nolana.load(tmp_path / "m").n_rows_ == 80


def test_a_checkpoint_every_30_seconds_is_the_default(tmp_path):
    out = " ".join(call("learn", "--help", folder=tmp_path).out.split())
    assert "30s" in out.partition("--checkpoint-every")[2].partition("--fresh")[0].partition("default")[2]


# The lock itself


def test_a_reused_process_number_is_not_the_holder(tmp_path):
    record = {"pid": os.getppid(), "host": socket.gethostname(), "start": "another boot 1", "since": "yesterday"}
    written(tmp_path).write_text(json.dumps(record))
    notes = []
    with ModelLock(tmp_path / "m", notes.append):
        assert json.loads(written(tmp_path).read_text())["pid"] == os.getpid()
    assert f"process {os.getppid()} ended" in notes[0]
    assert not written(tmp_path).exists()


@pytest.mark.parametrize(
    "text", ["", "not a lock", '{"pid": 1', f'{{"pid": {DEAD}, "host": "{socket.gethostname()}"}}']
)
def test_what_a_killed_writer_leaves_is_taken_over(tmp_path, text):
    written(tmp_path).write_text(text)
    with ModelLock(tmp_path / "m"):
        pass


def test_a_lock_of_another_host_is_refused_with_the_remedy_that_works(tmp_path):
    written(tmp_path).write_text(json.dumps({"pid": DEAD, "host": "elsewhere", "since": "2020-01-01"}))
    done = learn(tmp_path)
    assert done.code == 1
    assert f"locked by process {DEAD} on host elsewhere since 2020-01-01, as {written(tmp_path)} says" in done.err
    assert "if that process no longer runs, remove that file" in done.err
    written(tmp_path).unlink()
    assert learn(tmp_path).code == 0


@pytest.mark.parametrize("flock", [True, False])
def test_of_many_processes_one_has_the_lock(tmp_path, monkeypatch, flock):
    """Also where a lock was left behind, and on a file system without flock."""
    count, lost, inside = [], [], threading.Lock()
    if not flock:
        monkeypatch.setattr(lock_module, "fcntl", None)
    elif sys.platform == "linux":
        written(tmp_path).write_text("")  # left behind
    ready = threading.Barrier(8)

    def compete():
        ready.wait()
        for _ in range(20):
            try:
                with ModelLock(tmp_path / "m"):
                    assert inside.acquire(blocking=False)
                    count.append(1)
                    inside.release()
            except LockedError:
                pass
            except AssertionError as error:
                lost.append(error)

    threads = [threading.Thread(target=compete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count
    assert not lost


def test_without_flock_a_dead_holder_is_recognised_and_a_living_one_respected(tmp_path, monkeypatch):
    monkeypatch.setattr(lock_module, "fcntl", None)
    holder = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    record = {"pid": holder.pid, "host": socket.gethostname(), "start": lock_module._start_of(holder.pid)}
    written(tmp_path).write_text(json.dumps(record))
    with pytest.raises(LockedError, match=f"process {holder.pid}"), ModelLock(tmp_path / "m"):
        pass
    holder.communicate(b"\n", timeout=60)
    with ModelLock(tmp_path / "m"):
        pass


def test_a_lock_that_was_removed_by_hand_is_not_removed_from_its_new_holder(tmp_path):
    with ModelLock(tmp_path / "m"):
        written(tmp_path).unlink()
        with open(written(tmp_path), "w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
    assert written(tmp_path).exists()
