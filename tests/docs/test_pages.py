"""Every example of the pages and every program of the gallery runs."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PAGES = sorted([REPO / "README.md", *(REPO / "docs").rglob("*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS = {"river": "river", "spark": "pyspark", "serve": "starlette"}  # pages and programs that need an extra


def name_of(path):
    return str(path.relative_to(REPO))


def skip_without_extra(path):
    needed = NEEDS.get(path.stem.split("_")[0])
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")


def environment():
    return os.environ | {
        "PYTHONPATH": str(REPO / "src"),
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }


@pytest.mark.parametrize("page", [p for p in PAGES if PYTHON.search(p.read_text())], ids=name_of)
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    """In the order of the page, in one namespace."""
    skip_without_extra(page)
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in PYTHON.findall(page.read_text()):
        exec(compile(block, name_of(page), "exec"), names)


@pytest.mark.parametrize("page", [p for p in PAGES if CONSOLE.search(p.read_text())], ids=name_of)
def test_commands_of_a_page_run(page, tmp_path):
    skip_without_extra(page)
    for block in CONSOLE.findall(page.read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                done = subprocess.run(
                    ["bash", "-o", "pipefail", "-c", line[2:]],
                    cwd=tmp_path,
                    env=environment(),
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
                assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("program", sorted((REPO / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_program_of_the_gallery_runs(program, tmp_path, monkeypatch, capsys):
    skip_without_extra(program)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out


def test_every_program_is_in_the_gallery():
    gallery = (REPO / "docs" / "gallery.md").read_text()
    for program in (REPO / "examples").glob("*.py"):
        assert f"../examples/{program.name}" in gallery


@pytest.mark.parametrize("page", [*PAGES, REPO / "ARCHITECTURE.md", REPO / "CONTRIBUTING.md"], ids=name_of)
def test_table_rows_have_the_cells_of_the_header(page):
    """A | inside code ends a cell, and what follows is lost, unless it is escaped."""
    width = 0
    for line in page.read_text().splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0
        assert cells in (0, width) or not width, line
        width = cells


def test_links_between_files_exist():
    """Files that Markdown outside of the site links to exist; Sphinx checks the links of its pages."""
    for page in (REPO / "README.md", REPO / "CONTRIBUTING.md", REPO / "ARCHITECTURE.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
