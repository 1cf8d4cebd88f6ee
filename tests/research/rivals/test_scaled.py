"""Rivals with robust scaling in front: the same contracts as every other learner."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import nolana
from conftest import same_state
from nolana import modelfile, rivals
from nolana.engine.learner.robust_scaling import RobustScaling
from nolana.errors import ModelFileError
from nolana.learner.scaled import STORED

CATALOGUE = rivals.catalogue()
ROWS = 700


def estimator(name, task="classification", **parameters):
    method = CATALOGUE[name]
    cls = method.classifier if task == "classification" else method.regressor
    return cls(scale=True, random_state=0, **parameters)


def stream(seed=0, rows=ROWS):
    """Features in four units, one of them constant for a while, and a wild value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5)) * [1, 1000, 1e-3, 1, 1] + [0, 5e4, 0, 3, 7]
    X[:600, 4] = 7.0
    X[30, 0] = -9999
    y = X[:, 0] * (X[:, 1] - 5e4) > 0
    return X, np.where(np.arange(rows) % 200 < 3, 2, y.astype(int))


@pytest.mark.parametrize("name", CATALOGUE)
def test_splitting_copying_and_saving_change_no_bit(name, tmp_path):
    X, y = stream()
    whole, parts = estimator(name), estimator(name)
    expected = whole.learn(X, y)
    copies = itertools.cycle([
        lambda model: pickle.loads(pickle.dumps(model)),
        copy.deepcopy,
        lambda model: (model.save(tmp_path / "m"), nolana.load(tmp_path / "m"))[1],
    ])  # fmt: skip
    for i, j in itertools.pairwise([0, 1, 2, 7, 63, 64, 200, 510, 513, 640, ROWS]):
        scores = parts.learn(X[i:j], y[i:j])
        columns = np.searchsorted(whole.classes_, parts.classes_)
        assert np.array_equal(scores, expected[i:j, columns], equal_nan=True)
        parts = next(copies)(parts)
    assert same_state(whole._learner.state(), parts._learner.state())
    assert whole.memory_bytes_ == parts.memory_bytes_


@pytest.mark.parametrize("name", CATALOGUE)
def test_after_the_last_anchor_it_is_the_rival_on_scaled_rows(name):
    """The rival itself on rows scaled by the anchors of row 512, from the first row on."""
    X, y = stream(rows=560)
    y = np.minimum(y, 1)  # a third output that begins later would learn the first rows only when they are learned again
    scaled = estimator(name).partial_fit(X, y)
    scaling = RobustScaling(X.shape[1])
    for i in range(512):
        scaling.observe(X[i : i + 1])
        scaling.anchor()
    plain = estimator(name).set_params(scale=False).partial_fit(scaling.apply(X), y)
    tolerance = {"rtol": 1e-6, "atol": 1e-6}  # the compiled scaling has another logarithm: 1e-15 in a feature
    assert np.allclose(scaled.scores(X), plain.scores(scaling.apply(X)), **tolerance)
    assert not any(stored in scaled._learner.state() for stored in STORED)


@pytest.mark.parametrize("name", ["FOGD", "NOGD", "BOGD"])
def test_labels_that_come_late(name):
    X, y = stream(rows=600)
    late, turns = estimator(name), estimator(name)
    for model in (late, turns):
        model.learn(X[:100], y[:100])
    scores = late.learn_late(X[200:600], X[100:500], y[100:500])
    for i in range(400):
        assert np.array_equal(turns.scores(X[200 + i : 201 + i]), scores[i : i + 1])
        turns.learn(X[100 + i : 101 + i], y[100 + i : 101 + i])
    assert same_state(late._learner.state(), turns._learner.state())


@pytest.mark.parametrize("name", ["FOGD", "NOGD", "KernelOGD"])
def test_units_and_wild_values_do_not_matter(name):
    X, _ = stream(rows=2000)
    y = X[:, 0] + (X[:, 1] - 5e4) / 1000
    y[30] = 0.0
    errors = {}
    for scale in (False, True):
        scores = estimator(name, "regression").set_params(scale=scale).learn(X, y)
        errors[scale] = np.sqrt(np.mean((scores - y)[500:] ** 2))
    assert errors[True] < 0.75 * errors[False]


def test_a_spoilt_state_is_refused_and_changes_nothing(tmp_path):
    X, y = stream(rows=100)
    model = estimator("FOGD").partial_fit(X, y)
    learner, before = model._learner, model._learner.state()
    changes = [
        {"scaling/rows": 99},
        {"scaling/mean": np.zeros(3)},
        {"stored_rows": before["stored_rows"][1:]},
        {"stored_weights": -before["stored_weights"]},
        {"weights": np.zeros((1, 3))},
    ]
    for change in changes:
        with pytest.raises(ValueError, match="state: "):
            learner.restore(before | change)
        assert same_state(learner.state(), before)
    for name in STORED:
        with pytest.raises(ValueError, match=f"{name} is missing"):
            learner.restore({k: v for k, v in before.items() if k != name})

    model.save(tmp_path / "m")
    for path, value in (("learner", "scaled"), ("parameters", "scale")):
        tree = modelfile.read(tmp_path / "m")
        tree["estimator"][path][value] = False
        modelfile.write(tmp_path / "spoilt", tree)
        with pytest.raises(ModelFileError):
            nolana.load(tmp_path / "spoilt")


def test_scale_is_a_flag():
    with pytest.raises(ValueError, match="scale='yes' is neither True nor False"):
        rivals.FOGDClassifier(scale="yes").fit(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match="scale='yes' is neither True nor False"):
        rivals.NOGDClassifier(scale="yes").fit(np.eye(3), [0, 1, 0])
