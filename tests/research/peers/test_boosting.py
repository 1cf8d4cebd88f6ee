"""Gradient boosting that is retrained on all rows so far."""

import numpy as np
import pytest

from nolana.research.peers import Task, is_peer, peer
from nolana.research.peers.boosting import FIRST, Retrained


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return x, (x[:, 0] > 0) ^ (x[:, 1] > 0)


def learner(name, regression=False):
    if name == "lightgbm":
        pytest.importorskip("lightgbm")
    x, y = rows()
    return peer(name).make(Task.of(x, y, regression), 0)


@pytest.mark.parametrize("name", ["histgb", "lightgbm"])
@pytest.mark.parametrize("regression", [False, True])
def test_scores_do_not_depend_on_blocks_and_become_good(name, regression):
    x, y = rows()
    y = y.astype(float) if regression else np.where(y, "yes", "no")
    made = [peer(name).make(Task.of(x, y, regression), 0) for _ in range(2)] if learner(name, regression) else []
    whole = made[0].learn(x, y)
    parts = np.concatenate([made[1].learn(x[i : i + 170], y[i : i + 170]) for i in range(0, len(x), 170)])
    assert np.array_equal(whole, parts)
    if regression:
        assert np.mean((whole - y)[1000:] ** 2) < 0.1
        assert made[0].predict(x).shape == (len(x),)
    else:
        assert (made[0].classes_[whole.argmax(axis=1)] == y)[1000:].mean() > 0.9
        assert np.isneginf(whole[:FIRST]).all()
        assert np.isfinite(whole[FIRST:]).all()
    assert made[0].memory_bytes_ > x.nbytes


def test_only_one_class_so_far_trains_nothing():
    x = np.zeros((300, 2))
    made = Retrained(Task(2, np.array([0, 1])), lambda x, y: pytest.fail("nothing to train"))
    assert np.isneginf(made.learn(x, np.zeros(300, dtype=int))).all()


def test_names_are_known_in_any_case():
    assert is_peer(" LightGBM")
    assert is_peer("histgb")
    assert not is_peer("stream")
    assert peer("HistGB").missing is None
