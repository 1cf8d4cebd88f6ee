"""The command line, in this process and in one of its own."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import nolana
from commands import call
from nolana.cli.app import app
from nolana.cli.demo import LinearModel
from nolana.evaluate import Point
from nolana.plot import running_scores

LEARNERS = ["StreamClassifier()", "NOLANA as in the paper", "landmarks that never move", "a linear model"]
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


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "curves.png"
    return run_main("demo", "--out", out, "--landmarks", 40), out


def test_the_demo_prints_a_table_and_says_where_the_picture_is(demo):
    done, out = demo
    assert done.returncode == 0, done.stderr
    cells = [[cell.strip() for cell in re.split("[│|]", line)[1:-1]] for line in done.stdout.splitlines()]
    rows = {cell[0]: cell[1:] for cell in cells if len(cell) == 6 and cell[0] in LEARNERS}
    assert list(rows) == LEARNERS
    for *accuracies, microseconds, memory in rows.values():
        assert len(accuracies) == 3
        assert all(40 < float(accuracy) < 100 for accuracy in accuracies)
        assert float(microseconds.replace(",", "")) > 0
        assert int(memory.replace(",", "")) > 0
    assert int(rows["a linear model"][4].replace(",", "")) == 8 * 10 * (64 + 1)
    assert str(out) in done.stdout.splitlines()[-1]


def test_what_is_not_a_terminal_gets_no_control_characters_and_no_progress(demo):
    done, _ = demo
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout)
    assert done.stderr == ""


def test_the_picture_has_four_curves_and_white_paper(demo):
    _, out = demo
    assert out.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(out)[:, :, :3]
    height, width, _ = pixels.shape
    assert height >= 600
    assert width >= 1000
    grey = np.ptp(pixels, axis=2) < 0.05
    assert np.isclose(pixels[grey], 1.0).all(axis=1).mean() > 0.8
    hues = {tuple(hue) for hue in np.round(pixels[np.ptp(pixels, axis=2) > 0.5], 2)}
    assert len(hues) >= 4


def test_json_is_the_table_and_the_default_learner_follows_the_change(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--json", "--out", str(tmp_path / "demo.png"), "--seed", "3"])
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert [row["learner"] for row in table] == 2 * LEARNERS
    keys = {"learner", "stream", "accuracy", "after_change", "microseconds_per_row", "bytes"}
    assert all(set(row) == keys for row in table)
    after = {row["learner"]: row["after_change"] for row in table if row["stream"] == "a stream that changes"}
    assert all(after["StreamClassifier()"] > after[name] + 0.05 for name in LEARNERS[1:])
    accuracy = {row["learner"]: row["accuracy"] for row in table if row["stream"] == "digits"}
    assert accuracy["StreamClassifier()"] > accuracy["a linear model"] + 0.03
    assert accuracy["StreamClassifier()"] > accuracy["NOLANA as in the paper"] + 0.03
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_the_seed_decides_the_accuracies(tmp_path):
    def accuracies(seed):
        arguments = ["demo", "--json", "--landmarks", "10", "--seed", seed, "--out", str(tmp_path / "demo.png")]
        return [row["accuracy"] for row in json.loads(CliRunner().invoke(app, arguments).stdout)]

    assert accuracies("1") == accuracies("1") != accuracies("2")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["demo", "--out", "{folder}/nowhere/at/all.png"], "there is no directory '{folder}/nowhere/at'"),
        (["demo", "--out", "{folder}/folder.png"], "is a directory"),
        (["demo", "--out", "{folder}/picture.doc"], ".png"),
        (["demo", "--landmarks", "0"], "--landmarks"),
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


def test_the_linear_model_scores_before_it_learns():
    X, y = np.eye(3), np.array([0, 1, 2])
    model = LinearModel(np.arange(3))
    assert np.isnan(model.learn(X, y)).all()
    before = model.learn(X, y)
    assert before.shape == (3, 3)
    assert not np.array_equal(before, model.learn(X, y))


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
