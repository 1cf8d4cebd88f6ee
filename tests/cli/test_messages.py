"""Commands on messages: learn, predict and their messages, Ctrl-C, kill -9."""

import json
import os
import random
import signal
import sys
import threading
import time
from functools import partial

import pytest

from brokers import Servers, json_rows
from commands import DEADLINE, call, kill_after, start, wait, wait_for
from conftest import effort
from nolana import modelfile

pytest.importorskip("confluent_kafka")
pytest.importorskip("redis")

KINDS = ["kafka", "redis"]
MEMORY = ("--memory", "64KB")


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with Servers(tmp_path_factory.mktemp("redis")) as servers:
        yield servers


def run_of(model):
    return modelfile.read(model)["run"]


@pytest.mark.parametrize("kind", KINDS)
def test_learn_ends_at_the_end_and_the_same_command_learns_what_was_added(servers, tmp_path, kind):
    rows = json_rows(900)
    source = servers.send(kind, "added", rows[:600], partitions=3)
    words = ("learn", source, "--target", "label", "--model", tmp_path / "m", *MEMORY)
    first = call(*words, folder=tmp_path)
    assert (first.code, "learned to the end" in first.out) == (0, True), first
    nothing = call(*words, folder=tmp_path)
    assert "nothing new" in nothing.out
    servers.send(kind, "added", rows[600:], partitions=3)
    assert "rows       300 and 600 before" in call(*words, folder=tmp_path).out
    assert run_of(tmp_path / "m")["evaluation"]["rows"] == 900
    shown = call("inspect", tmp_path / "m", folder=tmp_path)
    assert f"source     {source}, finished" in shown.out


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_sent_with_the_places_of_their_rows(servers, tmp_path, kind):
    source = servers.send(kind, "to-predict", json_rows(300), partitions=3)
    assert call("learn", source, "--target", "label", "--model", tmp_path / "m", *MEMORY, folder=tmp_path).code == 0
    out = source.replace("to-predict", "predicted")
    words = ("predict", source, "--model", tmp_path / "m")
    sent = call(*words, "--out", out, "--proba", folder=tmp_path)
    assert (sent.code, sent.out, sent.err) == (0, "", "")
    printed = [json.loads(line) for line in call(*words, "--proba", "--json", folder=tmp_path).out.splitlines()]
    found = [json.loads(value) for value in servers.values(kind, "predicted")]
    assert sorted(found, key=str) == sorted(printed, key=str)
    assert set(found[0]) == {*(("partition", "offset") if kind == "kafka" else ("id",)), "prediction", "proba"}
    assert call(*words, folder=tmp_path).out.splitlines()[0].startswith("partition,offset" if kind == "kafka" else "id")


def test_a_file_is_predicted_into_a_topic_with_a_configuration(servers, tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(json_rows(50)) + b"\n")
    (tmp_path / "client.properties").write_text("client.id=test\n")
    learn = ("learn", tmp_path / "rows.jsonl", "--target", "label", "--model", tmp_path / "m", *MEMORY)
    assert call(*learn, folder=tmp_path).code == 0
    out = servers.send("kafka", "from-file", [])
    words = ("predict", tmp_path / "rows.jsonl", "--model", tmp_path / "m", "--out", out)
    assert call(*words, "--kafka-config", tmp_path / "client.properties", folder=tmp_path).code == 0
    assert len(servers.values("kafka", "from-file")) == 50


def test_each_prints_partition_and_offset(servers, tmp_path):
    source = servers.send("kafka", "each", json_rows(4), partitions=2)
    words = ("learn", source, "--target", "label", "--model", tmp_path / "m", "--each", *MEMORY)
    lines = call(*words, folder=tmp_path).out.splitlines()
    assert lines[0] == "partition,offset,prediction,label"
    assert [line.split(",")[:2] for line in lines[1:5]] == [["0", "0"], ["1", "0"], ["0", "1"], ["1", "1"]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_invalid_message_ends_the_run_and_the_same_command_resumes(servers, tmp_path, kind):
    rows = json_rows(2500)
    rows[2200] = b"{broken"
    source = servers.send(kind, "broken", rows)
    words = ("learn", source, "--target", "label", "--model", tmp_path / "m", *MEMORY)
    failed = call(*words, folder=tmp_path)
    place = "partition 0, offset 2200" if kind == "kafka" else "id "
    assert failed.code == 1
    assert place in failed.err
    assert "2,000 rows are learned and saved" in failed.err
    assert call(*words, "--on-bad-row", "skip", folder=tmp_path).code == 0
    assert call(*words[:-4], "--model", tmp_path / "whole", *MEMORY, "--on-bad-row", "skip", folder=tmp_path).code == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_while_it_waits_saves_and_resumes(servers, tmp_path, kind):
    rows = json_rows(700)
    source = servers.send(kind, "followed", rows[:400], partitions=3)
    words = ("learn", source, "--target", "label", "--model", tmp_path / "m", *MEMORY, "--checkpoint-every", "100ms")
    child = start(*words, "--follow", folder=tmp_path)
    wait_for(tmp_path / "m")
    end = time.monotonic() + DEADLINE
    while run_of(tmp_path / "m")["evaluation"]["rows"] < 400:
        assert time.monotonic() < end
        time.sleep(0.02)
    servers.send(kind, "followed", rows[400:500], partitions=2)
    while run_of(tmp_path / "m")["evaluation"]["rows"] < 500:
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGINT)
    done = wait(child, tmp_path)
    assert done.code == 130
    assert "interrupted by SIGINT; the same command resumes at message 501" in done.out
    servers.send(kind, "followed", rows[500:])
    assert "rows       200 and 500 before" in call(*words, folder=tmp_path).out


def test_a_topic_is_recognised_after_another_source_and_by_another_address(servers, tmp_path):
    rows = json_rows(500)
    source = servers.send("kafka", "again", rows[:300], partitions=3)
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(json_rows(100, 5)) + b"\n")
    words = ("--target", "label", "--model", tmp_path / "m", *MEMORY)
    for each in (source, tmp_path / "rows.jsonl"):
        assert "learned to the end" in call("learn", each, *words, folder=tmp_path).out
    servers.send("kafka", "again", rows[300:], partitions=2)
    other = source.replace("127.0.0.1", "localhost")
    assert "rows       200 and 400 before" in call("learn", other, *words, folder=tmp_path).out
    assert "nothing new" in call("learn", source, *words, folder=tmp_path).out
    assert "rows       500 and 600 before" in call("learn", source, *words, "--again", folder=tmp_path).out
    assert "nothing new" in call("learn", tmp_path / "rows.jsonl", *words, folder=tmp_path).out


def test_workers_learn_a_topic(servers, tmp_path):
    source = servers.send("kafka", "workers", json_rows(300))
    words = ("learn", source, "--target", "label", "--model", tmp_path / "m", *MEMORY, "--workers", "1")
    assert "rows       300" in call(*words, folder=tmp_path).out
    refused = call(*words, "--follow", folder=tmp_path)
    assert (refused.code, "learn a source that ends" in refused.err) == (2, True), refused


def without(package):
    """Called in the child: the package cannot be imported there."""
    sys.modules[package] = None


def test_a_missing_extra_is_named(tmp_path):
    for package, source, extra in (("confluent_kafka", "kafka://h/t", "kafka"), ("redis", "redis://h/t", "redis")):
        before = partial(without, package)
        done = call("learn", source, "--target", "y", "--model", tmp_path / "m", folder=tmp_path, before=before)
        assert (done.code, f'pip install "nolana[{extra}]"' in done.err) == (2, True), done


def test_wrong_names_are_one_line(servers, tmp_path):
    source = servers.send("kafka", "named", json_rows(30))
    for words, code, text in (
        ((source, "--target", "lable"), 1, "no column is named 'lable'; the columns are: 'a', 'b', 'c', 'label'"),
        ((source.replace("named", "nameed"), "--target", "label"), 1, "there is no topic 'nameed'"),
        (("kafka://127.0.0.1:9/t", "--target", "label"), 1, "no broker answers"),
        (("kafka://127.0.0.1", "--target", "label"), 2, "kafka://HOST:PORT/TOPIC"),
        ((source, "--partitions", "x"), 2, "--partitions x"),
        ((source, "--from", "noon"), 2, "--from noon is not earliest, latest or a time"),
        ((source, "--from", "latest"), 1, "there are no messages with rows; --follow waits for some"),
    ):
        done = call("learn", *words, "--model", tmp_path / "m", folder=tmp_path)
        assert (done.code, text in done.err, done.err.count("\n")) == (code, True, 1), done
    assert not (tmp_path / "m").exists()


# kill -9


def disturbed(servers, folder, kind, kills, rows, seed):
    """Kill a run again and again at random moments; the file is that of one pass over the same messages."""
    messages = json_rows(rows, seed)
    for i in range(37, rows, 300):
        messages[i] = None
    source = servers.send(kind, f"kills-{seed}-{rows}", messages, partitions=3)
    words = ("learn", source, "--target", "label", *MEMORY)
    bad = [f"quarantine={folder / name}" for name in ("whole.bad", "model.bad")]
    assert call(*words, "--model", folder / "whole", "--on-bad-row", bad[0], folder=folder).code == 0
    words = (*words, "--model", folder / "model", "--on-bad-row", bad[1], "--checkpoint-every", "100")
    chance, model, inside = random.Random(seed), folder / "model", 0
    while inside < kills:
        killed = kill_after(chance.randrange(3), chance.uniform(0, 0.02), model, *words, folder=folder)
        assert killed.code in (0, -signal.SIGKILL), killed
        if model.exists():
            inside += killed.code != 0
            if killed.code == 0 or run_of(model)["finished"]:
                assert_same(folder)
                model.unlink()
                (folder / "model.bad").unlink()
    assert call(*words, folder=folder).code == 0
    assert_same(folder)
    assert run_of(model)["evaluation"]["rows"] == sum(message is not None for message in messages)


def assert_same(folder):
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()
    assert (folder / "model.bad").read_bytes() == (folder / "whole.bad").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_two_kills_end_in_the_bytes_of_one_pass(servers, tmp_path, kind):
    disturbed(servers, tmp_path, kind, 2, 2000, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_ten_kills_end_in_the_bytes_of_one_pass(servers, tmp_path, kind, seed):
    disturbed(servers, tmp_path, kind, effort(thorough=10, endurance=50), 6000, seed)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_kills_while_messages_come_learn_each_of_them_once(servers, tmp_path, kind):
    """Of one partition the order is that of one pass, however messages came and the run was killed."""
    rows = json_rows(5000, 3)
    source = servers.send(kind, "growing", rows[:1500])

    def send():
        for begin in range(1500, 5000, 50):
            servers.send(kind, "growing", rows[begin : begin + 50])
            time.sleep(0.05)

    sender = threading.Thread(target=send)
    sender.start()
    words = ("learn", source, "--target", "label", *MEMORY, "--checkpoint-every", "100")
    model, chance = tmp_path / "model", random.Random(1)
    for _ in range(effort(thorough=10, endurance=50)):
        child = start(*words, "--model", model, "--follow", folder=tmp_path)
        wait_for(model)
        time.sleep(chance.uniform(0, 0.6))
        child.kill()
        assert wait(child, tmp_path).code == -signal.SIGKILL
    sender.join(DEADLINE)
    for name in ("model", "whole"):
        assert call(*words, "--model", tmp_path / name, folder=tmp_path).code == 0
    assert run_of(model)["evaluation"]["rows"] == 5000
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
