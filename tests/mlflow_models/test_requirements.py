"""MLflow is loaded when it is needed, and its extra is named if it is missing."""

import json
import subprocess
import sys

import numpy as np
import pytest

import nolana
from nolana.errors import MissingExtraError, OptionError


@pytest.fixture
def without_mlflow(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "mlflow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mlflow", None)


def test_package_loads_without_mlflow():
    code = "import json, sys, nolana.mlflow; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "mlflow" not in json.loads(done.stdout)


@pytest.mark.usefixtures("without_mlflow")
def test_missing_mlflow_names_the_extra(tmp_path):
    X = np.eye(4)
    model = nolana.StreamClassifier().partial_fit(X, [0, 1, 0, 1])
    for call in (
        lambda: nolana.mlflow.save_model(model, tmp_path / "model"),
        lambda: nolana.mlflow.log_model(model),
        lambda: nolana.mlflow.load_model("models:/visits/1"),
        lambda: nolana.mlflow.signature_of(model),
        lambda: nolana.evaluate.progressive(model, [(X, [0, 1, 0, 1])], callback=nolana.mlflow.Logger(every=1)),
    ):
        with pytest.raises(MissingExtraError, match=r'pip install "nolana\[mlflow\]"'):
            call()
    assert not (tmp_path / "model").exists()


def test_learn_with_missing_mlflow_names_the_extra_and_learns_nothing(tmp_path):
    (tmp_path / "s.csv").write_text("a,y\n1,0\n2,1\n")
    hide = "import sys; sys.modules['mlflow'] = None; sys.argv = ['nolana', *sys.argv[1:]]; "
    words = ["learn", "s.csv", "--model", "m.nolana", "--mlflow", "visits"]
    done = subprocess.run(
        [sys.executable, "-c", hide + "from nolana.cli.app import run; sys.exit(run())", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'nolana: nolana.mlflow needs the package mlflow; pip install "nolana[mlflow]"\n'
    assert not (tmp_path / "m.nolana").exists()


def test_logger_refuses_zero_rows():
    with pytest.raises(OptionError, match="every=0 is not a number of rows; choose 1 or more"):
        nolana.mlflow.Logger(every=0)


def test_callback_gets_the_learner():
    X, y, seen = np.eye(4), np.array([0, 1, 0, 1]), []
    model = nolana.StreamClassifier()
    nolana.evaluate.progressive(model, [(X, y), (X, y)], callback=seen.append)
    assert [each.learner for each in seen] == [model, model]
