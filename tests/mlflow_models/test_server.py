"""Against a server of MLflow with each store: processes that log, load, register, score and serve."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import nolana
from tracking_server import DEADLINE, QUIET, mlflow_process, post, program

pytestmark = pytest.mark.soak
mlflow = pytest.importorskip("mlflow")

DATA = """
import sys, numpy as np, pandas as pd, mlflow, nolana
rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.integers(0, 9, 3000), "b": rng.normal(size=3000), "c": rng.choice(["x", "y"], 3000)})
y = np.where((X.a > 4) ^ (X.b > 0), "yes", "no")
y[1500:] = np.where(y[1500:] == "yes", "no", "yes")
"""
LOG = (
    DATA
    + """
model = nolana.StreamClassifier(memory="128KB", random_state=0)
mlflow.set_experiment("visits")
with mlflow.start_run() as run, nolana.mlflow.Logger(every=1000) as logger:
    blocks = [(X[i : i + 500], y[i : i + 500]) for i in range(0, 2700, 500)]
    blocks[-1] = (X[2500:2700], y[2500:2700])
    result = nolana.evaluate.progressive(model, blocks, callback=logger)
    info = nolana.mlflow.log_model(model, registered_model_name="visits")
mlflow.MlflowClient().set_registered_model_alias("visits", "champion", 1)
model.save("own.nolana")
np.save("probabilities.npy", model.predict_proba(X))
import json
print("RESULT", json.dumps([run.info.run_id, info.model_uri, result.metrics["accuracy"], model.drift_]))
"""
)
LOAD = (
    DATA
    + """
expected = np.load("probabilities.npy")
for uri in sys.argv[1:]:
    served = mlflow.pyfunc.load_model(uri)
    assert np.array_equal(served.predict(X, params={"predict_method": "predict_proba"}), expected)
    model = nolana.mlflow.load_model(uri)
    assert np.array_equal(model.predict_proba(X), expected)
    own = nolana.load("own.nolana")
    assert np.array_equal(model.learn(X, y), own.learn(X, y))
    print("same")
"""
)


@pytest.fixture(scope="module", params=["file", "sqlite"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    store = {"file": f"file://{folder}/store", "sqlite": f"sqlite:///{folder}/store.db"}[request.param]
    words = ["server", "--backend-store-uri", store, "--artifacts-destination", folder / "artifacts", "--workers", 1]
    with mlflow_process(*words, folder=folder, health="/health") as address:
        yield folder, address


@pytest.fixture(scope="module")
def logged(server):
    """What a process has logged: run, address of the model, accuracy, rows of the drift alarms."""
    folder, address = server
    out = program(LOG, folder, address)
    return json.loads(out.partition("RESULT ")[2].splitlines()[0])


def history(address, run_id, name):
    points = mlflow.MlflowClient(address).get_metric_history(run_id, name)
    return sorted((point.step, point.value) for point in points)


def test_logger_has_points_every_n_rows_and_at_the_end(server, logged):
    _, address = server
    run_id, _, accuracy, alarms = logged
    scores = history(address, run_id, "accuracy")
    assert [step for step, _ in scores] == [1000, 2000, 2700]
    assert scores[-1][1] == accuracy
    assert {value for _, value in history(address, run_id, "memory_bytes")} <= set(range(128 * 1024 + 1))
    assert len(alarms) > 0
    assert history(address, run_id, "drift_alarms") == [(row, i) for i, row in enumerate(alarms, 1)]


def test_another_process_loads_scores_and_continues(server, logged):
    folder, address = server
    out = program(LOAD, folder, address, logged[1], "models:/visits/1", "models:/visits@champion")
    assert out.count("same\n") == 3


@pytest.mark.usefixtures("logged")
def test_model_server_predicts_json(server):
    folder, address = server
    rows = {"columns": ["a", "b", "c"], "data": [[3, 0.5, "x"], [None, -1, None], [8, 2.5, "new"]]}
    own = nolana.load(folder / "own.nolana")
    table = [dict(zip(rows["columns"], row, strict=True)) for row in rows["data"]]
    words = ["models", "serve", "-m", "models:/visits/1", "--env-manager", "local", "--workers", 1]
    with mlflow_process(*words, folder=folder, health="/ping", MLFLOW_TRACKING_URI=address) as place:
        answer = post(place + "/invocations", {"dataframe_split": rows})
        assert answer["predictions"] == own.predict(table).tolist()
        wanted = {"dataframe_records": table, "params": {"predict_method": "predict_proba"}}
        assert np.array_equal(post(place + "/invocations", wanted)["predictions"], own.predict_proba(table))


def learn(folder, address, *words, **options):
    return subprocess.Popen(
        [Path(sys.executable).with_name("nolana"), "learn", *map(str, words)],
        env=os.environ | QUIET | {"MLFLOW_TRACKING_URI": address},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def write_rows(path, rows=5000):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, 2)).round(3)
    lines = [f"{a},{b},{'yes' if a * b > 0 else 'no'}" for a, b in x.tolist()]
    path.write_text("\n".join(["a,b,label", *lines]) + "\n")


def test_learn_logs_score_parameters_and_model_file(server, tmp_path):
    _, address = server
    write_rows(tmp_path / "rows.csv")
    words = ["rows.csv", "--target", "label", "--model", "m.nolana", "--mlflow", "files", "--mlflow-every", 2000]
    child = learn(tmp_path, address, *words, "--json")
    out, err = child.communicate(timeout=DEADLINE)
    assert child.returncode == 0, err
    facts = json.loads(out)
    assert facts["mlflow"]["experiment"] == "files"
    run = mlflow.MlflowClient(address).get_run(facts["mlflow"]["run_id"])
    assert (run.info.status, run.data.params["source"]) == ("FINISHED", "rows.csv")
    assert {"method": "stream", "task": "classification"}.items() <= run.data.params.items()
    scores = history(address, run.info.run_id, "accuracy")
    assert [step for step, _ in scores] == [2000, 4000, 5000]
    assert scores[-1][1] == facts["metrics"]["accuracy"]
    (model,) = run.outputs.model_outputs
    fetch = "import sys, mlflow.artifacts as a; a.download_artifacts(artifact_uri=sys.argv[1], dst_path='copy')"
    program(fetch, tmp_path, address, f"models:/{model.model_id}")
    assert (tmp_path / "copy/data/model.nolana").read_bytes() == (tmp_path / "m.nolana").read_bytes()
    again = learn(tmp_path, address, *words)
    out, err = again.communicate(timeout=DEADLINE)
    assert (again.returncode, "nothing new" in out, "mlflow" in out) == (0, True, False), err


def test_learn_continues_when_the_server_is_gone(tmp_path):
    """The model has the bytes of a run without MLflow."""
    write_rows(tmp_path / "rows.csv")
    rows = (tmp_path / "rows.csv").read_text().splitlines(keepends=True)
    (tmp_path / "server").mkdir()
    store = ["--backend-store-uri", f"file://{tmp_path}/server/store", "--workers", 1]
    with mlflow_process("server", *store, folder=tmp_path / "server", health="/health") as address:
        words = ["-", "--target", "label", "--mlflow", "pipe"]
        child = learn(tmp_path, address, *words, "--model", "m.nolana", stdin=subprocess.PIPE)
        child.stdin.write("".join(rows[:2001]))
        child.stdin.flush()
        client = mlflow.MlflowClient(address)
        wait_for(lambda: client.get_experiment_by_name("pipe") and logged_rows(client) >= 1000)
    _, err = child.communicate("".join(rows[2001:]), timeout=DEADLINE)
    assert child.returncode == 0, err
    assert err.count("nolana: MLflow: ") == 1
    assert "nothing more is logged, learning continues" in err
    child = learn(tmp_path, address, *words[:-2], "--model", "own.nolana", stdin=subprocess.PIPE)
    child.communicate("".join(rows), timeout=DEADLINE)
    assert (tmp_path / "m.nolana").read_bytes() == (tmp_path / "own.nolana").read_bytes()


def test_learn_refuses_a_server_that_does_not_answer(tmp_path):
    write_rows(tmp_path / "rows.csv", 10)
    words = ["rows.csv", "--target", "label", "--model", "m.nolana", "--mlflow", "files"]
    child = learn(tmp_path, "http://127.0.0.1:9", *words)
    out, err = child.communicate(timeout=DEADLINE)
    assert (child.returncode, out) == (2, "")
    assert "--mlflow" in err.splitlines()[-1]
    assert not (tmp_path / "m.nolana").exists()


def test_interrupted_run_is_marked_and_has_its_model(server, tmp_path):
    _, address = server
    child = learn(
        tmp_path, address, "-", "--model", "m.nolana", "--target", "y", "--mlflow", "stopped", "--json",
        stdin=subprocess.PIPE,
    )  # fmt: skip
    child.stdin.write("a,y\n" + "1,0\n2,1\n" * 1000)
    child.stdin.flush()
    client = mlflow.MlflowClient(address)
    wait_for(lambda: client.get_experiment_by_name("stopped") and logged_rows(client, "stopped") >= 1000)
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=DEADLINE)
    assert child.returncode == 143, err
    run = client.get_run(json.loads(out)["mlflow"]["run_id"])
    assert run.info.status == "KILLED"
    assert len(run.outputs.model_outputs) == 1


def logged_rows(client, experiment="pipe"):
    runs = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    steps = [point.step for run in runs for point in client.get_metric_history(run.info.run_id, "accuracy")]
    return max(steps, default=0)


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
