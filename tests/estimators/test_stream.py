"""StreamClassifier and StreamRegressor: the contracts of every estimator, across all events of the learner."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import nolana
import nolana.engine as reference
from concurrent_readers import models_between_blocks, read_while_learning
from nolana import StreamClassifier, StreamRegressor, experts
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from stream_cases import ROWS, SETS, STREAMS, learn, same, stream, streams

EVENTS = (0, 1, 2, 3, 4, 5, 8, 17, 40, 64, 101, 256, 257, 511, 512, 513, 1024, 2047, 2048, 2049, 2500, 2501, ROWS)


def check_split(name, cuts):
    x, y, weight, model = stream(name)
    whole, parts = clone(model), clone(model)
    scores = learn(whole, x, y, weight, slice(None))
    for i, j in itertools.pairwise(sorted({0, ROWS, *cuts})):
        found = learn(parts, x, y, weight, slice(i, j))
        known = slice(None) if scores.ndim == 1 else np.isin(whole.classes_, parts.classes_)
        expected = scores[i:j] if scores.ndim == 1 else scores[i:j, known]
        assert np.array_equal(found, expected, equal_nan=True), (i, j)
        assert scores.ndim == 1 or np.isneginf(scores[i:j, ~known]).all()
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


def test_the_second_prediction_is_the_first_target():
    """Targets far from 0: a prediction of 0 at the second row would outweigh the errors of thousands of rows."""
    x = np.random.default_rng(0).normal(size=(40, 3))
    y = 1e6 + x[:, 0]
    model = StreamRegressor(random_state=0)
    first = model.learn(x[:1], y[:1], sample_weight=np.array([2.0]))
    assert first[0] == 0
    assert model.predict(x[:3]) == pytest.approx(y[0], rel=1e-12)
    assert np.allclose(model.predict(x[:1], interval=0.9), y[0])
    assert np.abs(model.learn(x[1:], y[1:]) - y[1:]).max() < 10


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
            patch.setattr("nolana.learner.driver.backend", lambda: reference)
            twin = copy.deepcopy(before)
            assert twin._learner._module is reference
            mine = learn(twin, x, y, weight, slice(i, j))
        assert np.allclose(core, mine, rtol=1e-4, atol=1e-4, equal_nan=True), (i, j)


@pytest.mark.parametrize("seed", [2, 5])
def test_a_copy_made_between_full_landmarks_and_their_width_continues_bit_for_bit(seed):
    """Full landmarks are noticed at the next multiple of 64 rows; a copy made before that must not miss it.

    Four normal features: the landmarks become full at about row 530, after the last anchor, which takes widths too.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(700, 4))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)  # no pair acts together, so that nothing is redrawn before row 512
    whole, parts = (StreamClassifier(random_state=0) for _ in range(2))
    whole.learn(x, y)
    parts.learn(x[:513], y[:513])
    landmarks = [map.kind for map in parts._learner.spec.arguments["maps"]].index(LandmarkMap)
    width, between = parts._learner.maps[landmarks].gamma, 0
    for i in range(513, 700, 11):
        map = parts._learner.maps[landmarks]
        between += map.size == parts.sizes_["landmarks"] and map.gamma == width
        parts = copy.deepcopy(parts)
        parts.learn(x[i : i + 11], y[i : i + 11])
    assert between > 1
    assert whole._learner.maps[landmarks].gamma != width
    same(whole, parts)


def test_an_interrupted_event_does_not_stop_the_model(monkeypatch):
    x, y, _, model = stream("redraw")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nolana.learner.driver.run_events", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(x[:1], y[:1]).learn(x[1:100], y[1:100])
    model.learn(x[:200], y[:200])
    assert np.isfinite(model.decision_function(x[:20])).all()


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


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_effects_alone_learn_categories_and_refuse_numbers(verb, tmp_path):
    rows, y = [{"colour": "red" if i % 2 else "blue"} for i in range(100)], np.arange(100) % 2
    model = getattr(StreamClassifier(experts=[experts.Effects()], random_state=0), verb)(rows, y)
    assert model.score(rows, y) == 1
    model.save(tmp_path / "model.nolana")
    assert np.array_equal(nolana.load(tmp_path / "model.nolana").predict_proba(rows), model.predict_proba(rows))
    with pytest.raises(ValueError, match=r"experts=\[Effects.* these rows have none: add another set"):
        getattr(StreamClassifier(experts=[experts.Effects()]), verb)(y[:, None], y)


def test_a_clone_has_learned_nothing():
    x, y, _, model = stream("redraw")
    model.set_params(experts=[experts.Bins(grids=32)]).partial_fit(x[:100], y[:100])
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
    infinite, wide = x[700:800].copy(), np.ones((100, 13))
    infinite[57, 3] = np.inf
    bad_label = y[700:800].astype(object)
    bad_label[57] = None
    bad_weight = np.ones(100)
    bad_weight[57] = -1.0
    calls = [
        (infinite, y[700:800], None),
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
    with pytest.raises(ValueError, match="infinity"):
        model.learn(np.array([[1.0, np.inf]]), [0])
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


# Threads


def test_readers_see_models_that_existed():
    x, y, _, model = stream("late classes")

    def read(model):
        model.predict_proba(x[:20])
        _ = model.experts_, model.memory_bytes_, model.relevance_, model.sizes_, model.drift_
        copy.copy(model)
        return model.decision_function(x[:20]).tobytes()

    replay = clone(model)
    allowed = models_between_blocks(replay, x, y, 50, read)
    seen = read_while_learning(model, x, y, 50, read)
    assert len(seen) > 1
    # A class that appears within a block makes a state of its own there.
    assert len(seen - allowed) <= 50
    same(model, replay)
