"""Files of every format version there was are read for ever, by either backend."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_regressor

import nolana
from nolana import modelfile
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.neighbours.neighbour_map import NeighbourMap
from nolana.experts import draw_0_2
from nolana.modelfile.container import VERSION

sys.path.insert(0, str(Path(__file__).parent / "golden"))
import make_mixed_0_3
import make_streams_0_3
from make_streams import rows

GOLDEN = Path(__file__).parent / "golden"

ROWS = make_streams_0_3.ROWS | make_mixed_0_3.ROWS
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


STREAMS = [
    (version, name)
    for version in ("0.2.0", "0.3.0")
    for name in json.loads((GOLDEN / f"expected.{version}.json").read_text())
]


def continued(model, name: str) -> np.ndarray:
    """Scores of the rows after those of a golden file, past the next time that grids are drawn."""
    x = rows(2200)[700:]
    y = 30 + x[:, 0] if is_regressor(model) else model.classes_[(x[:, 0] > 0).astype(int)]
    return model.learn(ROWS.get(name, np.asarray)(x), y)


@pytest.mark.parametrize(("version", "name"), STREAMS)
def test_stream_model_scores_as_it_did_and_continues(version, name, tmp_path):
    expected = json.loads((GOLDEN / f"expected.{version}.json").read_text())[name]
    model, x = nolana.load(GOLDEN / f"{name}.{version}.safetensors"), rows()
    read = model.predict if is_regressor(model) else model.decision_function
    assert model.n_rows_ == expected["rows"] == 700
    assert np.allclose(read(ROWS.get(name, np.asarray)(x[980:])), expected["values"], rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "m")
    scores = continued(model, name)
    assert np.array_equal(scores, continued(nolana.load(tmp_path / "m"), name))
    if "continued" in expected:  # of the last 20 rows, when NumPy's generator still drew the grids
        assert np.allclose(scores[-20:], expected["continued"], rtol=1e-9, atol=1e-9)


def drawn(path: Path) -> list:
    """What the maps of a model file have in place of a seed."""
    maps = modelfile.read(path)["estimator"]["learner"]["spec"]["maps"]
    return [map["drawn"] for map in maps if map["class"] in ("BinMap", "NeighbourMap")]


@pytest.mark.parametrize(("version", "name"), STREAMS)
def test_grids_of_0_2_0_are_in_the_file_after_a_save(version, name, tmp_path):
    """So that it no longer depends on NumPy's generator; later files hold the seed of nolana's own draw."""
    model = nolana.load(GOLDEN / f"{name}.{version}.safetensors")
    model.save(tmp_path / "m")
    if version == "0.3.0":
        assert drawn(tmp_path / "m") == drawn(GOLDEN / f"{name}.{version}.safetensors") == [None, None]
        return
    grids, sketch = drawn(tmp_path / "m")
    own = {map.kind: map.arguments for map in model._learner.spec.arguments["maps"]}
    wanted = draw_0_2.grids(*(own[BinMap][each] for each in ("features", "grids", "seed", "relevance")))
    assert np.array_equal(grids, wanted)
    if name == "stream_wide":
        assert np.array_equal(sketch, draw_0_2.sketch(80, own[NeighbourMap]["seed"]))
    else:
        assert sketch is None


UNDER_NUMPY = """
import hashlib, json, pathlib, sys
import numpy as np
import nolana, nolana.engine, test_golden as golden
from nolana.experts import draw_0_2
folder, found = pathlib.Path(sys.argv[1]), {}
for version, name in golden.STREAMS:
    model = nolana.load(golden.GOLDEN / f"{name}.{version}.safetensors")
    model.save(folder / "m")
    scores = golden.continued(model, name)
    lists = [each.tobytes() for each in golden.drawn(folder / "m") if each is not None]
    found[f"{name} {version}"] = [hashlib.sha256(b"".join(lists)).hexdigest(), np.nan_to_num(scores).tolist()]
for of in (nolana.engine.draw_grids, draw_0_2.grids):
    lists = [of(d, 48, 3, r) for d in (5, 90) for r in (None, np.arange(1.0, d + 1))]
    found[of.__module__] = [hashlib.sha256(b"".join(each.tobytes() for each in lists)).hexdigest(), []]
print(json.dumps([np.__version__, nolana.backend_name(), found]))
"""


@pytest.mark.soak
def test_oldest_and_newest_numpy_read_the_same_models(tmp_path):
    """Grids are equal; scores to 1e-9, because the linear algebra of the two is not the same.

    The landmarks of the mixed model are close to each other, so that their re-mapping at row 2,048 multiplies its
    rounding errors: 4e-8.
    """
    results = {}
    for numpy in ("numpy==1.26.*", "numpy"):
        environment = tmp_path / numpy[5:].strip("=*") / "venv"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        packages = [numpy, "scipy", "scikit-learn", "safetensors", "threadpoolctl", "pytest"]
        commands = [[python, "-m", "pip", "install", "-q", *packages], [python, "-c", UNDER_NUMPY, tmp_path]]
        for command in commands:
            done = subprocess.run(
                command,
                env=os.environ | {"PYTHONPATH": str(Path(nolana.__file__).parents[1])},
                cwd=Path(__file__).parent,
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            assert done.returncode == 0, done.stderr
        version, backend, results[numpy] = json.loads(done.stdout)
        assert backend == "core"
        assert version.startswith("1.26.") == ("1.26" in numpy)
    old, new = results.values()
    assert old.keys() == new.keys()
    for name, (digest, scores) in old.items():
        assert digest == new[name][0], name
        bound = 1e-6 if name == "stream_mixed 0.3.0" else 1e-9
        assert np.allclose(scores, new[name][1], rtol=0, atol=bound), name


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
