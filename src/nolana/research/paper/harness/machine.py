"""The machine and the versions of a run."""

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import nolana
from nolana.research.paper.harness import Scale
from nolana.research.paper.harness.data import TUNING_SEED

__all__ = ["cpu_name", "facts", "version_of"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")


def cpu_name() -> str:
    """The processor, as the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def version_of(distribution: str) -> str:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def facts(*, command: str, scale: Scale, jobs: int) -> list[tuple[str, str]]:
    """Command, scale, seeds, machine, versions and date of a run, for the report."""
    rows = "all rows of the paper" if scale.rows is None else f"at most {scale.rows:,} rows of each data set"
    return [
        ("command", command),
        ("scale", f"{scale.name}: {rows}, {scale.shuffles} shuffles, {scale.tuning_rows:,} rows for cross-validation"),
        ("seeds", f"shuffles and methods: 0 to {scale.shuffles - 1}; cross-validation: {TUNING_SEED}"),
        ("machine", f"{cpu_name()}, {os.cpu_count()} cores, {platform.system()}; {jobs} jobs, BLAS on one thread each"),
        ("versions", f"python {platform.python_version()}, " + ", ".join(f"{n} {version_of(n)}" for n in PACKAGES)),
        ("nolana", f"{nolana.__version__}, backend {nolana.backend_name()}, build {nolana.build_name()}"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d")),
    ]
