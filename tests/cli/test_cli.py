"""The command line, in this process and in one of its own."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import nolana
from commands import call
from nolana.cli.app import app
from nolana.evaluate import Point
from nolana.plot import running_scores

MAIN = "from nolana.cli import main; main()"
PLAIN = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")}


def run_main(*arguments, before="", **environment):
    return subprocess.run(
        [sys.executable, "-c", before + MAIN, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env=PLAIN | {"PYTHONIOENCODING": "utf-8"} | environment,
        timeout=120,
    )


def only_line(text):
    (line,) = text.splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["demo", "--out", "{folder}/nowhere/at/all.png"], "there is no directory '{folder}/nowhere/at'"),
        (["demo", "--out", "{folder}/folder.png"], "is a directory"),
        (["demo", "--out", "{folder}/picture.doc"], ".png"),
        (["demo", "--landmarks", "100"], "--landmarks"),
        (["demo", "--seed", "one"], "--seed"),
        (["demonstration"], "demonstration"),
    ],
)
def test_a_mistake_is_one_line_and_a_two(arguments, reason, tmp_path):
    (tmp_path / "folder.png").mkdir()
    written = [argument.format(folder=tmp_path) for argument in arguments]
    done = call(*written, folder=tmp_path)
    assert done.code == 2
    assert done.out == ""
    line = only_line(done.err)
    assert line.startswith("nolana: ")
    assert reason.format(folder=tmp_path) in line
    assert CliRunner().invoke(app, written).exit_code == 2


def test_an_unknown_backend_is_one_line_and_a_two():
    done = run_main("--version", NOLANA_BACKEND="abacus")
    assert done.returncode == 2
    assert "abacus" in only_line(done.stderr)


def test_version_says_version_backend_and_build():
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0
    line = only_line(done.stdout)
    assert all(word in line for word in (nolana.__version__, nolana.backend_name(), nolana.build_name()))


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(arguments):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert "demo" in done.stdout


@pytest.mark.parametrize("package", ["typer", "rich", "matplotlib"])
def test_a_missing_package_is_one_line_that_says_how_to_install_it(package, tmp_path):
    done = run_main("demo", "--out", tmp_path / "demo.png", before=f"import sys; sys.modules[{package!r}] = None; ")
    assert done.returncode == 1
    assert done.stdout == ""
    line = only_line(done.stderr)
    assert package in line
    assert 'pip install "nolana[cli]"' in line


def test_help_loads_neither_scikit_learn_nor_matplotlib():
    before = "import atexit, sys; atexit.register(lambda: print({'sklearn', 'matplotlib'} & set(sys.modules))); "
    done = run_main("--help", before=before)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_drawing_without_its_metric_is_refused(tmp_path):
    history = [Point(10, {"rmse": 1.0}, {})]
    with pytest.raises(ValueError, match=r"curves\['mine'\].*'accuracy'"):
        running_scores({"mine": history}, "accuracy", tmp_path / "mine.png", "mine")
    with pytest.raises(ValueError, match="empty"):
        running_scores({}, "accuracy", tmp_path / "mine.png", "mine")
    running_scores({"mine": history}, "rmse", tmp_path / "mine.svg", "mine")
    assert "<svg" in (tmp_path / "mine.svg").read_text()
    assert [place.name for place in tmp_path.iterdir()] == ["mine.svg"]


def test_drawing_without_matplotlib_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"nolana\[cli\]"):
        running_scores({"mine": [Point(10, {"rmse": 1.0}, {})]}, "rmse", tmp_path / "mine.png", "mine")
