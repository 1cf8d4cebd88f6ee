"""Files of every format version there was are read for ever, by either backend."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import nolana

GOLDEN = Path(__file__).parent / "golden"


def found() -> dict:
    """What the files hold and predict."""
    x = np.round((np.arange(1, 301).reshape(100, 3) * 0.6180339887498949) % 2 - 1, 6)[80:]
    all_of_them = {}
    for path in sorted(GOLDEN.glob("*.v1.safetensors")):
        name, model = path.name.split(".")[0], nolana.load(path)
        read = {"map": "transform", "regressor": "predict"}.get(name, "decision_function")
        all_of_them[name] = {"rows": model.n_rows_, "values": getattr(model, read)(x).tolist()}
        if hasattr(model, "classes_"):
            all_of_them[name]["classes"] = model.classes_.tolist()
    return all_of_them


def check(read: dict) -> None:
    """The decomposition of the map and the engines differ in the last digits between machines: 1e-9."""
    expected = json.loads((GOLDEN / "expected.v1.json").read_text())
    assert read.keys() == expected.keys() == {"classifier", "regressor", "rival", "map"}
    for name, wanted in expected.items():
        values, wanted_values = np.array(read[name].pop("values")), np.array(wanted.pop("values"))
        if name == "map":  # the sign of an eigenvector is nobody's
            values, wanted_values = np.abs(values), np.abs(wanted_values)
        assert np.allclose(values, wanted_values, rtol=1e-9, atol=1e-9), name
        assert read[name] == wanted


def test_version_1_is_read_by_the_core():
    assert nolana.backend_name() == "core"
    check(found())


def test_version_1_is_read_by_the_reference():
    code = "import json, nolana, test_golden as t; print(json.dumps([nolana.backend_name(), t.found()]))"
    environment = os.environ | {"NOLANA_BACKEND": "reference"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=Path(__file__).parent, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    backend, read = json.loads(done.stdout)
    assert backend == "reference"
    check(read)
