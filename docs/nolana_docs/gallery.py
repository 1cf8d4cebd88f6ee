"""Runs the programs in examples/ and docs/pictures.py before the pages are read, so that output and pictures are those
of this version. They are written to docs/_generated; a program that has not changed since is not run again.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent
GENERATED = DOCS / "_generated"


def sources() -> str:
    """A fingerprint of the package: its programs run again when it changes."""
    files = sorted((DOCS.parent / "src").rglob("*.py")) + sorted((DOCS.parent / "core").rglob("*.[ch]pp"))
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def run(program: Path, fingerprint: str) -> None:
    """The output of a program as NAME.txt; its pictures are written by itself into the current directory."""
    stamp, text = GENERATED / f"{program.stem}.stamp", GENERATED / f"{program.stem}.txt"
    wanted = hashlib.sha256(program.read_bytes() + fingerprint.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    path = os.pathsep.join([str(DOCS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=GENERATED,
        env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(f"{program} failed:\n{done.stderr}")
    text.write_text(done.stdout)
    stamp.write_text(wanted)


def run_all(app: Any) -> None:
    """Every example, and the pictures of the pages."""
    GENERATED.mkdir(exist_ok=True)
    fingerprint = sources()
    for program in [DOCS / "pictures.py", *sorted((DOCS.parent / "examples").glob("*.py"))]:
        run(program, fingerprint)


def setup(app: Any) -> dict[str, bool]:
    """Register the run."""
    app.connect("builder-inited", run_all)
    return {"parallel_read_safe": True}
