"""examples/nano.py, the default learner for reading, is short and nearly as accurate as the estimator without trees."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

from nolana import StreamClassifier, experts

NANO = Path(__file__).resolve().parents[2] / "examples" / "nano.py"
MOST_BEHIND = 0.015  # of prequential accuracy


def digits():
    return shuffle(*load_digits(return_X_y=True), random_state=0)


def swapping_xor():
    """Two classes, each two opposite quarters of the plane; they swap every 1,000 rows."""
    rows = 4000
    X = np.random.default_rng(0).normal(size=(rows, 2))
    return X, (X[:, 0] * X[:, 1] > 0) ^ (np.arange(rows) // 1000 % 2)


@pytest.fixture(scope="module")
def nano_classifier():
    return runpy.run_path(str(NANO))["NanoClassifier"]


def test_nano_has_at_most_300_lines_and_imports_numpy_alone():
    code = NANO.read_text()
    assert len(code.splitlines()) <= 300
    program, _ = code.split("if __name__")
    imports = [line for line in program.splitlines() if line.strip().startswith(("import ", "from "))]
    assert imports == ["import numpy as np"]


@pytest.mark.parametrize("stream", [digits, swapping_xor])
def test_nano_on_stream_is_within_points_of_stream_classifier(stream, nano_classifier):
    X, y = stream()
    nano = nano_classifier(X.shape[1], y.max() + 1).learn(X, y)
    those = [each for each in experts.DEFAULT if not isinstance(each, experts.Trees)]  # nano has no trees
    _, product = StreamClassifier(random_state=0, experts=those).learn_proba(X, y)
    accuracy, expected = (np.mean(p.argmax(axis=1) == y) for p in (nano, product))
    assert accuracy > expected - MOST_BEHIND


def test_nano_learn_scores_rows_before_it_learns_them(nano_classifier):
    """Labels of later rows change nothing, and a block may be split anywhere."""
    X, y = swapping_xor()
    whole = nano_classifier(2, 2).learn(X[:600], y[:600])
    other = nano_classifier(2, 2).learn(X[:600], np.append(y[:299], 1 - y[299:600]))
    np.testing.assert_array_equal(whole[:300], other[:300])
    split = nano_classifier(2, 2)
    parts = [split.learn(X[a:b], y[a:b]) for a, b in ((0, 7), (7, 513), (513, 600))]
    np.testing.assert_array_equal(whole, np.vstack(parts))
