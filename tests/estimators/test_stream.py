"""StreamClassifier and StreamRegressor: the contracts of every estimator, across all events of the learner."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import nolana
import nolana.reference as reference
from conftest import same_state
from nolana import NolanaClassifier, StreamClassifier, StreamRegressor, experts

ROWS = 3000
EVENTS = (0, 1, 2, 3, 4, 5, 8, 17, 40, 64, 101, 256, 257, 511, 512, 513, 1024, 2047, 2048, 2049, 2500, 2501, ROWS)


def stream(name):
    """X, y, weights and the estimator: two relevant features of 12, so that the grids are drawn again at row 2,048."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 12))
    two, row = (x[:, 0] * x[:, 1] > 0).astype(int), np.arange(ROWS)
    number = x[:, 0] * x[:, 1] + 1e4 * (rng.random(ROWS) < 0.01)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0, 1e6], ROWS, p=[0.2, 0.2, 0.39, 0.2, 0.01])
    late = rng.integers(0, 50, ROWS) % np.select([row < 40, row < 300, row < 2500], [2, 3, 10], 50)
    return {
        "redraw": (x, two, None, StreamClassifier(random_state=0)),
        "late classes": (x, late, None, StreamClassifier(random_state=0, memory="64KB")),
        "weights": (x, two, weight, StreamClassifier(random_state=0)),
        "balanced": (x, late % 11, weight, StreamClassifier(random_state=0, class_weight="balanced")),
        "number": (x, number, None, StreamRegressor(random_state=0)),
        "weighted number": (x, number, weight, StreamRegressor(random_state=0, memory="100KB")),
    }[name]


STREAMS = ("redraw", "late classes", "weights", "balanced", "number", "weighted number")
streams = pytest.mark.parametrize("name", STREAMS)


def learn(model, x, y, weight, rows):
    return model.learn(x[rows], y[rows], sample_weight=None if weight is None else weight[rows])


def same(first, second):
    """Bit for bit: what was learned, its sizes and what it says."""
    assert same_state(first._learner.state(), second._learner.state())
    assert first.memory_bytes_ == second.memory_bytes_
    assert first.sizes_ == second.sizes_
    assert first.experts_ == second.experts_
    assert first.drift_ == second.drift_
    assert np.array_equal(first.relevance_, second.relevance_)


def check_split(name, cuts):
    x, y, weight, model = stream(name)
    whole, parts = clone(model), clone(model)
    scores = learn(whole, x, y, weight, slice(None))
    for i, j in itertools.pairwise(sorted({0, ROWS, *cuts})):
        found = learn(parts, x, y, weight, slice(i, j))
        expected = scores[i:j] if scores.ndim == 1 else scores[i:j, : found.shape[1]]
        assert np.array_equal(found, expected, equal_nan=True), (i, j)
        assert scores.ndim == 1 or np.isnan(scores[i:j, found.shape[1] :]).all()
    same(whole, parts)
    return whole


@streams
def test_split_at_every_event(name):
    whole = check_split(name, EVENTS)
    assert whole._learner.redrawn or name in ("late classes", "balanced")  # whose labels are drawn by lot


@given(name=st.sampled_from(STREAMS), cuts=st.lists(st.integers(1, ROWS - 1), max_size=12))
@settings(max_examples=12)
def test_split_anywhere(name, cuts):
    check_split(name, cuts)


@pytest.mark.parametrize("name", ["redraw", "number"])
def test_one_row_at_a_time_is_a_block(name):
    check_split(name, range(2100))


@pytest.mark.parametrize("name", ["redraw", "late classes", "weights", "number", "weighted number"])
def test_numpy_is_close_to_the_core(name, monkeypatch):
    """From the core's state, across anchors, the redraw and full landmarks; the cells are in single precision.

    Before row 257, and where a class is added, tables take the size that the memory allows, and NumPy takes less.
    """
    x, y, weight, model = stream(name)
    learn(model, x, y, weight, slice(0, 620))
    for i, j in itertools.pairwise((620, 660, 2030, 2060, 2560, 2600, 2680, 2720)):
        before = copy.deepcopy(model)
        core = learn(model, x, y, weight, slice(i, j))
        if j - i > 40 or len(getattr(model, "classes_", ())) > len(getattr(before, "classes_", ())):
            continue
        with monkeypatch.context() as patch:
            patch.setattr("nolana.learners.driver.engine", lambda: reference)
            twin = copy.deepcopy(before)
            assert twin._learner._module is reference
            mine = learn(twin, x, y, weight, slice(i, j))
        assert np.allclose(core, mine, rtol=1e-4, atol=1e-4, equal_nan=True), (i, j)


@pytest.mark.parametrize("seed", [2, 3])
def test_a_copy_made_between_full_landmarks_and_their_width_continues_bit_for_bit(seed):
    """Full landmarks are noticed at the next multiple of 64 rows; a copy made before that must not miss it.

    Four normal features: the landmarks become full at about row 530, after the last anchor, which takes widths too.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(700, 4))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    whole, parts = (StreamClassifier(random_state=0) for _ in range(2))
    whole.learn(x, y)
    parts.learn(x[:513], y[:513])
    width, between = parts._learner._maps[0].gamma, 0
    for i in range(513, 700, 11):
        map = parts._learner._maps[0]
        between += map.size == parts.sizes_["landmarks"] and map.gamma == width
        parts = copy.deepcopy(parts)
        parts.learn(x[i : i + 11], y[i : i + 11])
    assert between > 1
    assert whole._learner._maps[0].gamma != width
    same(whole, parts)


def test_an_interrupted_event_does_not_stop_the_model(monkeypatch):
    x, y, _, model = stream("redraw")

    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nolana.learners.stream.StreamLearner._after", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(x[:1], y[:1]).learn(x[1:100], y[1:100])
    model.learn(x[:200], y[:200])
    assert np.isfinite(model.decision_function(x[:20])).all()


# Memory

SETS = {
    "cells": [experts.Cells()],
    "landmarks": [experts.Landmarks()],
    "neighbours": [experts.Neighbours()],
    "one expert": [experts.Landmarks(fast=False)],
    "default": None,
    "window": [*experts.DEFAULT, experts.Landmarks(policy="window", forgetting=0.999, fast=False, share=0.2)],
    "expiring": [experts.Landmarks(policy="expiring"), experts.Cells(relevance=False, fast=False)],
}
KB = 1024


def memory_used(memory, features, classes, sets, rows=720, block=60):
    """The most bytes after any block; a class is added every few rows."""
    rng = np.random.default_rng(features)
    x, row = rng.normal(size=(rows, features)), np.arange(rows)
    y = rng.integers(0, 10**6, rows) % np.minimum(classes, 2 + row // 10)
    model, most = StreamClassifier(memory=memory, experts=SETS[sets], random_state=0), 0
    for i in range(0, rows, block):
        model.learn(x[i : i + block], y[i : i + block])
        most = max(most, model.memory_bytes_)
    assert np.isfinite(model.decision_function(x[:20])).all()
    return most


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize(
    ("memory", "features", "classes"),
    [
        (32 * KB, 1, 2),
        (32 * KB, 5, 10),
        (32 * KB, 20, 3),
        (64 * KB, 5, 60),
        (100 * KB, 54, 7),
        (100 * KB, 50, 60),
        (200 * KB, 300, 2),
        (512 * KB, 1, 60),
        (512 * KB, 60, 20),
        (512 * KB, 300, 60),
        (2048 * KB, 300, 10),
        (8192 * KB, 1, 60),
        (8192 * KB, 300, 3),
    ],
)
def test_memory_is_never_exceeded(sets, memory, features, classes):
    assert memory_used(memory, features, classes, sets) <= memory


@pytest.mark.parametrize(("memory", "features"), [(32 * KB, 1), (64 * KB, 50)])
def test_classes_that_the_memory_cannot_hold_are_refused(memory, features):
    """Each class needs its linear weights; the call that brings too many changes nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, features)), np.arange(400) % 4
    model = StreamClassifier(memory=memory, random_state=0)
    model.learn(x, y)
    before = model._learner.state()
    with pytest.raises(ValueError, match=r"classes of .* choose a larger memory"):
        model.learn(x, np.arange(400))
    assert same_state(model._learner.state(), before)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    model.learn(x, y)
    assert model.memory_bytes_ <= memory


@pytest.mark.parametrize("features", [1, 54, 300])
@pytest.mark.parametrize("memory", [200 * KB, 512 * KB])
def test_memory_of_a_regressor(memory, features):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, features))
    model = StreamRegressor(memory=memory, random_state=0)
    for i in range(0, 600, 50):
        model.learn(x[i : i + 50], x[i : i + 50, 0] ** 2)
        assert model.memory_bytes_ <= memory


def test_memory_is_used():
    """At least 95 % where there are cells: the table takes what is left."""
    for memory in (64 * KB, 512 * KB, 2048 * KB):
        assert memory_used(memory, 8, 2, "default") >= 0.95 * memory


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("512 apples", "is not a size; write bytes, or for example '512KB'"),
        ("", "is not a size"),
        ("-1KB", "is not a size"),
        ("31KB", "out of range: at least 32KB and at most 1GB"),
        ("2GB", "out of range"),
        (100, "out of range"),
        (1e6, "memory"),
        (None, "memory"),
        (True, "memory"),
    ],
)
def test_memory_that_is_no_size_is_refused(memory, words):
    with pytest.raises((ValueError, TypeError), match=words):
        StreamClassifier(memory=memory).learn(np.ones((2, 2)), [0, 1])


@pytest.mark.parametrize("memory", ["64KB", "64 kb", 65536, "65536", "65536B", "0.0625MB", np.int64(65536)])
def test_ways_to_write_a_size(memory):
    model = StreamClassifier(memory=memory).fit(np.eye(2), [0, 1])
    assert 60_000 < model.memory_bytes_ <= 65536


def test_too_little_memory_says_what_is_needed():
    with pytest.raises(ValueError, match=r"too little for 300 features: this learner needs at least \d+ bytes; choose"):
        StreamClassifier(memory="32KB").learn(np.ones((2, 300)), [0, 1])


# Files and copies


@streams
def test_save_load_and_continue_bit_for_bit(name, tmp_path):
    x, y, weight, model = stream(name)
    path = tmp_path / "model.safetensors"
    for i, j in itertools.pairwise((0, 1, 3, 90, 256, 600, 2047, 2048, 2700, ROWS)):
        learn(model, x, y, weight, slice(i, j))
        model.save(path)
        loaded, copied, pickled = nolana.load(path), copy.copy(model), pickle.loads(pickle.dumps(model))
        ahead = slice(j, min(j + 40, ROWS))
        if j < ROWS:
            expected = learn(copy.deepcopy(model), x, y, weight, ahead)
            for other in (loaded, copied, pickled):
                assert np.array_equal(learn(other, x, y, weight, ahead), expected, equal_nan=True), j
        else:
            for other in (loaded, copied, pickled):
                same(model, other)
        assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("sets", SETS)
def test_files_of_other_experts(sets, tmp_path):
    x, y, _, _ = stream("redraw")
    model = StreamClassifier(experts=SETS[sets], random_state=0, memory="100KB").partial_fit(x[:700], y[:700])
    model.save(tmp_path / "model.safetensors")
    loaded = nolana.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.learn(x[700:], y[700:]), model.learn(x[700:], y[700:]))
    same(model, loaded)


def test_a_clone_has_learned_nothing():
    x, y, _, model = stream("redraw")
    model.set_params(experts=[experts.Cells(grids=32)]).partial_fit(x[:100], y[:100])
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(Exception, match="not fitted"):
        fresh.predict(x[:2])


# Input


@streams
def test_a_rejected_call_changes_nothing(name):
    x, y, weight, model = stream(name)
    learn(model, x, y, weight, slice(0, 700))
    before = copy.deepcopy(model)
    nan, wide = x[700:800].copy(), np.ones((100, 13))
    nan[57, 3] = np.nan
    bad_label = y[700:800].astype(object)
    bad_label[57] = None
    bad_weight = np.ones(100)
    bad_weight[57] = -1.0
    calls = [
        (nan, y[700:800], None),
        (wide, y[700:800], None),
        (x[700:800], y[700:799], None),
        (x[700:800], bad_label, None),
        (x[700:800], y[700:800], bad_weight),
        (x[700:800], y[700:800], np.full(100, np.nan)),
    ]
    for rows, labels, weights in calls:
        with pytest.raises((ValueError, TypeError)):
            model.learn(rows, labels, sample_weight=weights)
        same(before, model)
    assert model.n_rows_ == before.n_rows_
    assert np.array_equal(
        learn(model, x, y, weight, slice(700, 900)), learn(before, x, y, weight, slice(700, 900)), equal_nan=True
    )
    same(before, model)


def test_a_rejected_first_call_leaves_the_model_unfitted():
    model = StreamClassifier()
    with pytest.raises(ValueError, match="NaN"):
        model.learn(np.array([[1.0, np.nan]]), [0])
    assert model.learn(np.ones((2, 3)), [0, 1]).shape == (2, 2)


@pytest.mark.parametrize(
    "parameters",
    [
        {"experts": []},
        {"experts": [3]},
        {"experts": "cells"},
        {"experts": [experts.Landmarks(policy="none such")]},
        {"experts": [experts.Landmarks(slow=False, fast=False)]},
        {"class_weight": "heavy"},
        {"class_weight": {0: -1.0}},
        {"max_iter": 0},
    ],
    ids=str,
)
def test_parameters_that_make_no_learner_are_refused(parameters):
    with pytest.raises((ValueError, TypeError)):
        StreamClassifier(**parameters).fit(np.eye(4), [0, 1, 0, 1])


# Weights


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


# Scores and probabilities


@pytest.mark.parametrize("name", ["redraw", "late classes", "balanced"])
def test_probabilities(name):
    x, y, weight, model = stream(name)
    scores = learn(model, x, y, weight, slice(None))
    p = model.predict_proba(x)
    assert p.shape == (ROWS, len(model.classes_))
    assert np.allclose(p.sum(axis=1), 1, atol=1e-12)
    assert (p >= 0).all()
    assert np.array_equal(p, model.probabilities(model.scores(x)))
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))
    assert np.allclose(np.exp(model.predict_log_proba(x)), p)
    early = model.probabilities(scores)
    known = ~np.isnan(scores)
    assert (early[~known] == 0).all()
    assert np.allclose(early[known.any(axis=1)].sum(axis=1), 1)
    shifted = scores - np.where(known, scores, -np.inf).max(axis=1, initial=-1e9, keepdims=True)
    odds = np.where(known, np.exp(np.where(known, shifted, 0.0)), 0.0)[100:]
    assert np.allclose(early[100:], odds / odds.sum(axis=1, keepdims=True), atol=1e-12)


def test_one_class_alone():
    model = StreamClassifier().fit(np.random.default_rng(0).normal(size=(50, 2)), ["only"] * 50)
    assert model.predict(np.zeros((2, 2))).tolist() == ["only", "only"]
    assert model.predict_proba(np.zeros((2, 2))).tolist() == [[1.0], [1.0]]


def test_announced_classes_have_columns_and_no_probability():
    x, y, _, model = stream("redraw")
    model.partial_fit(x[:300], y[:300], classes=[0, 1, 7])
    assert (model.predict_proba(x[:9])[:, 2] == 0).all()
    assert np.allclose(model.predict_proba(x[:9]).sum(axis=1), 1)
    model.learn(x[300:301], [7])
    assert (model.predict_proba(x[:9])[:, 2] > 0).all()


def test_a_new_class_is_learned_and_leaves_the_others():
    """A third class of its own place after 1,000 rows: found after 20 rows, and the others stay."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 2))
    y = (x[:, 0] > 0).astype(int)
    y[1000:][x[1000:, 1] > 1] = 2
    model = StreamClassifier(random_state=0)
    model.learn(x[:1000], y[:1000])
    before = (model.predict(x[:1000]) == y[:1000]).mean()
    scores = model.learn(x[1000:], y[1000:])
    right = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)] == y[1000:]
    third = np.flatnonzero(y[1000:] == 2)
    assert right[third[20:]].mean() > 0.9
    assert right[y[1000:] < 2].mean() > before - 0.05


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
    with pytest.raises(ValueError, match="NaN"):
        model.learn(np.full((3, 12), np.nan), [0, 1, 1])
    assert np.array_equal(model.learn(x[100:200], y[100:200]), before.learn(x[100:200], y[100:200]))


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
    """2 % of the rows, after 6,000 rows without it: mean recall .933, and .767 where those rows count as well."""
    rng = np.random.default_rng(0)
    n, late = 10_000, 6000
    x = rng.normal(size=(n, 4))
    y = (x[:, 0] > 0).astype(int)
    y[late:][x[late:, 1] > 2] = 2
    model = StreamClassifier(random_state=0, class_weight="balanced")
    scores = model.learn(x, y)
    found = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)]
    assert np.mean([(found == c)[late:][y[late:] == c].mean() for c in range(3)]) > 0.9


def test_classes_are_counted_under_the_lock():
    x, y, _, model = stream("redraw")
    model.set_params(class_weight="balanced").partial_fit(x[:100], y[:100])
    held = []

    class Watched(dict):
        def __setitem__(self, label, rows):
            held.append(model._learner.lock._mutex.locked())
            super().__setitem__(label, rows)

    model._class_counts.rows = Watched(model._class_counts.rows)
    model.learn(x[100:200], y[100:200])
    model.learn_late(x[200:210], x[210:220], y[210:220])
    assert len(held) == 110
    assert all(held)


# What it says about itself


def test_experts_sizes_and_repr():
    x, y, _, model = stream("redraw")
    assert "rows learned" not in repr(model)
    model.learn(x, y)
    records = model.experts_
    assert [record["name"] for record in records[:4]] == ["landmarks", "landmarks, fast", "cells", "cells, fast"]
    assert all(record["name"].startswith("neighbours, last ") for record in records[4:])
    assert all(record.keys() == {"name", "weight", "score", "bytes"} for record in records)
    assert all(0 <= record["score"] <= 1 for record in records)
    assert 0 < sum(record["bytes"] for record in records) <= model.memory_bytes_ + 4 * 64 * KB
    assert model.sizes_.keys() == {"landmarks", "slots", "grids", "recent rows"}
    text = repr(model)
    assert "3,000 rows learned" in text
    assert f"{model.memory_bytes_:,} bytes" in text
    assert f"{model.sizes_['slots']:,} slots" in text


def test_relevance_finds_the_features_that_matter():
    x, y, _, model = stream("redraw")
    assert np.array_equal(model.partial_fit(x[:10], y[:10]).relevance_, np.ones(12))
    model.learn(x[10:], y[10:])
    relevance = model.relevance_
    assert relevance.mean() == pytest.approx(1, abs=0.05)
    assert set(np.argsort(relevance)[-2:]) == {0, 1}
    assert relevance[:2].min() > 2
    assert relevance[2:].max() < 1


def test_on_drift_is_called_once_for_each_alarm():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(4000) >= 2000)
    seen = []
    model = StreamClassifier(random_state=0)
    model.on_drift = seen.append
    for i in range(0, 4000, 7):
        model.learn(x[i : i + 7], y[i : i + 7])
    assert seen == model.drift_
    assert len(seen) == 1
    assert 2000 <= seen[0] < 2050
    one = StreamClassifier(random_state=0).partial_fit(x, y)
    assert one.drift_ == seen
    with pytest.raises(ValueError, match="on_drift=3 is not callable"):
        model.on_drift = 3


@pytest.mark.parametrize("kind", [StreamClassifier, StreamRegressor])
@pytest.mark.parametrize("verb", ["learn", "one row", "partial_fit", "fit", "learn_late"])
def test_every_verb_that_learns_calls_on_drift(kind, verb):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = np.where((x[:, 0] > 0) ^ (np.arange(3000) >= 1500), 1.0, -1.0)
    model, seen = kind(random_state=0), []
    model.on_drift = seen.append
    if verb == "one row":
        model.learn(x[:1400], y[:1400])
        for i in range(1400, 1600):
            model.learn(x[i : i + 1], y[i : i + 1])
    elif verb == "learn_late":
        model.learn_late(x, x, y)
    else:
        getattr(model, verb)(x, y)
    assert seen == model.drift_
    assert any(1500 <= row < 1550 for row in seen)


def test_an_error_of_on_drift_leaves_what_was_learned():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    for verb in ("learn", "fit"):
        model = StreamClassifier(random_state=0)
        model.on_drift = lambda row: 1 // (row - row)
        with pytest.raises(ZeroDivisionError):
            getattr(model, verb)(x, y)
        assert model.n_rows_ == 3000


def test_on_drift_is_not_called_for_earlier_alarms():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    model, seen = StreamClassifier(random_state=0).partial_fit(x[:2000], y[:2000]), []
    model.on_drift = seen.append
    model.learn(x[2000:], y[2000:])
    assert model.drift_
    assert not seen


def test_on_drift_may_ask_the_model():
    """Outside the lock: the function can predict, copy and save."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    model, seen = StreamClassifier(random_state=0), []
    model.on_drift = lambda row: seen.append((row, model.predict(x[:3]), copy.copy(model).n_rows_))
    done = threading.Thread(target=lambda: model.learn(x, y), daemon=True)
    done.start()
    done.join(60)
    assert not done.is_alive()
    assert len(seen) == 1


def test_a_loaded_model_reports_no_alarm_twice(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 3))
    y = (x[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    model = StreamClassifier(random_state=0).partial_fit(x[:2000], y[:2000])
    model.save(tmp_path / "model.safetensors")
    loaded, seen = nolana.load(tmp_path / "model.safetensors"), []
    loaded.on_drift = seen.append
    loaded.learn(x[2000:], y[2000:])
    assert loaded.drift_ == model.drift_
    assert not seen


# Threads


def test_readers_see_models_that_existed():
    x, y, _, model = stream("late classes")
    probe, cuts = x[:20], list(range(0, ROWS, 50))
    replay, allowed = clone(model), set()
    for i in cuts:
        replay.learn(x[i : i + 50], y[i : i + 50])
        allowed.add(replay.decision_function(probe).tobytes())
    model.learn(x[:50], y[:50])
    seen, done, errors = set(), threading.Event(), []

    def read():
        try:
            while not done.is_set():
                seen.add(model.decision_function(probe).tobytes())
                model.predict_proba(probe)
                _ = model.experts_, model.memory_bytes_, model.relevance_, model.sizes_, model.drift_
                copy.copy(model)
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in cuts[1:]:
        model.learn(x[i : i + 50], y[i : i + 50])
    done.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()
    assert not errors, errors[0]
    assert len(seen) > 1
    # A class that appears within a block makes a state of its own there.
    assert len(seen - allowed) <= 50
    same(model, replay)


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
