"""The committed stub of the core against one that is made now."""

import subprocess
import sys
from pathlib import Path

import pytest

from nolana.backend import PREFIX, core_builds

REPO = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("build", core_builds())
def test_stub_is_what_each_build_of_the_core_offers(build: str, tmp_path: Path) -> None:
    fresh = tmp_path / "core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-p", str(REPO / "core/bind/stub.txt"), "-o", str(fresh)]
    subprocess.run([*command, "-m", PREFIX + build], check=True, timeout=120)
    committed = (REPO / "src/nolana/_core.pyi").read_text()
    assert fresh.read_text() == committed, "the interface of the core has changed; run `make stub`"
