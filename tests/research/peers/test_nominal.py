"""Columns of codes are nominal to the methods of other libraries."""

import importlib.util
import shutil

import numpy as np
import pytest

from nolana.research.peers import Task, peer

NO_MOA = importlib.util.find_spec("capymoa") is None or shutil.which("java") is None
SIZE = 24  # codes of the column


def rows(n=3000):
    """A label for each code, drawn: no order of the codes explains it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(SIZE, size=n), rng.normal(size=n)])
    return X, rng.integers(2, size=SIZE)[X[:, 0].astype(int)]


def learned(name, nominal):
    X, y = rows()
    learner = peer(name).make(Task.of(X, y, regression=False, nominal=nominal), 0)
    scores = learner.learn(learner.convert(X, y) if hasattr(learner, "convert") else X, y)
    return learner, (learner.classes_[scores.argmax(axis=1)] == y)


@pytest.mark.parametrize("name", ["histgb", "lightgbm"])
def test_boosting_of_a_nominal_column_splits_by_value(name):
    if name == "lightgbm":
        pytest.importorskip("lightgbm")
    (nominal, right), (numbers, _) = learned(name, {0: SIZE}), learned(name, {})
    assert right[1000:].mean() > 0.95
    if name == "histgb":
        assert nominal._model.is_categorical_.tolist() == [True, False]
        assert numbers._model.is_categorical_ is None
    else:
        assert "'decision_type': '=='" in str(nominal._model.booster_.dump_model())
        assert "'decision_type': '=='" not in str(numbers._model.booster_.dump_model())


@pytest.mark.skipif(NO_MOA, reason="CapyMOA or Java is not installed")
@pytest.mark.parametrize("name", ["moa:LB", "moa:PLASTIC", "moa:DEMS"])
def test_moa_of_a_nominal_column_learns_the_label_of_each_value(name):
    learner, right = learned(name, {0: SIZE})
    assert learner._header.attribute(0).numValues() == SIZE
    assert not learner._header.attribute(1).isNominal()
    assert right[1500:].mean() > 0.9
