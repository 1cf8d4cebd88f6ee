"""Labels that are no class of the model: quarantine, refusal, acceptance; ids with other labels; unknown columns."""

import http.client
import json
import shutil
import sqlite3
import time
import zlib

import numpy as np
import pytest

import commands
import nolana
from nolana import modelfile
from nolana.errors import LogError
from nolana.serve import quarantine
from nolana.serve.log import SCHEMA, Log
from nolana.serve.quarantine import ENOUGH, LEARNED_FIRST, HeldRow
from serving import Served, refused

COLUMNS = ("--categories", "onehot", "--missing", "mean")


def make_model(folder, rows):
    """A yes/no model that has learned so many rows."""
    rng = np.random.default_rng(0)
    lines = ["pages,country,returns"]
    lines += [
        f"{p},{('uk', 'fr', '7')[i % 3]},{('no', 'yes')[p > 5]}"
        for i, p in enumerate(rng.integers(0, 10, rows).tolist())
    ]
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    words = ["learn", folder / "visits.csv", "--target", "returns", "--model", folder / "model.nolana"]
    done = commands.call(*words, "--memory", "64KB", *COLUMNS, folder=folder)
    assert done.code == 0, done.err


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    make_model(folder, LEARNED_FIRST)
    return folder / "model.nolana"


@pytest.fixture
def model(learned, tmp_path):
    shutil.copy(learned, tmp_path / "model.nolana")
    return tmp_path / "model.nolana"


def row(pages=1):
    return {"pages": pages, "country": "uk"}


def send(served, labels, id=None, pages=1):
    return served.post("/learn", {"rows": [row(pages)] * len(labels), "labels": labels, "id": id})


def listed(served):
    answer = json.loads(served.get("/classes")[1])
    return answer["classes"], {each["label"]: each["rows"] for each in answer["quarantine"]}


def metric(served, name):
    lines = served.get("/metrics")[1].decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"nolana_{name} ")).split()[1])


def test_typo_is_quarantined_and_other_rows_are_learned(model, tmp_path):
    with Served(tmp_path) as served:
        status, answer = send(served, ["yes", "maybe", "no"], "a")
        assert status == 202
        assert answer["rows"] == 2
        assert answer["quarantined"] == [{"row": 2, "label": "maybe"}]
        assert "kept and not learned" in answer["message"]
        assert [p is None for p in answer["predictions"]] == [False, True, False]
        assert [s is None for s in answer["scores"]] == [False, True, False]
        assert answer["classes"] == ["no", "yes"]
        again = send(served, ["yes", "maybe", "no"], "a")
        assert again[0] == 202
        assert (again[1]["duplicate"], again[1]["quarantined"]) == (True, answer["quarantined"])
        assert listed(served) == (["no", "yes"], {"maybe": 1})
        assert metric(served, "quarantine_rows") == metric(served, "quarantined_rows_total") == 1
        assert served.call("GET", "/model")[1]["nolana-quarantine-rows"] == "1"
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 2
    assert nolana.load(model).classes_.tolist() == ["no", "yes"]


def test_labels_are_classes_until_a_thousand_rows_are_learned(tmp_path):
    make_model(tmp_path, LEARNED_FIRST - 2)
    with Served(tmp_path) as served:
        assert send(served, ["maybe"])[0] == 200
        assert send(served, ["yes", "never"])[0] == 200  # it began before
        assert send(served, ["other"])[0] == 202
        assert listed(served) == (["maybe", "never", "no", "yes"], {"other": 1})


def test_correction_with_the_same_id_replaces_the_quarantined_row(model, tmp_path):
    with Served(tmp_path) as served:
        assert send(served, ["yse"], "a")[0] == 202
        assert send(served, ["yess"], "a")[0] == 202
        assert listed(served)[1] == {"yess": 1}
        assert send(served, ["yes"], "a")[1]["rows"] == 1
        assert listed(served)[1] == {}
        assert send(served, ["yes"], "a")[1]["duplicate"]
        assert served.post("/predict", {"rows": [row()], "id": "late"})[0] == 200
        assert served.post("/learn", {"id": "late", "label": "yse"})[0] == 202
        served.kill()
    with Served(tmp_path) as served:
        assert served.post("/learn", {"id": "late", "label": "yse"})[1]["duplicate"]
        assert served.post("/learn", {"id": "late", "label": "yes"})[1]["rows"] == 1
        assert listed(served)[1] == {}
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 2


@pytest.mark.usefixtures("model")
def test_correction_does_not_count_the_rows_that_it_replaces(tmp_path):
    """ENOUGH rows with a label make it a class; a request that is corrected has each of its rows once."""
    some = ENOUGH // 2 + 1
    with Served(tmp_path) as served:
        assert send(served, ["maybe"] * some + ["yse"], "a")[0] == 202
        assert send(served, ["maybe"] * some + ["yes"], "a")[0] == 202
        assert listed(served) == (["no", "yes"], {"maybe": some})
        assert send(served, ["maybe"] * (ENOUGH - some))[0] == 200
        assert listed(served) == (["maybe", "no", "yes"], {})


def test_refused_correction_leaves_the_quarantine_unchanged(tmp_path, learned):
    shutil.copy(learned, tmp_path / "model.nolana")
    with Served(tmp_path) as served:
        send(served, ["yse"], "a")
        assert send(served, ["x" * 1000], "a")[0] == 400
        assert served.post("/learn", {"rows": [{"pages": "many"}], "labels": ["yes"], "id": "a"})[0] == 400
        assert listed(served)[1] == {"yse": 1}


def test_accepted_class_is_learned_with_its_rows_and_discarded_rows_are_deleted(model, tmp_path):
    with Served(tmp_path) as served:
        for i in range(3):
            send(served, ["maybe"], f"m-{i}")
        send(served, ["mabye"], "typo")
        both = {"accept": ["maybe"], "discard": ["maybe"]}
        for body, status in (({"accept": ["never"]}, 404), (both, 400), ({}, 400), ({"take": []}, 400)):
            assert served.post("/classes", body)[0] == status, body
        assert served.post("/classes", b"accept=maybe", "text/plain")[0] == 415
        status, answer = served.post("/classes", {"accept": ["maybe"], "discard": ["mabye"]})
        assert status == 200
        assert answer == {"classes": ["maybe", "no", "yes"], "quarantine": [], "learned": 3, "discarded": 1}
        assert send(served, ["maybe"])[0] == 200
        for i in range(3):
            assert send(served, ["maybe"], f"m-{i}")[1]["duplicate"]
        assert send(served, ["yes"], "m-0")[0] == 409
        assert send(served, ["yes"], "typo")[1]["rows"] == 1
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 5


def test_label_of_one_per_cent_of_the_rows_becomes_a_class(model, tmp_path):
    with Served(tmp_path, "--keep-log") as served:
        for i in range(ENOUGH - 1):
            assert send(served, ["maybe"], f"m-{i}", pages=i)[0] == 202
        assert send(served, ["no"])[0] == 200
        status, answer = send(served, ["yes", "maybe"], "last")
        assert (status, answer["rows"], answer["position"]) == (200, 2, 3)
        assert listed(served) == (["maybe", "no", "yes"], {})
        assert send(served, ["maybe"], "m-0", pages=0)[1]["duplicate"]
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + ENOUGH + 2


@pytest.mark.usefixtures("model")
def test_label_below_one_per_cent_of_the_rows_stays_in_quarantine(tmp_path):
    with Served(tmp_path) as served:
        for _ in range(ENOUGH + 2):
            assert send(served, ["maybe"])[0] == 202
            assert send(served, ["no", "yes"] * (LEARNED_FIRST // ENOUGH))[0] == 200
        assert listed(served) == (["no", "yes"], {"maybe": ENOUGH + 2})


def test_young_model_releases_a_quarantined_label_when_it_comes_again(tmp_path):
    """Not at the start: a service that was started without --classes by mistake must not learn typos."""
    make_model(tmp_path, 100)
    with Served(tmp_path, "--classes", "no,yes") as served:
        assert send(served, ["maybe", "yse"])[0] == 202
        served.stop()
    with Served(tmp_path) as served:
        assert listed(served) == (["no", "yes"], {"maybe": 1, "yse": 1})
        assert send(served, ["maybe"])[0] == 200
        assert listed(served) == (["maybe", "no", "yes"], {"yse": 1})
        served.stop()
    with Served(tmp_path, "--new-classes", "accept") as served:
        assert listed(served) == (["maybe", "no", "yes", "yse"], {})


@pytest.mark.usefixtures("model")
def test_declared_classes_are_the_only_ones_until_a_restart_with_others(tmp_path):
    options = ("--keep-log", "--checkpoint-every", "1h")
    with Served(tmp_path, "--classes", "no,yes", *options) as served:
        for i in range(2 * ENOUGH):
            assert send(served, ["maybe"], f"m-{i}")[0] == 202
        status, answer = served.post("/classes", {"accept": ["maybe"]})
        assert status == 409
        assert "--classes no,yes" in answer["error"]
        assert send(served, ["yes"])[0] == 200
        served.kill()
    with Served(tmp_path, "--classes", "no,yes,maybe", *options) as served:
        assert listed(served) == (["maybe", "no", "yes"], {})
        assert send(served, ["maybe"], "m-0")[1]["duplicate"]
        served.stop()
    with Served(tmp_path, "--classes", "no,yes", *options) as served:  # also of a model that has learned others
        assert send(served, ["maybe"])[0] == 202
        served.stop()
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == LEARNED_FIRST + 2 * ENOUGH + 1


def test_declared_classes_of_a_new_model_hold_from_the_first_row(tmp_path):
    with Served(tmp_path, "--classes", "0, 1", "--target", "y", "--memory", "64KB") as served:
        status, answer = served.post("/learn", {"rows": [{"x": 1}], "labels": [2]})
        assert status == 400
        assert answer["error"] == (
            "row 1: label '2' is not a class of the model (0, 1); correct it, or the option --classes ... of the "
            "service must have it"
        )
        assert served.post("/learn", {"rows": [{"x": 1}], "labels": ["one"]})[0] == 400
        assert served.post("/learn", {"rows": [{"x": 1}, {"x": 2}], "labels": [0, 1]})[0] == 200
        status, answer = served.post("/learn", {"rows": [{"x": 1}, {"x": 2}], "labels": [1, 10]})
        assert (status, answer["quarantined"]) == (202, [{"row": 2, "label": 10}])
        served.stop()
    assert nolana.load(tmp_path / "model.nolana").classes_.tolist() == [0, 1]


def test_refuse_and_accept_rules_hold_nothing(model, tmp_path):
    with Served(tmp_path, "--new-classes", "refuse") as served:
        status, answer = send(served, ["yes", "maybe"], "a")
        assert status == 400
        assert "row 2: label 'maybe' is not a class of the model (no, yes)" in answer["error"]
        assert send(served, ["yes", "no"], "a")[0] == 200
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 2
    with Served(tmp_path, "--new-classes", "accept") as served:
        assert send(served, ["maybe"])[0] == 200
        assert listed(served) == (["maybe", "no", "yes"], {})


def test_options_that_contradict_each_other_are_refused(tmp_path, model):
    for words, what in (
        (("--classes", "no,yes", "--new-classes", "accept"), "makes every label a class"),
        (("--classes", "no,yes", "--task", "regression"), "--classes no,yes does not fit --task regression"),
        (("--classes", ","), "has no names"),
        (("--new-classes", "maybe"), "is not one of: quarantine, refuse, accept"),
    ):
        code, error = refused(tmp_path, *words)
        assert code == 2, words
        assert what in " ".join(error.split()), error
    assert model.exists()


def test_regression_has_no_quarantine(tmp_path):
    rng = np.random.default_rng(0)
    with Served(tmp_path, "--target", "y", "--task", "regression", "--memory", "64KB") as served:
        served.learn([{"x": x} for x in rng.normal(size=LEARNED_FIRST)], rng.normal(size=LEARNED_FIRST).tolist())
        served.learn([{"x": 1.0}], [123.456], "a")
        assert served.learn([{"x": 1.0}], [123.456], "a")["duplicate"]
        assert served.post("/learn", {"rows": [{"x": 1.0}], "labels": [123.457], "id": "a"})[0] == 409
        assert json.loads(served.get("/classes")[1]) == {"classes": [], "quarantine": []}


def test_id_learned_with_another_label_is_a_conflict(model, tmp_path):
    with Served(tmp_path, "--checkpoint-every", "1") as served:
        served.learn([row()], ["yes"], "a")
        served.post("/predict", {"rows": [row()], "id": "late"})
        assert served.post("/learn", {"id": "late", "label": "no"})[0] == 200
        served.kill()
    with Served(tmp_path) as served:
        status, answer = send(served, ["no"], "a")
        assert status == 409
        assert (
            answer["error"] == "the id 'a' was learned with another label, which cannot be changed; choose another id"
        )
        assert send(served, ["yes", "yes"], "a")[0] == 409
        assert send(served, ["yes"], "a")[1]["duplicate"]
        assert served.post("/learn", {"id": "late", "label": "yes"})[0] == 409
        assert served.post("/learn", {"id": "late", "label": "no"})[1]["duplicate"]
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 2


def test_unknown_columns_are_named_and_rows_without_columns_refused(model, tmp_path):
    with Served(tmp_path) as served:
        answer = served.learn([row() | {"pagez": 1, "contry": "fr"}], ["yes"])
        assert sorted(answer["unknown_columns"]) == ["contry", "pagez"]
        assert served.post("/predict", {"rows": [row() | {"pagez": 1}]})[1]["unknown_columns"] == ["pagez"]
        assert "unknown_columns" not in served.learn([row()], ["yes"])
        for body in ({"rows": [row(), {"pagez": 1}]}, {"rows": [row(), {"pagez": 1}], "labels": ["yes", "no"]}):
            status, answer = served.post("/learn" if "labels" in body else "/predict", body)
            assert status == 400
            assert answer["error"] == "row 2 has none of the columns of the model (pages, country); it has pagez", (
                answer
            )
        assert served.post("/learn", {"rows": [{}], "labels": ["yes"]})[0] == 400
        assert served.learn([{"pages": None}], ["yes"])["rows"] == 1
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 3


def test_number_in_a_text_column_is_its_text(model, tmp_path):
    with Served(tmp_path) as served:
        as_text = served.post("/predict", {"rows": [{"pages": 1, "country": "7"}]})[1]
        as_number = served.post("/predict", {"rows": [{"pages": 1, "country": 7}]})[1]
        assert as_number == as_text
        assert (
            as_text["probabilities"]
            != served.post("/predict", {"rows": [{"pages": 1, "country": "8"}]})[1]["probabilities"]
        )
        served.learn([{"pages": 1, "country": 7}], ["yes"])
        served.stop()
    assert not modelfile.read(model)["run"]["stream"]["new_columns"]["columns"]


def test_replay_of_records_that_would_be_refused_now_learns_them(model, tmp_path):
    """A log of version 1, with a row without columns and an id without labels, is replayed and brought up to date."""
    with Served(tmp_path, "--checkpoint-every", "1h") as served:
        served.learn([row()], ["yes"], "a")
        served.stop()
    database = tmp_path / "log" / "log.sqlite"
    with sqlite3.connect(database) as db:
        values = dict(db.execute("SELECT name, value FROM meta"))
    database.unlink()
    text = b'{"returns":"maybe"}'
    with sqlite3.connect(database) as db:
        db.executescript(SCHEMA)
        db.executemany("INSERT INTO meta VALUES (?, ?)", [*(values | {"version": 1, "deleted": 1}).items()])
        db.execute("INSERT INTO records VALUES (2, ?, ?)", (zlib.crc32(text), text))
        db.executemany("INSERT INTO ids VALUES (?, ?)", [("a", 1), ("b", 2)])
    with Served(tmp_path) as served:
        assert listed(served)[0] == ["maybe", "no", "yes"]
        assert send(served, ["no"], "a")[1]["duplicate"]  # version 1 does not know its label
        assert send(served, ["never"], "c")[0] == 202
        served.stop()
    assert nolana.load(model).n_rows_ == LEARNED_FIRST + 2
    with sqlite3.connect(database) as db:
        assert db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == (2,)


def held(label, text, number=0, id=None):
    return HeldRow(json.dumps(label), number, id, 1, 0, text)


def fail_in_transaction(log):
    with log.transaction():
        log.quarantine.delete_label('"label 1"')
        log.append(b"{}", {"id": object()})


def test_quarantine_is_bounded_and_forgets_what_was_rolled_back(tmp_path, monkeypatch):
    monkeypatch.setattr(quarantine, "LARGEST", 10 * (quarantine.OVERHEAD + 100))
    log = Log(tmp_path, most_ids=10, most_waiting_bytes=1000)
    with log.transaction():
        log.quarantine.add(held(f"label {i % 4}", b"x" * 100, i) for i in range(15))
    assert (log.quarantine.rows, log.quarantine.dropped) == (10, 5)
    assert log.quarantine.counts == {'"label 0"': 2, '"label 1"': 3, '"label 2"': 3, '"label 3"': 2}
    assert log.quarantine.count_since('"label 1"', 5) == 2
    with pytest.raises(LogError):
        fail_in_transaction(log)
    assert log.quarantine.rows == 10
    assert [row.learned for row in log.quarantine.of_label('"label 1"')] == [5, 9, 13]
    log.close()


@pytest.mark.parametrize("rule", [("--classes", "no,yes"), ()])
def test_killed_service_and_undisturbed_pass_write_the_same_bytes(tmp_path, learned, rule):
    """Typos among the rows: some labels become classes, some are accepted, and the service is killed."""
    rng = np.random.default_rng(3)
    shutil.copy(learned, tmp_path / "model.nolana")
    options = (*rule, "--keep-log", "--checkpoint-every", "40")
    with Served(tmp_path, *options) as served:
        for i in range(120):
            labels = rng.choice(
                ["no", "yes", "maybe", "yse", "never"], rng.integers(1, 4), p=[0.4, 0.4, 0.1, 0.05, 0.05]
            )
            body = {
                "rows": [row(int(p)) | {"n": i} for p in rng.integers(0, 9, len(labels))],
                "labels": labels.tolist(),
                "id": i,
            }
            status, _ = served.post("/learn", body)
            assert status in (200, 202)
            if i % 40 == 20:
                served.kill()
                served.__init__(tmp_path, *options)
            assert served.post("/learn", body)[1]["duplicate"]
            if i == 70 and not rule and "never" in listed(served)[1]:
                assert served.post("/classes", {"accept": ["never"]})[0] == 200
        _, left = listed(served)
        served.stop()
    with sqlite3.connect(tmp_path / "log" / "log.sqlite") as db:
        texts = [bytes(text) for (text,) in db.execute("SELECT text FROM records ORDER BY position")]
        kept = [bytes(text) for (text,) in db.execute("SELECT text FROM quarantine ORDER BY number")]
    rows = [json.loads(line) for text in texts for line in text.split(b"\n")]
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == LEARNED_FIRST + len(rows)
    assert len(kept) == sum(left.values())
    assert sorted({each["n"] for each in rows + [json.loads(text) for text in kept]}) == list(range(120))
    again = tmp_path / "again"
    again.mkdir()
    # One undisturbed pass over the same log, from the same model.
    shutil.copytree(tmp_path / "log", again / "log")
    sections = modelfile.read(learned)
    identity = modelfile.read(tmp_path / "model.nolana")["run"]["log"]["id"]
    modelfile.write(
        again / "model.nolana", sections | {"run": sections["run"] | {"log": {"id": identity, "position": 0}}}
    )
    with Served(again, *options) as served:
        served.stop()
    assert (again / "model.nolana").read_bytes() == (tmp_path / "model.nolana").read_bytes()


def test_page_reports_the_quarantine(model, tmp_path):
    with Served(tmp_path) as served:
        send(served, ["maybe"])
        deadline = time.monotonic() + commands.DEADLINE
        while (event := first_event(served)).get("quarantine") != [["maybe", 1]]:
            assert time.monotonic() < deadline
        assert event["quarantine_rows"] == 1
        document = json.loads(served.get("/openapi.json")[1])
        assert set(document["paths"]["/classes"]) == {"get", "post"}
        assert "202" in document["paths"]["/learn"]["post"]["responses"]
    assert model.exists()


def first_event(served):
    connection = http.client.HTTPConnection(served.host, served.port, timeout=30)
    connection.request("GET", "/events")
    response = connection.getresponse()
    line = response.fp.readline()
    while not line.startswith(b"data: "):
        line = response.fp.readline()
    connection.close()
    return json.loads(line[6:])


@pytest.mark.parametrize("classes", [(), ("--classes", "TRUE,FALSE"), ("--new-classes", "accept")])
def test_booleans_in_other_letters_are_classes_of_the_model_also_after_a_crash(classes, tmp_path):
    rows = [{"a": i % 7, "b": i % 3} for i in range(1200)]
    lines = [f"{each['a']},{each['b']},{each['a'] > 3}" for each in rows]
    (tmp_path / "s.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    words = ["learn", tmp_path / "s.csv", "--target", "y", "--model", tmp_path / "model.nolana", "--memory", "64KB"]
    assert commands.call(*words, folder=tmp_path).code == 0
    with Served(tmp_path, *classes) as served:
        answer = served.learn(rows[:3], [False, "TRUE", True], "a")
        assert answer["classes"] == ["False", "True"]
        assert served.learn([rows[0] | {"y": True}], None)["classes"] == ["False", "True"]
        assert served.learn(rows[:3], [False, "TRUE", True], "a")["duplicate"]
        assert served.post("/learn", {"rows": rows[:1], "labels": ["maybe"]})[0] in (200, 202, 400)
        served.kill()
    with Served(tmp_path, *classes) as served:
        assert served.learn(rows[:1], ["false"])["rows"] == 1
        served.stop()
    maybe = ["maybe"] * (classes[:1] == ("--new-classes",))
    model = nolana.load(tmp_path / "model.nolana")
    assert (model.classes_.tolist(), model.n_rows_) == (["False", "True", *maybe], 1205 + len(maybe))
