"""The build backend: scikit-build-core, with a pure-Python package where no C++20 compiler works.

A small CMake project (probe/) is configured first, with the same compiler detection as the real build. If this fails,
no compiler works: the reason is printed and the package is installed without the compiled core. If it succeeds, the
core is built, and an error in the core fails the install.

An editable install compiles the core into src/nolana and adds src to the import path, by a .pth file and not by the
import hooks of scikit-build-core: those come before PYTHONPATH, and type checkers do not follow them. Python files are
used in place; installing again recompiles only what changed, because the build directory stays.

The core is compiled for the machine that compiles it. NOLANA_BUILDS=all compiles every build of the architecture, for
wheels; NOLANA_PURE=1 skips the core; NOLANA_REQUIRE_CORE=1 makes a missing compiler an error.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)
from scikit_build_core.build import build_wheel as _build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
]

PROBE = Path(__file__).parent / "probe"
ROOT = Path(__file__).resolve().parents[1]

# scikit-build-core's own hook would ask for no CMake: its part of an editable install is the metadata.
get_requires_for_build_editable = get_requires_for_build_wheel


def configure_command(source: Path, build: Path) -> list[str]:
    """The CMake command that configures `source` in the directory `build`, for this Python."""
    command = ["cmake", "-S", str(source), "-B", str(build), f"-DPython_EXECUTABLE={sys.executable}"]
    return [*command, "-G", "Ninja"] if shutil.which("ninja") else command


def compiler_error() -> str | None:
    """The reason why no C++20 extension can be compiled on this machine; None if one can."""
    if shutil.which("cmake") is None:
        return "CMake is not installed"
    with tempfile.TemporaryDirectory() as build:
        run = subprocess.run(configure_command(PROBE, Path(build)), capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else (run.stdout + run.stderr).strip()


def choose_pure() -> bool:
    """Whether to build without the core; sets NOLANA_PURE, which pyproject.toml reads, if no compiler works."""
    if os.environ.get("NOLANA_PURE"):
        return True
    error = compiler_error()
    if error is None:
        return False
    if os.environ.get("NOLANA_REQUIRE_CORE"):
        raise RuntimeError(f"nolana: NOLANA_REQUIRE_CORE is set, but no C++20 compiler works here:\n{error}")
    print(f"nolana: no C++20 compiler works here, installing without the compiled core:\n{error}", file=sys.stderr)
    os.environ["NOLANA_PURE"] = "1"
    return True


def compile_core_in_place(run: Callable[[list[str]], object] = subprocess.check_call) -> None:
    """Compile the core into src/nolana; only what changed since the last time."""
    build = ROOT / "build" / f"editable-{sys.implementation.cache_tag}"
    run([*configure_command(ROOT, build), "-DCMAKE_BUILD_TYPE=Release"])
    run(["cmake", "--build", str(build), "--config", "Release", "--parallel"])
    run(["cmake", "--install", str(build), "--config", "Release", "--prefix", str(ROOT / "src")])
    remove_core_in_place(keep=(build / "install_manifest.txt").read_text().splitlines())


def remove_core_in_place(keep: Collection[str] = ()) -> None:
    """Remove the core of an earlier editable install for this Python, which would be loaded otherwise."""
    for name in ("_core*", "_cpu"):
        for module in (ROOT / "src" / "nolana").glob(name + sysconfig.get_config_var("EXT_SUFFIX")):
            if str(module) not in keep:
                module.unlink()


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel, with the core if it can be compiled."""
    choose_pure()
    return str(_build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,  # noqa: ARG001
) -> str:
    """Build the core in place if it can be compiled, and a wheel that adds src to the import path."""
    if choose_pure():
        remove_core_in_place()
    else:
        compile_core_in_place()
    with tempfile.TemporaryDirectory() as scratch:
        info = Path(scratch) / prepare_metadata_for_build_editable(scratch, config_settings)
        files = {path.relative_to(scratch).as_posix(): path.read_bytes() for path in info.rglob("*") if path.is_file()}
    files["nolana.pth"] = f"{ROOT / 'src'}\n".encode()
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info.name}/RECORD"] = f"{record}{info.name}/RECORD,,\n".encode()
    wheel = f"{info.stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def show_progress(command: list[str]) -> None:
    """Run a command of CMake and show how far it is, on one line; its output if it fails."""
    begin, output = time.monotonic(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            step = re.match(r"\[(\d+/\d+)\]", line)
            if step and sys.stdout.isatty():
                print(f"\r  {step[1]} units, {time.monotonic() - begin:.0f} s ", end="", flush=True)
    if sys.stdout.isatty():
        print("\r" + " " * 40 + "\r", end="")
    if process.returncode != 0:
        sys.exit("".join(output))


if __name__ == "__main__":  # make: the same core as pip compiles for an editable install, which then finds it done
    if not choose_pure():
        print("Compiling the core for this machine (about half a minute on two cores)", flush=True)
        compile_core_in_place(show_progress)
