"""Weights of StreamClassifier and StreamRegressor: sample_weight and class_weight."""

import copy
import itertools

import numpy as np
import pytest
from sklearn.base import clone

import nolana
from conftest import same_state
from nolana import StreamClassifier, StreamRegressor, modelfile
from nolana.errors import ModelFileError
from stream_cases import ROWS, learn, same, stream

# Weights of rows


@pytest.mark.parametrize("kind", [StreamClassifier, StreamRegressor])
def test_a_common_factor_of_the_weights_changes_nothing(kind):
    x, y, _, _ = stream("redraw" if kind is StreamClassifier else "number")
    plain = kind(random_state=0).learn(x, y)
    for factor in (1.0, 2.0**20):
        weighted = kind(random_state=0).learn(x, y, sample_weight=np.full(ROWS, factor))
        assert np.allclose(weighted, plain, rtol=1e-9, atol=1e-9, equal_nan=True), factor
    million = kind(random_state=0).learn(x, y, sample_weight=np.full(ROWS, 1e6))
    assert np.allclose(million, plain, rtol=1e-3, atol=1e-3, equal_nan=True)


def test_rows_of_weight_zero_are_scored_and_change_nothing():
    x, y, _, model = stream("late classes")
    with_zeros, without = clone(model), clone(model)
    weight = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    taught = weight > 0
    scores = with_zeros.learn(x, y, sample_weight=weight)
    expected = without.learn(x[taught], y[taught])
    columns = [with_zeros.classes_.tolist().index(label) for label in without.classes_]
    assert np.array_equal(scores[taught][:, columns], expected, equal_nan=True)
    assert same_state(with_zeros._learner.state(), without._learner.state())


# Class weights


def test_balanced_weights_find_the_rare_class():
    """100:1, with overlap: the recall of the rare class rises by 20 points or more."""
    rng = np.random.default_rng(2)
    n = 20_000
    y = (rng.random(n) < 0.01).astype(int)
    x = rng.normal(size=(n, 3)) + 1.5 * y[:, None]
    recall = {}
    for weight in (None, "balanced", {0: 1.0, 1: 100.0}):
        model = StreamClassifier(random_state=0, class_weight=weight)
        scores = model.learn(x, y)
        found = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)] == 1
        recall[str(weight)] = found[5000:][y[5000:] == 1].mean()
    assert recall["balanced"] > recall["None"] + 0.2
    assert recall[str({0: 1.0, 1: 100.0})] > recall["None"] + 0.2


def test_a_rejected_call_leaves_the_counts_of_balanced_weights():
    x, y, _, _ = stream("redraw")
    model = StreamClassifier(random_state=0, class_weight="balanced").partial_fit(x[:100], y[:100])
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="infinity"):
        model.learn(np.full((3, 12), np.inf), [0, 1, 1])
    assert np.array_equal(model.learn(x[100:200], y[100:200]), before.learn(x[100:200], y[100:200]))


def test_class_weights_that_become_invalid_change_nothing():
    x, y, _, model = stream("redraw")
    model.partial_fit(x[:100], y[:100]).set_params(class_weight={0: -1.0})
    before = model._learner.state()
    with pytest.raises(ValueError, match="class_weight"):
        model.learn(x[100:110], np.full(10, 7))
    assert same_state(model._learner.state(), before)
    assert set(model.classes_) == {0, 1}


def test_fit_begins_the_counts_of_balanced_weights_again():
    x, y, _, _ = stream("redraw")
    twice = StreamClassifier(random_state=0, class_weight="balanced").fit(x[:100], np.ones(100)).fit(x[:300], y[:300])
    once = StreamClassifier(random_state=0, class_weight="balanced").fit(x[:300], y[:300])
    same(once, twice)


def test_a_copy_counts_classes_on_its_own():
    x, y, _, _ = stream("redraw")
    model = StreamClassifier(random_state=0, class_weight="balanced").partial_fit(x[:100], y[:100])
    expected = copy.deepcopy(model)
    other = copy.deepcopy(model)
    other.learn(x[:50], np.ones(50, dtype=int))
    assert np.array_equal(model.learn(x[100:200], y[100:200]), expected.learn(x[100:200], y[100:200]))


@pytest.mark.parametrize("weights", [{1: 1e6}, {0: 1e6, 1: 1.0}, {0: 1e-30, 1: 1e50}], ids=str)
def test_extreme_class_weights_are_finite_and_may_be_split(weights):
    x, y, sample_weight, _ = stream("weights")
    whole, parts = (StreamClassifier(random_state=0, class_weight=weights) for _ in range(2))
    scores = learn(whole, x, y, sample_weight, slice(None))
    for i, j in itertools.pairwise((0, 1, 2, 3, 99, 700, 1111, ROWS)):
        found = learn(parts, x, y, sample_weight, slice(i, j))
        assert np.array_equal(found, scores[i:j, : found.shape[1]], equal_nan=True)
    same(whole, parts)
    assert np.isfinite(scores[100:]).all()
    assert np.isfinite(whole.predict_proba(x)).all()


def test_a_class_of_weight_zero_is_not_learned():
    x, y, _, _ = stream("late classes")
    y = y % 3
    weights = np.where(np.arange(ROWS) % 5 == 0, 2.0, 1.0)
    without = StreamClassifier(random_state=0, class_weight={0: 2.0})
    without.learn(x[y < 2], y[y < 2], sample_weight=weights[y < 2])
    zero = StreamClassifier(random_state=0, class_weight={0: 2.0, 2: 0.0})
    zero.learn(x[:777], y[:777], sample_weight=weights[:777])
    zero.learn(x[777:], y[777:], sample_weight=weights[777:])
    assert same_state(zero._learner.state(), without._learner.state())


def test_balanced_weights_of_a_class_that_appears_late():
    """2 % of the rows, after 6,000 rows without it: the mean recall of six streams is .925 (.899 to .946)."""
    n, late, recalls = 10_000, 6000, []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 4))
        y = (x[:, 0] > 0).astype(int)
        y[late:][x[late:, 1] > 2] = 2
        model = StreamClassifier(random_state=0, class_weight="balanced")
        scores = model.learn(x, y)
        found = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)]
        recalls += [(found == c)[late:][y[late:] == c].mean() for c in range(3)]
    assert np.mean(recalls) > 0.915


def test_classes_are_counted_under_the_lock():
    x, y, _, model = stream("redraw")
    model.set_params(class_weight="balanced").partial_fit(x[:100], y[:100])
    held = []

    class Watched(dict):
        def __setitem__(self, label, rows):
            held.append(model._learner.lock._mutex.locked())
            super().__setitem__(label, rows)

    model._targets.counts.rows = Watched(model._targets.counts.rows)
    model.learn(x[100:200], y[100:200])
    model.learn_late(x[200:210], x[210:220], y[210:220])
    assert len(held) == 110
    assert all(held)


@pytest.mark.parametrize(
    ("key", "value"),
    [("class_counts", [1, -1]), ("class_counts", [1]), ("class_before", [0, 101]), ("class_before", [0, 0.5])],
)
def test_a_file_with_wrong_class_counts_is_refused(key, value, tmp_path):
    """More rows before a class than there are rows would make weights negative."""
    x, y, _, model = stream("redraw")
    model.set_params(class_weight="balanced").partial_fit(x[:100], y[:100]).save(tmp_path / "model")
    sections = modelfile.read(tmp_path / "model")
    sections["estimator"]["fitted"][key] = value
    modelfile.write(tmp_path / "model", sections)
    with pytest.raises(ModelFileError, match=key):
        nolana.load(tmp_path / "model")
