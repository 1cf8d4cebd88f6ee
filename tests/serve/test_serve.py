"""What clients see: predictions, learning, late labels, formats, files, restarts."""

import http.client
import io
import json
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import commands
import nolana
from nolana import modelfile
from nolana.errors import ConflictError
from nolana.estimators.records import record_of
from nolana.runs import Inspection, Recipe, Scoring, SourceOptions
from nolana.runs.checkpoints import read
from nolana.serve.model import NewModel, load
from nolana.serve.refusal import Refusal
from nolana.serve.rows import with_label
from serving import Served

SMALL = ("--memory", "64KB")


def rows(n, seed=0):
    """Two numbers, a colour and a time; the kind depends on them."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        a, b = rng.normal(size=2).round(5).tolist()
        colour = str(rng.choice(["red", "green", "blue"]))
        kind = ("warm" if colour == "red" else "cold") if a * b > 0 else "mixed"
        yield {"a": a, "b": b, "colour": colour, "when": f"2024-01-{1 + i % 28:02d}T00:00:00"}, kind


def features_and_labels(n, seed=0):
    both = list(rows(n, seed))
    return [x for x, _ in both], [y for _, y in both]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A model file that `nolana learn` made, and the rows that it learned."""
    folder = tmp_path_factory.mktemp("learned")
    X, y = features_and_labels(400)
    lines = [json.dumps(x | {"kind": label}) for x, label in zip(X, y, strict=True)]
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")
    words = ["learn", folder / "s.jsonl", "--target", "kind", "--model", folder / "m", "--missing", "mean"]
    done = commands.call(*words, "--categories", "onehot", *SMALL, folder=folder)
    assert done.code == 0, done.err
    return folder / "m"


@pytest.fixture
def model(learned, tmp_path):
    """A copy of the model file."""
    (tmp_path / "model.nolana").write_bytes(learned.read_bytes())
    return tmp_path / "model.nolana"


def predicted(model, X, folder):
    """What `nolana predict` says."""
    (folder / "new.jsonl").write_text("".join(json.dumps(x) + "\n" for x in X))
    done = commands.call("predict", folder / "new.jsonl", "--model", model, "--proba", "--json", folder=folder)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_predictions_are_those_of_nolana_predict(model, tmp_path):
    X, _ = features_and_labels(30, seed=1)
    X[3]["a"] = None
    del X[4]["colour"]
    expected = predicted(model, X, tmp_path)
    with Served(tmp_path) as served:
        status, answer = served.post("/predict", {"rows": X})
        assert status == 200
        assert answer["predictions"] == [row["prediction"] for row in expected]
        proba = [list(row["proba"].values()) for row in expected]
        assert np.array_equal(answer["probabilities"], proba)
        assert answer["classes"] == ["cold", "mixed", "warm"]
        best = np.max(answer["probabilities"], axis=1)
        assert np.allclose(answer["uncertainty"], 1 - best, atol=1e-15)
        arrays = [[x.get(name) for name in ("a", "b", "colour", "when")] for x in X]
        assert served.post("/predict", {"rows": arrays})[1] == answer
        lines = "".join(json.dumps(x) + "\n" for x in X).encode()
        assert served.post("/predict", lines, "application/x-ndjson")[1] == answer
        assert served.post("/predict", arrow(X), "application/vnd.apache.arrow.stream")[1] == answer


def arrow(X):
    table, sink = pa.Table.from_pylist(X), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return sink.getvalue()


def test_learning_is_that_of_nolana_learn_in_every_format(model, tmp_path):
    """The same rows by `nolana learn` and by the service, in four formats and with late labels: the same state."""
    X, y = features_and_labels(300, seed=2)
    X[10]["b"] = None
    lines = [json.dumps(x | {"kind": label}) for x, label in zip(X, y, strict=True)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "other").write_bytes(model.read_bytes())
    words = ["learn", tmp_path / "t.jsonl", "--model", tmp_path / "other", "--target", "kind"]
    assert commands.call(*words, folder=tmp_path).code == 0
    with Served(tmp_path) as served:
        first = served.learn(X[:50], y[:50])
        assert first["rows"] == 50
        assert len(first["scores"]) == len(first["predictions"]) == 50
        served.learn([list(x.values()) for x in X[50:100]], y[50:100])
        block = "\n".join(lines[100:150]).encode()
        assert served.post("/learn", block, "application/x-ndjson")[1]["rows"] == 50
        table = arrow([x | {"kind": label} for x, label in zip(X[150:200], y[150:200], strict=True)])
        assert served.post("/learn?id=table", table, "application/vnd.apache.arrow.stream")[1]["rows"] == 50
        assert served.post("/learn?id=table", table, "application/vnd.apache.arrow.stream")[1]["duplicate"]
        assert served.post("/predict", {"rows": X[200:299], "id": 7})[1]["stored"]
        assert served.post("/learn", {"id": 7, "labels": y[200:299]})[1]["rows"] == 99
        assert served.post("/learn", {"rows": X[299:], "label": y[299]})[1]["rows"] == 1
        assert served.stop().code == 0
    ours, theirs = modelfile.read(model), modelfile.read(tmp_path / "other")
    for path in (("estimator",), ("run", "stream", "encoder"), ("run", "evaluation")):
        trees = []
        for sections in (ours, theirs):
            tree = sections
            for name in path:
                tree = tree[name]
            trees.append(modelfile.packed({"tree": tree}))
        assert trees[0] == trees[1], path


def test_labels_come_after_a_restart_and_only_once(model, tmp_path):
    X, y = features_and_labels(3, seed=3)
    with Served(tmp_path) as served:
        assert served.post("/predict", {"rows": X[:2], "id": "order-1"})[1]["stored"]
        assert served.post("/predict", {"rows": X[:2], "id": "order-1"})[1]["stored"]  # sent again
        status, answer = served.post("/predict", {"rows": X[2:], "id": "order-1"})
        assert (status, "other rows are stored" in answer["error"]) == (409, True)
        served.kill()
    with Served(tmp_path) as served:
        status, answer = served.post("/learn", {"id": "order-1", "label": y[0]})
        assert (status, answer["error"]) == (400, "2 rows are stored for the id 'order-1', but 1 labels came")
        assert served.post("/learn", {"id": "order-1", "labels": y[:2]})[1]["rows"] == 2
        assert served.post("/learn", {"id": "order-1", "labels": y[:2]})[1]["duplicate"]
        assert not served.post("/predict", {"rows": X[:2], "id": "order-1"})[1]["stored"]
        assert served.post("/learn", {"id": "order-2", "label": y[0]})[0] == 404
        served.kill()
    with Served(tmp_path) as served:
        assert served.post("/learn", {"id": "order-1", "labels": y[:2]})[1]["duplicate"]
        served.stop()
    assert nolana.load(model).n_rows_ == 402


def test_a_new_model_begins_with_the_first_rows(tmp_path):
    with Served(tmp_path, "--target", "y", "--task", "regression", *SMALL) as served:
        assert served.post("/predict", {"rows": [{"x": 1}]})[0] == 409
        answer = served.post("/predict", {"rows": [{"x": 1.0}], "id": "a"})[1]
        assert answer == {"predictions": [None], "rows": 0, "stored": True}
        assert served.get("/model")[0] == 409
        assert served.post("/learn", {"rows": [{"x": [1]}], "labels": [1]})[0] == 400  # not a flat value
        assert served.post("/learn", {"rows": [{"x": 1}], "labels": [1e200]})[0] == 400  # too large to be learned
        assert served.get("/healthz")[0] == 200
        assert served.post("/learn", {"id": "a", "label": 2})[1]["rows"] == 1
        X = np.random.default_rng(0).uniform(-3, 3, 300).round(5)
        served.learn([{"x": x} for x in X.tolist()], np.sin(X).tolist())
        assert served.post("/learn", {"rows": [{"x": 1}], "labels": ["high"]})[0] == 400
        answer = served.post("/predict", {"rows": [[0.5]]})[1]
        assert answer["low"][0] < answer["predictions"][0] < answer["high"][0]
        assert answer["rows"] == 301
        assert served.stop().code == 0
    facts = Inspection(tmp_path / "model.nolana").facts()
    assert facts["rows"] == facts["run"]["rows_scored"] == 301
    assert facts["run"]["target"] == "y"


def test_other_commands_and_the_service_use_one_file(model, tmp_path):
    """`nolana learn` keeps the position in the log; the lock refuses a second writer."""
    X, y = features_and_labels(20, seed=4)
    source = tmp_path / "more.jsonl"
    source.write_text("".join(json.dumps(x | {"kind": label}) + "\n" for x, label in rows(50, seed=5)))
    with Served(tmp_path, "--keep-log") as served:
        served.learn(X[:10], y[:10])
        done = commands.call("learn", source, "--model", model, folder=tmp_path)
        assert done.code == 1
        assert "locked by process" in done.err
        served.stop()
    assert commands.call("learn", source, "--model", model, folder=tmp_path).code == 0
    with Served(tmp_path, "--keep-log") as served:
        served.learn(X[10:], y[10:])
        served.stop()
    assert nolana.load(model).n_rows_ == 400 + 20 + 50
    assert modelfile.read(model)["run"]["log"]["position"] == 2
    assert commands.call("predict", source, "--model", model, folder=tmp_path).code == 0


def test_the_model_is_consistent_while_it_learns(model, tmp_path):
    X, y = features_and_labels(200, seed=6)
    with Served(tmp_path, "--checkpoint-every", "1h") as served:
        for i in range(0, 200, 20):
            served.learn(X[i : i + 20], y[i : i + 20])
            (tmp_path / "fetched").write_bytes(served.get("/model")[1])
            assert nolana.load(tmp_path / "fetched").n_rows_ == 400 + i + 20
        last = served.get("/model")[1]
        served.stop()
    assert model.read_bytes() == last


def test_models_of_every_kind_are_served(tmp_path):
    """Saved in Python, from CSV without names, from LIBSVM text, landmarks, FOGD, a wide sparse model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(4)
    y = (X[:, 0] > 0).astype(int)
    nolana.NolanaClassifier(n_landmarks=10).fit(X, y).save(tmp_path / "python")
    (tmp_path / "s.csv").write_text("".join(f"{a},{b},{c},{k}\n" for (a, b, c), k in zip(X, y, strict=True)))
    (tmp_path / "s.svm").write_text("".join(f"{k} 1:{a} 3:{c}\n" for (a, _, c), k in zip(X, y, strict=True)))
    (tmp_path / "w.svm").write_text("".join(f"{k} {1 + i % 300}:{a} 900:{c}\n" for i, ((a, _, c), k) in
                                            enumerate(zip(X, y, strict=True))))  # fmt: skip
    for name, source, method in (("csv", "s.csv", "fogd"), ("svm", "s.svm", "nolana"), ("wide", "w.svm", "stream")):
        words = ["learn", tmp_path / source, "--model", tmp_path / name, "--method", method]
        done = commands.call(*words, folder=tmp_path)
        assert done.code == 0, done.err
    array = X[0].tolist()
    for name, row in (
        ("python", {"1": array[0], "2": array[1], "3": array[2]}),
        ("csv", {"1": array[0], "2": array[1], "3": array[2]}),
        ("svm", {"1": array[0], "3": array[2]}),
        ("wide", {"1": array[0], "900": array[2]}),
    ):
        with Served(tmp_path, model=tmp_path / name, log=f"log-{name}") as served:
            status, answer = served.post("/predict", {"rows": [row]})
            assert status == 200, (name, answer)
            before = answer["rows"]
            learned = served.learn([row, row], [1, 0], "x")
            assert learned["rows"] == 2
            if name in ("python", "csv"):
                assert served.post("/predict", {"rows": [array]})[0] == 200
            assert served.stop().code == 0
        assert nolana.load(tmp_path / name).n_rows_ == before + 2


@pytest.mark.parametrize(
    ("categories", "remedy", "words"),
    [("native", "native", "learns that it is missing"), ("error", "mean", "fills it in")],
)
def test_missing_values_are_refused_or_taken(categories, remedy, words, tmp_path):
    refusing = ("--missing", "error", "--categories", categories)
    with Served(tmp_path, *SMALL, "--task", "classification", *refusing) as served:
        served.learn([{"a": 1.0, "b": 2.0}] * 4, ["x", "y"] * 2)
        status, answer = served.post("/predict", {"rows": [{"a": 1.0}]})
        assert status == 400
        assert answer == {
            "error": f'row 1, key "b": the value is missing; the option --missing {remedy} of the service {words}',
            "row": 1,
            "column": "b",
            "remedies": [{"option": "missing", "value": remedy}],
        }
        served.stop()
    with Served(tmp_path, "--missing", remedy) as served:
        assert served.post("/predict", {"rows": [{"a": 1.0}]})[0] == 200
        served.learn([{"a": 1.0}], ["x"])
        served.stop()
    assert nolana.load(tmp_path / "model.nolana").n_rows_ == 5


def test_restart_replays_the_tail_only_and_the_log_is_trimmed(model, tmp_path):
    X, y = features_and_labels(60, seed=7)
    with Served(tmp_path, "--checkpoint-every", "20") as served:
        for i in range(50):
            served.learn([X[i]], [y[i]], f"row-{i}")
        metrics = served.get("/metrics")[1].decode()
        records = float(
            next(line for line in metrics.splitlines() if line.startswith("nolana_log_records ")).split()[1]
        )
        assert records <= 20
        served.kill()
    with Served(tmp_path, "--checkpoint-every", "20") as served:
        assert "records of the log learned" in (served.output / ".err").read_text()
        assert served.learn([X[0]], [y[0]], "row-0")["duplicate"]  # the id outlives the record
        served.stop()
    assert nolana.load(model).n_rows_ == 450


@pytest.mark.usefixtures("model")
def test_ids_and_waiting_rows_are_bounded(tmp_path):
    X, y = features_and_labels(30, seed=8)
    with Served(tmp_path, "--ids", 10, "--waiting", "2KB") as served:
        for i in range(20):
            served.learn([X[i]], [y[i]], f"row-{i}")
        assert served.learn([X[19]], [y[19]], "row-19")["duplicate"]
        assert not served.learn([X[0]], [y[0]], "row-0")["duplicate"]  # forgotten
        for i in range(30):
            assert served.post("/predict", {"rows": [X[i]], "id": f"late-{i}"})[1]["stored"]
        assert served.post("/learn", {"id": "late-0", "label": y[0]})[0] == 404
        assert served.post("/learn", {"id": "late-29", "label": y[0]})[0] == 200
        metrics = served.get("/metrics")[1].decode()
        assert "nolana_duplicates_total 1\n" in metrics


def test_reports(model, tmp_path):
    X, y = features_and_labels(300, seed=9)
    with Served(tmp_path, "--new-columns", "ignore") as served:
        served.learn([x | {"extra": 1} for x in X], y)
        served.post("/predict", {"rows": X[:1]})
        assert served.get("/healthz") == (200, b'{"status":"ok"}')
        document = json.loads(served.get("/openapi.json")[1])
        assert document["openapi"].startswith("3.1")
        assert set(document["paths"]) >= {"/predict", "/learn", "/model", "/metrics", "/healthz", "/"}
        assert set(document["components"]["schemas"]["Row"]["properties"]) == {"a", "b", "colour", "when"}
        status, headers, page = served.call("GET", "/")
        assert status == 200
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert b"http" not in page.replace(b"http://www.w3.org/2000/svg", b"")  # nothing from outside
        event, deadline = first_event(served), time.monotonic() + commands.DEADLINE
        while event["rows"] < 700:  # the summary is a moment late
            assert time.monotonic() < deadline
            event = first_event(served)
        assert event["metric"] == "accuracy"
        assert event["baselines"].keys() == {"majority class", "last label"}
        assert event["baselines"]["majority class"]["accuracy"] < event["score"]["accuracy"]
        assert {expert["name"] for expert in event["experts"]} > {"landmarks", "bins"}
        metrics = served.get("/metrics")[1].decode()
        check_prometheus(metrics)
        assert 'nolana_baseline_score{baseline="last label",metric="accuracy"} 0.' in metrics
        for line in ("nolana_rows_total 700", 'nolana_requests_total{endpoint="/learn",status="200"} 1'):
            assert f"{line}\n" in metrics
        served.stop()
    assert Inspection(model).facts()["run"]["new_columns"] == {"extra": 300}


def first_event(served):
    connection = http.client.HTTPConnection(served.host, served.port, timeout=30)
    connection.request("GET", "/events")
    response = connection.getresponse()
    assert response.getheader("content-type").startswith("text/event-stream")
    line = response.fp.readline()
    while not line.startswith(b"data: "):
        line = response.fp.readline()
    connection.close()
    return json.loads(line[6:])


def check_prometheus(text):
    """Each sample follows its type; histograms are cumulative."""
    declared, buckets = set(), {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            declared.add(line.split()[2])
        elif not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            base = name.partition("{")[0]
            float(value)
            assert any(base == known or base.startswith(f"{known}_") for known in declared), line
            if "_bucket" in name:
                buckets.setdefault(name.partition(",le=")[0], []).append(float(value))
    assert buckets
    assert all(counts == sorted(counts) for counts in buckets.values())


def test_read_only_follows_the_file_and_learns_nothing(model, tmp_path):
    X, y = features_and_labels(20, seed=10)
    before = model.read_bytes()
    with Served(tmp_path, "--read-only", log=None) as served:
        assert served.post("/predict", {"rows": X})[0] == 200
        assert served.post("/learn", {"rows": X, "labels": y})[0] == 403
        assert served.post("/predict", {"rows": X, "id": "a"})[0] == 403
        assert model.read_bytes() == before
        other = nolana.load(model)
        other.learn(np.zeros((5, other.n_features_in_)), np.array(["cold"] * 5))
        sections = modelfile.read(model)
        modelfile.write(model, sections | {"estimator": record_of(other)})
        deadline = time.monotonic() + commands.DEADLINE
        while served.post("/predict", {"rows": X})[1]["rows"] != 405:
            assert time.monotonic() < deadline
        assert served.stop().code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_drain_and_save(model, tmp_path, number):
    X, y = features_and_labels(5, seed=11)
    with Served(tmp_path, "--checkpoint-every", "1h") as served:
        served.learn(X, y)
        done = served.stop(number)
        assert (done.code, "saved, 405 rows" in done.err) == (0, True)
    assert nolana.load(model).n_rows_ == 405


def test_predictions_while_new_classes_come(learned):
    """One thread learns new classes, another predicts: probabilities belong to the classes beside them."""
    served = load(learned, NewModel(SourceOptions(), Recipe(), Scoring()))
    X, _ = features_and_labels(60, seed=12)
    texts = [json.dumps(x).encode() for x in X]
    rows = served.reader.read(b"\n".join(texts), labelled=False)
    ended, answers = threading.Event(), []

    def predict():
        while not ended.is_set():
            answers.append(served.predict(served.encoded(rows)))
        answers.append(None)  # no exception ended it

    thread = threading.Thread(target=predict)
    thread.start()
    try:
        for i in range(40):
            lines = b"\n".join(with_label(text, "kind", json.dumps(f"new {i}").encode()) for text in texts[:3])
            [outcome] = served.learn([served.reader.read(lines, labelled=True)])
            assert not isinstance(outcome, Refusal)
    finally:
        ended.set()
        thread.join(commands.DEADLINE)
    assert answers.pop() is None
    for answer in answers:
        assert {len(row) for row in answer["probabilities"]} == {len(answer["classes"])}
        assert set(answer["predictions"]) <= set(answer["classes"])
        assert np.allclose(np.sum(answer["probabilities"], axis=1), 1)


@pytest.mark.usefixtures("model")
def test_level_of_a_prediction_gives_label_sets_that_grow(tmp_path):
    X, y = features_and_labels(60, seed=12)
    with Served(tmp_path) as served:
        plain = served.post("/predict", {"rows": X})[1]
        sets = {level: served.post("/predict", {"rows": X, "level": level})[1]["sets"] for level in (0.01, 0.9, 0.999)}
        assert "sets" not in plain
        best = np.argmax(plain["probabilities"], axis=1)
        assert sets[0.01] == [[plain["classes"][i]] for i in best]
        assert all(set(small) <= set(large) for small, large in zip(sets[0.9], sets[0.999], strict=True))
        assert np.mean([label in each for label, each in zip(y, sets[0.999], strict=True)]) > 0.9
        for level in (0, 1, 1.5, "0.9"):
            status, answer = served.post("/predict", {"rows": X, "level": level})
            assert status == 400
            assert "level" in answer["error"]
        assert served.post("/learn", {"rows": X[:1], "labels": y[:1], "level": 0.9})[0] == 400


def test_predictions_follow_the_class_weights_of_the_model(learned):
    """Probabilities are true odds: with weights the most probable class is not always the prediction."""
    served = load(learned, NewModel(SourceOptions(), Recipe(), Scoring()))
    X, _ = features_and_labels(200, seed=3)
    rows = served.reader.read(b"\n".join(json.dumps(x).encode() for x in X), labelled=False)
    plain = served.predict(served.encoded(rows))
    served.estimator.set_params(class_weight={"warm": 50.0})
    weighted = served.predict(served.encoded(rows))
    assert plain["probabilities"] == weighted["probabilities"]
    assert weighted["predictions"].count("warm") > plain["predictions"].count("warm")
    columns = [weighted["classes"].index(label) for label in weighted["predictions"]]
    assert np.allclose(weighted["uncertainty"], 1 - np.array(weighted["probabilities"])[np.arange(200), columns])


OLD = {"rows": 40, "offset": 0, "line": 41, "target": True, "encoding": None, "lines": []}
OLD |= {"head": 1 << 32, "tail": 1 << 32}


def test_a_model_that_was_served_by_0_2_is_read_without_its_position(tmp_path):
    """It had the source "nolana serve" and a position that no file has; such files load, are served and learn files."""
    model, source = tmp_path / "model.nolana", tmp_path / "more.csv"
    some = [{"a": float(i % 7), "b": float(i % 5)} for i in range(40)]
    labels = ["x" if row["a"] > 3 else "y" for row in some]
    with Served(tmp_path, *SMALL, "--target", "kind") as served:
        served.learn(some, labels)
        served.stop()
    sections = modelfile.read(model)
    assert sections["run"]["source"] is None
    assert sections["run"]["stream"]["position"] is None
    sections["run"] |= {"source": "nolana serve", "learned": [{"source": "nolana serve", "position": OLD}]}
    sections["run"]["stream"] |= {"position": OLD}
    modelfile.write(model, sections)
    estimator, saved = read(model)
    assert (estimator.n_rows_, saved.source, saved.learned, saved.stream["position"]) == (40, None, (), None)
    with Served(tmp_path) as served:
        served.learn(some[:2], labels[:2])
        served.stop()
    assert "source     requests to a service, finished" in commands.call("inspect", model, folder=tmp_path).out
    lines = [f"{row['a']},{row['b']},{label}" for row, label in zip(some, labels, strict=True)]
    source.write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    for expected in (40, 0):  # the second time all rows are known
        done = commands.call("learn", source, "--model", model, "--json", folder=tmp_path)
        assert done.code == 0, done.err
        assert (json.loads(done.out)["rows"] - 42, json.loads(done.out)["new_rows"]) == (40, expected)


NO_OPTIONS = NewModel(SourceOptions(), Recipe(), Scoring())


def test_several_labels_are_predicted_each(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = nolana.StreamClassifier(random_state=0, memory="128KB").partial_fit(X, np.c_[X[:, 0] > 0, X[:, 1] > 0.5])
    model.save(tmp_path / "m")
    served = load(tmp_path / "m", NO_OPTIONS)
    rows = served.reader.read(b'{"1": 1.0, "2": 2.0, "3": 0.0}\n{"1": -1.0, "2": -2.0, "3": 0.0}', labelled=False)
    answer = served.predict(served.encoded(rows))
    assert answer["predictions"] == [[1, 1], [0, 0]]
    probabilities = model.predict_proba(np.array([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.0]]))
    assert np.array_equal(answer["probabilities"], probabilities)
    assert np.allclose(answer["uncertainty"], np.where(answer["predictions"], 1 - probabilities, probabilities))


@pytest.mark.parametrize("estimator", [nolana.StreamClassifier, nolana.StreamRegressor])
def test_model_without_labels_is_refused_at_the_start(estimator, tmp_path):
    unlabelled = estimator(memory="64KB", random_state=0)
    unlabelled.learn(np.random.default_rng(0).normal(size=(20, 2)))
    unlabelled.save(tmp_path / "m")
    with pytest.raises(ConflictError, match="rows without labels alone"):
        load(tmp_path / "m", NO_OPTIONS)


def test_labels_that_are_arrays_are_refused_and_make_no_class(tmp_path):
    with Served(tmp_path, *SMALL) as served:
        assert served.post("/learn", {"rows": [{"a": 1}, {"a": 2}], "labels": ["no", "yes"]})[0] == 200
        status, answer = served.post("/learn", {"rows": [{"a": 1}], "labels": [["no", "yes"]]})
        assert status == 400
        assert "is an array or object" in answer["error"]
        assert served.get("/classes")[0] == 200
        assert json.loads(served.get("/classes")[1])["classes"] == ["no", "yes"]
