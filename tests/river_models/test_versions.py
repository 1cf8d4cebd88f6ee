"""River's own checks on its two newest minor versions, each installed by name into an empty environment.

The newest is also the one of `make test`, so `make soak` has the other.
"""

import os
import subprocess
import venv
from pathlib import Path

import pytest

from conftest import effort

REPO = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.soak

CHECK = """
import river, nolana
from river import checks
from nolana.river import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor
for model in (NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor):
    assert not model()._unit_test_skips()
    checks.check_estimator(model())
print(river.__version__, nolana.backend_name(), nolana.__file__)
"""


@pytest.mark.parametrize("version", ["0.25", "0.26"][: effort(thorough=1, endurance=2)])
def test_the_checks_of_a_version(version, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own = ["numpy", "safetensors", "scipy", "scikit-learn", "threadpoolctl"]
    install = [python, "-m", "pip", "install", "-q", f"river=={version}.*", "pandas<3", *own]
    done = subprocess.run(install, capture_output=True, text=True, env=environment, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    # The package in place, with the core of this build: its wheel is the business of tests/test_build.py.
    done = subprocess.run(
        [python, "-c", CHECK],
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(REPO / "src"), "OPENBLAS_NUM_THREADS": "1"},
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    number, backend, place = done.stdout.split()
    assert number.startswith(f"{version}.")
    assert backend == "core"
    assert Path(place).is_relative_to(REPO)
