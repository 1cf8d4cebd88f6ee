"""Other versions of a package, installed by name into an empty environment; nolana itself is used in place."""

import os
import subprocess
import venv
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
OWN = ("numpy", "safetensors", "scipy", "scikit-learn", "threadpoolctl")


def environment(folder: Path, *packages: str) -> Path:
    """The interpreter of a new environment with these packages, and those that nolana needs."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", *packages, *OWN]
    done = subprocess.run(install, capture_output=True, text=True, env=_variables(), check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    return python


def output(python: Path, code: str) -> str:
    """What a program prints, with the core of this build: its wheel is the business of tests/test_build.py."""
    variables = _variables() | {"PYTHONPATH": str(REPO / "src"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=variables, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
