"""The oldest packages that pyproject.toml allows: engine, experts, learners, files and scikit-learn's own checks."""

import os
import re
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
TESTS = ("engine", "experts", "learner", "estimators/test_estimators.py", "modelfile/test_modelfile.py")
# scikit-learn 1.6 reads no names of columns from a frame of the newest polars.
NEWER = "tests/estimators/test_estimators.py::test_frames[polars]"
TOOLS = ("hypothesis", "pandas<3", "polars", "pytest", "pytest-timeout", "pytest-xdist")


def lowest(requirement: str) -> str:
    """The last patch of the lowest version of a requirement.

    >>> lowest("numpy>=1.26"), lowest("safetensors>=0.4.5")
    ('numpy==1.26.*', 'safetensors==0.4.5')
    """
    match = re.fullmatch(r"([a-z-]+)>=(\d+\.\d+)(\.\d+)?", requirement)
    assert match is not None, requirement
    return f"{match[1]}=={match[2]}{match[3] or '.*'}"


@pytest.mark.soak
def test_core_tests_pass_with_the_lowest_versions(tmp_path):
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    packages = [lowest(each) for each in project["dependencies"]]
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    # The package in place, with the core of this build.
    environment = os.environ | {"PYTHONPATH": str(REPO / "src"), "OPENBLAS_NUM_THREADS": "1", "NOLANA_EFFORT": "fast"}
    tests = [f"tests/{each}" for each in TESTS]
    for command in (
        ["pip", "install", "-q", *packages, *TOOLS],
        ["pytest", "-n", "2", "-m", "not soak", f"--deselect={NEWER}", f"--basetemp={tmp_path / 'tests'}", *tests],
    ):
        done = subprocess.run(
            [python, "-m", *command],
            env=environment,
            cwd=REPO,
            capture_output=True,
            text=True,
            check=False,
            timeout=1500,
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    version = subprocess.run(
        [python, "-c", "import numpy, sklearn; print(numpy.__version__, sklearn.__version__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert re.fullmatch(r"1\.26\.\d+ 1\.6\.\d+", version.stdout.strip())
