"""Files of every format version there was are read for ever, by either backend."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nolana
from nolana.modelfile.container import VERSION

sys.path.insert(0, str(Path(__file__).parent / "golden"))
from make_streams import rows, wide

GOLDEN = Path(__file__).parent / "golden"

VERSIONS = range(1, VERSION + 1)


def found(version: int) -> dict:
    """What the files of a version hold and predict."""
    x = np.round((np.arange(1, 301).reshape(100, 3) * 0.6180339887498949) % 2 - 1, 6)[80:]
    all_of_them = {}
    for path in sorted(GOLDEN.glob(f"*.v{version}.safetensors")):
        name, model = path.name.split(".")[0], nolana.load(path)
        read = {"map": "transform", "regressor": "predict"}.get(name, "decision_function")
        all_of_them[name] = {"rows": model.n_rows_, "values": getattr(model, read)(x).tolist()}
        if hasattr(model, "classes_"):
            all_of_them[name]["classes"] = model.classes_.tolist()
    return all_of_them


def check(read: dict, version: int) -> None:
    """The decomposition of the map and the engines differ in the last digits between machines: 1e-9."""
    expected = json.loads((GOLDEN / f"expected.v{version}.json").read_text())
    assert read.keys() == expected.keys() >= {"classifier", "regressor", "rival", "map"}
    for name, wanted in expected.items():
        values, wanted_values = np.array(read[name].pop("values")), np.array(wanted.pop("values"))
        if name == "map":  # the sign of an eigenvector is arbitrary
            values, wanted_values = np.abs(values), np.abs(wanted_values)
        if "classes" in wanted:  # these versions had classes in order of appearance; columns are sorted today
            order = np.argsort(wanted["classes"])
            wanted["classes"], wanted_values = sorted(wanted["classes"]), wanted_values[:, order]
        tolerance = 1e-6 if name == "paper" else 1e-9  # it decomposes by LAPACK at every move
        assert np.allclose(values, wanted_values, rtol=tolerance, atol=tolerance), name
        assert read[name] == wanted


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_by_the_core(version):
    assert nolana.backend_name() == "core"
    check(found(version), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_by_the_reference(version):
    code = f"import json, nolana, test_golden as t; print(json.dumps([nolana.backend_name(), t.found({version})]))"
    environment = os.environ | {"NOLANA_BACKEND": "reference"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    backend, read = json.loads(done.stdout)
    assert backend == "reference"
    check(read, version)


def test_a_file_of_version_1_is_written_back_as_the_newest_version(tmp_path):
    """It continues to the same bits, whichever of the two files it comes from."""
    x = np.round((np.arange(1, 301).reshape(100, 3) * 0.6180339887498949) % 2 - 1, 6)
    old = nolana.load(GOLDEN / "regressor.v1.safetensors")
    old.save(tmp_path / "m")
    assert f'version\\":{VERSION},'.encode() in (tmp_path / "m").read_bytes()
    new = nolana.load(tmp_path / "m")
    assert np.array_equal(old.learn(x[80:], x[80:, 0]), new.learn(x[80:], x[80:, 0]))
    assert np.array_equal(old.predict(x), new.predict(x))


@pytest.mark.parametrize(
    "name", ["stream_regressor", "stream_classifier", "stream_three", "stream_sparse", "stream_merged"]
)
def test_stream_model_of_0_2_0_scores_as_it_did_and_continues(name, tmp_path):
    expected = json.loads((GOLDEN / "expected.0.2.0.json").read_text())[name]
    model, x = nolana.load(GOLDEN / f"{name}.0.2.0.safetensors"), rows()
    rows_of = wide if name == "stream_sparse" else np.asarray
    number = name == "stream_regressor"
    values = (model.predict if number else model.decision_function)(rows_of(x[980:]))
    assert model.n_rows_ == expected["rows"] == 700
    assert np.allclose(values, expected["values"], rtol=1e-9, atol=1e-9)
    y = 30 + x[:, 0] if number else model.classes_[(x[:, 0] > 0).astype(int)]
    model.save(tmp_path / "m")
    again = nolana.load(tmp_path / "m")
    assert np.array_equal(model.learn(rows_of(x[700:]), y[700:]), again.learn(rows_of(x[700:]), y[700:]))


def test_stream_regressor_of_0_2_0_continues_and_follows_a_jump(tmp_path):
    model, x = nolana.load(GOLDEN / "stream_regressor.0.2.0.safetensors"), rows()
    y = 30 + x[:, 0] * x[:, 1] + 2 * x[:, 2]
    scores = model.learn(x[700:], y[700:])
    assert np.sqrt(np.mean((scores - y[700:]) ** 2)) < 0.25
    model.save(tmp_path / "m")
    again = nolana.load(tmp_path / "m")
    after = again.learn(x, y + 500)
    assert np.array_equal(after, model.learn(x, y + 500))
    assert np.sqrt(np.mean((after - y - 500)[300:] ** 2)) < 0.5
