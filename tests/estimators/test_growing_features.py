"""A row number, a counter or a time among the features of a stream costs at most a point."""

import pickle
import warnings

import numpy as np
import pytest

import nolana
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, StreamClassifier
from nolana.errors import GrowthWarning

ROWS = 12_000


def stream(seed=1):
    """XOR of two features beside two of noise; 2 % of the labels are wrong."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 4))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)) ^ (rng.random(ROWS) < 0.02)
    return x, y.astype(int)


def growing(name):
    rng = np.random.default_rng(2)
    count = np.arange(float(ROWS))
    return {
        "row number": count,
        "falls": -1000 * count,
        "UNIX time": 1.7e9 + np.cumsum(rng.exponential(30.0, ROWS)),
        "milliseconds": 1.7e12 + np.cumsum(rng.exponential(30_000.0, ROWS)),
        "uneven": np.cumsum(rng.exponential(1.0, ROWS) ** 3),
        "day": np.floor(count / 48),
    }[name]


def accuracy(model, x, y):
    """Of the second half, each row predicted before it was learned."""
    scores = model.learn(x, y)
    return float(np.mean(model.classes_[scores[ROWS // 2 :].argmax(axis=1)] == y[ROWS // 2 :]))


@pytest.fixture(scope="module")
def clean():
    x, y = stream()
    with_noise = np.column_stack([x, np.random.default_rng(3).normal(size=ROWS)])  # a useless feature has its cost
    return {kind: accuracy(kind(random_state=0), with_noise, y) for kind in (NolanaClassifier, StreamClassifier)}


@pytest.mark.parametrize("name", ["row number", "falls", "UNIX time", "milliseconds", "uneven", "day"])
def test_the_landmark_learner_loses_at_most_a_point(name, clean):
    """Without the watch it loses 10 to 25 points."""
    x, y = stream()
    with pytest.warns(GrowthWarning, match="in feature 4 "):
        found = accuracy(NolanaClassifier(random_state=0), np.column_stack([x, growing(name)]), y)
    assert found >= clean[NolanaClassifier] - 0.01


@pytest.mark.parametrize("name", ["row number", "UNIX time", "day"])
def test_the_default_learner_loses_at_most_a_point(name, clean):
    x, y = stream()
    found = accuracy(StreamClassifier(random_state=0), np.column_stack([x, growing(name)]), y)
    assert found >= clean[StreamClassifier] - 0.01


def test_a_trend_of_the_target_is_followed():
    """The target grows with the feature: RMSE 0.2 for a noise of 0.1; 2 where the feature counts in full."""
    rng = np.random.default_rng(0)
    t, x = np.linspace(0, 1, ROWS), rng.normal(size=(ROWS, 2))
    y = 10 * t + np.sin(x[:, 0]) + 0.1 * rng.normal(size=ROWS)
    with pytest.warns(GrowthWarning):
        scores = NolanaRegressor().learn(np.column_stack([x, t]), y)
    assert np.sqrt(np.mean((scores - y)[2000:] ** 2)) < 0.3


def test_fit_takes_sorted_rows():
    """Rows of fit may be sorted by a feature that matters."""
    x, y = stream()
    order = np.argsort(x[:, 0])[::4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = NolanaClassifier(random_state=0).fit(x[order, :2], y[order])
        NolanaRegressor().fit(x[order, :2], x[order, 0])
        OnlineNystroem().fit(x[order, :2])
    kept = NolanaClassifier(random_state=0, keep_growing=True)
    kept.partial_fit(x[order, :2], y[order], classes=[0, 1])
    assert np.array_equal(fitted.decision_function(x[:100, :2]), kept.decision_function(x[:100, :2]))
    assert fitted.score(x[:, :2], y) > 0.8


def test_each_feature_is_reported_once():
    x, y = stream()
    both = np.column_stack([x[:, :2], growing("row number"), growing("day")])
    model = NolanaClassifier()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for start in range(0, ROWS, 100):
            model.learn(both[start : start + 100], y[start : start + 100])
    texts = [str(each.message) for each in found if each.category is GrowthWarning]
    assert [text.split(" feature ")[1].split(" ")[0] for text in texts] == ["2", "3"]
    assert all(each.filename == __file__ for each in found)


def test_files_and_copies_continue_bit_for_bit(tmp_path):
    x, y = stream()
    rows = np.column_stack([x, growing("day")])
    whole, model = NolanaClassifier(), NolanaClassifier()
    with pytest.warns(GrowthWarning):
        whole.learn(rows[:2000], y[:2000])
    with pytest.warns(GrowthWarning):
        model.learn(rows[:700], y[:700])
    model.save(tmp_path / "m.nolana")
    model = pickle.loads(pickle.dumps(nolana.load(tmp_path / "m.nolana")))
    model.partial_fit(rows[700:2000], y[700:2000])
    assert np.array_equal(model.decision_function(rows[:50]), whole.decision_function(rows[:50]))
    assert model.memory_bytes_ == whole.memory_bytes_


def test_where_all_features_grow_each_counts_in_full():
    """Nothing else could be learned from."""
    t = np.linspace(0, 6, 3000)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error", GrowthWarning)
        watched, kept = (NolanaRegressor(keep_growing=keep).learn(t, np.sin(t[:, 0])) for keep in (False, True))
    assert np.array_equal(watched, kept)
