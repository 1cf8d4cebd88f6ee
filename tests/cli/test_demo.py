"""``nolana demo``: its table, its picture, and the methods beside nolana."""

import itertools
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.axis import Tick
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imread
from matplotlib.text import Text
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from nolana.cli.app import app
from nolana.cli.demo import BLOCK, CHANGE, METHODS, RETRAIN, LinearModel, RetrainedBoosting, turned_digits
from nolana.cli.demo_picture import Curves, draw

NAMES = ["nolana: StreamClassifier()", "linear model, online", "gradient boosting, retrained"]
ROWS = 1797


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "curves.png"
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    done = subprocess.run(
        [sys.executable, "-c", "from nolana.cli import main; main()", "demo", "--out", str(out)],
        capture_output=True,
        encoding="utf-8",
        env=plain | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done, out


def test_demo_prints_a_row_for_each_method_and_last_the_path_of_the_picture(demo):
    done, out = demo
    cells = [[cell.strip() for cell in re.split("[│|]", line)[1:-1]] for line in done.stdout.splitlines()]
    rows = {cell[0]: cell[1:] for cell in cells if len(cell) == 5 and cell[0] in NAMES}
    assert list(rows) == NAMES
    for *accuracies, seconds, memory in rows.values():
        assert len(accuracies) == 2
        assert all(50 < float(accuracy.removesuffix(" %")) < 100 for accuracy in accuracies)
        assert float(seconds) > 0
        assert int(memory.replace(",", "")) > 0
    assert str(out) in done.stdout.splitlines()[-1]


def test_demo_fits_into_80_columns_without_control_characters_or_progress(demo):
    done, _ = demo
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout)
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    assert done.stderr == ""


def test_demo_says_that_the_change_is_artificial_and_what_is_unfair(demo):
    words = " ".join(demo[0].stdout.split())
    assert "The change is artificial" in words
    assert f"SGDClassifier, {BLOCK} rows at a time" in words
    assert f"retrained on all rows so far after every {RETRAIN} rows" in words


def test_picture_of_the_demo_has_three_curves_and_white_paper(demo):
    _, out = demo
    assert out.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(out)[:, :, :3]
    height, width, _ = pixels.shape
    assert height >= 600
    assert width >= 1000
    grey = np.ptp(pixels, axis=2) < 0.05
    assert np.isclose(pixels[grey], 1.0).all(axis=1).mean() > 0.8
    hues = {tuple(hue) for hue in np.round(pixels[np.ptp(pixels, axis=2) > 0.5], 2)}
    assert len(hues) >= 3


def test_json_is_the_table_and_the_default_learner_is_ahead(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--json", "--out", str(tmp_path / "demo.svg"), "--seed", "3"])
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert [row["learner"] for row in table] == NAMES
    assert all(set(row) == {"learner", "accuracy", "after_change", "seconds", "bytes"} for row in table)
    ours, linear, boosting = table
    for rival in (linear, boosting):
        assert ours["accuracy"] > rival["accuracy"] + 0.05
        assert ours["after_change"] > rival["after_change"] + 0.05
    assert ours["bytes"] <= 512 * 1024
    assert boosting["bytes"] > ROWS * 65 * 8  # 64 pixels and a label of each row
    assert linear["bytes"] > 10 * 65 * 8  # ten classes
    assert "<svg" in (tmp_path / "demo.svg").read_text()


def test_seed_decides_the_accuracy_of_nolana(tmp_path, monkeypatch):
    monkeypatch.setattr("nolana.cli.demo.METHODS", METHODS[:1])

    def accuracy(seed):
        arguments = ["demo", "--json", "--seed", seed, "--out", str(tmp_path / "demo.png")]
        (row,) = json.loads(CliRunner().invoke(app, arguments).stdout)
        return row["accuracy"]

    assert accuracy("0") == accuracy("0") != accuracy("1")


def test_digits_are_real_and_upside_down_after_the_change():
    (X, y), (pixels, labels) = turned_digits(), load_digits(return_X_y=True)
    pixels = pixels / 16
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(X[:CHANGE], pixels[:CHANGE])
    images = pixels[CHANGE:].reshape(-1, 8, 8)
    np.testing.assert_array_equal(X[CHANGE:].reshape(-1, 8, 8), np.rot90(images, 2, axes=(1, 2)))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.short)
def test_scores_of_a_row_do_not_depend_on_its_label(method):
    X, y = turned_digits()
    row = slice(RETRAIN, RETRAIN + 1)
    scores = []
    for label in (y[row], (y[row] + 1) % 10):
        learner = method.make(np.arange(10), 0)
        learner.learn(X[:RETRAIN], y[:RETRAIN])
        scores.append(learner.learn(X[row], label))
    np.testing.assert_array_equal(*scores)
    assert np.isfinite(scores[0]).all()


def test_linear_model_scores_a_block_before_it_learns_it():
    X, y = np.eye(3), np.array([0, 1, 2])
    model = LinearModel(np.arange(3))
    assert np.isneginf(model.learn(X, y)).all()
    before = model.learn(X, y)
    assert before.shape == (3, 3)
    assert not np.array_equal(before, model.learn(X, y))


def test_boosting_predicts_with_the_last_model_until_it_is_retrained_on_all_rows():
    X, y = turned_digits()
    model = RetrainedBoosting(np.arange(10))
    assert np.isneginf(model.learn(X[: RETRAIN - 1], y[: RETRAIN - 1])).all()
    assert np.isneginf(model.learn(X[RETRAIN - 1 : RETRAIN], y[RETRAIN - 1 : RETRAIN])).all()
    probe, label = X[:1], y[:1]
    first = model.learn(probe, label)
    assert first.shape == (1, 10)
    np.testing.assert_array_equal(first, model.learn(probe, label))
    model.learn(X[RETRAIN : 2 * RETRAIN], y[RETRAIN : 2 * RETRAIN])
    assert not np.array_equal(first, model.learn(probe, label))


def test_boosting_scores_of_a_class_that_it_has_not_seen_are_minus_infinity():
    X, y = turned_digits()
    few = np.flatnonzero(y[:500] < 5)[:RETRAIN]
    model = RetrainedBoosting(np.arange(10))
    model.learn(X[few], y[few])
    scores = model.learn(X[:1], y[:1])
    assert np.isfinite(scores[:, :5]).all()
    assert np.isneginf(scores[:, 5:]).all()


def test_bytes_of_boosting_grow_by_each_row_between_two_trainings():
    X, y = turned_digits()
    model = RetrainedBoosting(np.arange(10))
    model.learn(X[:RETRAIN], y[:RETRAIN])
    before = model.memory_bytes_
    model.learn(X[RETRAIN : RETRAIN + 3], y[RETRAIN : RETRAIN + 3])
    assert model.memory_bytes_ == before + 3 * (64 * 8 + y.itemsize)


@pytest.mark.parametrize("gap", [0.0, 1e-4, 0.3])
def test_words_of_the_picture_neither_overlap_nor_leave_it(gap):
    X, _ = turned_digits()
    rows = [*range(100, ROWS, 100), ROWS]

    def curves(k):
        steps = np.linspace(0.1, 1, len(rows))
        costs = [int(each) for each in (1 + 2_000_000 * gap * k) * steps]
        return Curves(0.9 - gap * k, rows, [0.95 - gap * k] * len(rows), list((9 + 9 * gap * k) * steps), costs)

    figure = draw(X, {name: curves(k) for k, name in enumerate(("nolana", "linear", "boosting"))}, CHANGE)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    # Without the numbers at the axes: matplotlib keeps some that it does not draw.
    numbers = {label for axes in figure.axes for tick in axes.findobj(Tick) for label in (tick.label1, tick.label2)}
    words = [text for text in figure.findobj(Text) if text.get_text() and text not in numbers]
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in words]
    names = [text.get_text() for text in words]
    assert all(sum(name.startswith(each) for name in names) >= 3 for each in ("nolana", "linear", "boosting"))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)
    pairs = itertools.combinations(range(len(boxes)), 2)
    assert [(names[i], names[j]) for i, j in pairs if boxes[i].overlaps(boxes[j])] == []
