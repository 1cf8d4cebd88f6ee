"""Scores, probabilities and intervals of StreamClassifier and StreamRegressor."""

import numpy as np
import pytest

from nolana import NolanaClassifier, StreamClassifier, StreamRegressor
from stream_cases import ROWS, learn, stream


@pytest.mark.parametrize("name", ["redraw", "late classes"])
def test_probabilities(name):
    x, y, weight, model = stream(name)
    scores = learn(model, x, y, weight, slice(None))
    p = model.predict_proba(x)
    assert p.shape == (ROWS, len(model.classes_))
    assert np.allclose(p.sum(axis=1), 1, atol=1e-12)
    assert (p >= 0).all()
    own = model.probabilities(model.scores(x))
    assert np.allclose(p, (model.n_rows_ * own + 1 / own.shape[1]) / (model.n_rows_ + 1), rtol=1e-12)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))
    assert np.allclose(np.exp(model.predict_log_proba(x)), p)
    early = model.probabilities(scores)
    known = ~np.isneginf(scores)
    assert (early[~known] == 0).all()
    assert np.allclose(early[known.any(axis=1)].sum(axis=1), 1)
    shifted = scores - scores.max(axis=1, initial=-1e9, keepdims=True)
    odds = np.where(known, np.exp(np.where(known, shifted, 0.0)), 0.0)[100:]
    assert np.allclose(early[100:], odds / odds.sum(axis=1, keepdims=True), atol=1e-12)


def test_one_class_alone():
    model = StreamClassifier().fit(np.random.default_rng(0).normal(size=(50, 2)), ["only"] * 50)
    assert model.predict(np.zeros((2, 2))).tolist() == ["only", "only"]
    assert model.predict_proba(np.zeros((2, 2))).tolist() == [[1.0], [1.0]]


def test_announced_classes_have_columns_and_the_probability_of_a_uniform_start():
    x, y, _, model = stream("redraw")
    model.partial_fit(x[:300], y[:300], classes=[0, 1, 7])
    assert (model.predict_proba(x[:9])[:, 2] == 1 / 301 / 3).all()
    assert np.allclose(model.predict_proba(x[:9]).sum(axis=1), 1)
    model.learn(x[300:301], [7])
    assert (model.predict_proba(x[:9])[:, 2] > 0).all()


def test_a_new_class_is_learned_and_leaves_the_others():
    """A third class of its own place after 1,000 rows: found after 20 rows, and the others stay.

    The mean of ten streams: .937, with a deviation of .03 for one of them.
    """
    found, changes = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2000, 2))
        y = (x[:, 0] > 0).astype(int)
        y[1000:][x[1000:, 1] > 1] = 2
        model = StreamClassifier(random_state=0)
        model.learn(x[:1000], y[:1000])
        before = (model.predict(x[:1000]) == y[:1000]).mean()
        scores = model.learn(x[1000:], y[1000:])
        right = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)] == y[1000:]
        third = np.flatnonzero(y[1000:] == 2)
        found.append(right[third[20:]].mean())
        changes.append(right[y[1000:] < 2].mean() - before)
    assert np.mean(found) > 0.9
    assert np.min(changes) > -0.05


def test_it_is_not_worse_than_the_landmark_learner_on_xor():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 2))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)
    right = {}
    for kind in (NolanaClassifier, StreamClassifier):
        model = kind()
        scores = model.learn(x, y)
        right[kind] = (model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)] == y)[500:].mean()
    assert right[StreamClassifier] > right[NolanaClassifier] - 0.005


# Intervals

NUMBERS = {
    "normal": lambda rng, n: 0.5 * rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t with 3 degrees": lambda rng, n: 0.3 * rng.standard_t(3, size=n),
    "small": lambda rng, n: 1e-6 * rng.normal(size=n),
}


@pytest.mark.parametrize("noise", NUMBERS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_cover(noise, level):
    """Within 2 points, from row 1,000 on; predict then learn in blocks of 50."""
    rng = np.random.default_rng(3)
    n = 8000
    x = rng.uniform(-2, 2, (n, 2))
    scale = 1e-6 if noise == "small" else 1.0
    y = scale * np.sin(2 * x[:, 0]) * x[:, 1] + NUMBERS[noise](rng, n) + 100 * scale
    model, covered = StreamRegressor(random_state=0), []
    for i in range(0, n, 50):
        if i:
            middle, low, high = model.predict(x[i : i + 50], interval=level)
            assert (low <= middle).all()
            assert (middle <= high).all()
            covered.append((low <= y[i : i + 50]) & (y[i : i + 50] <= high))
        model.learn(x[i : i + 50], y[i : i + 50])
    assert np.concatenate(covered[19:]).mean() == pytest.approx(level, abs=0.02)


def test_intervals_out_of_range_are_refused():
    model = StreamRegressor().fit(np.eye(3), [1.0, 2.0, 3.0])
    for interval in (0.0, 1.0, -0.5, 90, np.nan, "0.9"):
        with pytest.raises((ValueError, TypeError), match="interval"):
            model.predict(np.eye(3), interval=interval)
