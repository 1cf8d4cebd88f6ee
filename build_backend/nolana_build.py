"""The build backend: scikit-build-core, asked for a pure-Python wheel where no C++20 compiler works.

A small CMake project (probe/) is configured first, with the same compiler detection as the real build. If it
cannot be configured there is no working compiler, the reason is printed, and the wheel holds Python alone.
If it can, the core is built, and an error in the core fails the install.

NOLANA_PURE=1 skips the core; NOLANA_REQUIRE_CORE=1 makes a missing compiler an error.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core.build import build_editable as _build_editable
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
from scikit_build_core.build import build_wheel as _build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

PROBE = Path(__file__).parent / "probe"


def compiler_trouble() -> str | None:
    """Why no C++20 extension can be compiled here; None where it can."""
    cmake = shutil.which("cmake")
    if cmake is None:
        return "CMake is not installed"
    with tempfile.TemporaryDirectory() as scratch:
        command = [cmake, "-S", str(PROBE), "-B", scratch, f"-DPython_EXECUTABLE={sys.executable}"]
        if shutil.which("ninja"):
            command += ["-G", "Ninja"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else (run.stdout + run.stderr).strip()


def decide() -> None:
    """Set NOLANA_PURE where there is no compiler."""
    if os.environ.get("NOLANA_PURE"):
        return
    trouble = compiler_trouble()
    if trouble is None:
        return
    if os.environ.get("NOLANA_REQUIRE_CORE"):
        raise RuntimeError(f"nolana: NOLANA_REQUIRE_CORE is set, but no C++20 compiler works here:\n{trouble}")
    print(f"nolana: no C++20 compiler works here, installing without the compiled core:\n{trouble}", file=sys.stderr)
    os.environ["NOLANA_PURE"] = "1"


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """A wheel, with the core where it can be compiled."""
    decide()
    return str(_build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """An editable wheel, with the core where it can be compiled."""
    decide()
    return str(_build_editable(wheel_directory, config_settings, metadata_directory))
