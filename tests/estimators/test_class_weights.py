"""class_weight moves the decision: what is learned, the ranking of rows and the probabilities do not depend on it."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import nolana
from conftest import same_state
from nolana import NolanaClassifier, StreamClassifier, modelfile
from nolana.errors import ModelFileError
from stream_cases import ROWS, learn, stream

V02 = Path(__file__).parent / "v02"
LATE_WEIGHTS = {0: 0.5, 3: 8.0, 7: 2.0}


def rare(rate, seed, n=30_000):
    """Two clusters of normal rows, four deviations apart: AUC .9977, balanced accuracy .977 at best."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rate).astype(int)
    return rng.normal(size=(n, 4)) + 2 * y[:, None], y


@pytest.mark.parametrize("weights", ["balanced", LATE_WEIGHTS], ids=["balanced", "dict"])
@pytest.mark.parametrize("name", ["balanced", "redraw", "late classes"])
def test_weights_change_scores_and_nothing_else(name, weights):
    x, y, weight, model = stream(name)
    plain, weighted = clone(model).set_params(class_weight=None), clone(model).set_params(class_weight=weights)
    before, shifted = learn(plain, x, y, weight, slice(None)), learn(weighted, x, y, weight, slice(None))
    assert same_state(plain._learner.state(), weighted._learner.state())
    assert np.array_equal(plain.predict_proba(x), weighted.predict_proba(x))
    assert np.array_equal(np.isneginf(before), np.isneginf(shifted))
    assert (before != shifted)[ROWS // 2 :].any()
    if before.shape[1] == 2:
        assert np.allclose(shifted[2:, 0], -shifted[2:, 1], atol=1e-12)


def test_prediction_is_the_class_of_the_largest_weighted_probability():
    x, y, _, model = stream("late classes")
    model.set_params(class_weight=LATE_WEIGHTS)
    scores = model.learn(x, y)
    odds = model.scores(x) - model._targets.shift(model.class_weight)  # log-odds without weights
    weights = np.array([LATE_WEIGHTS.get(label, 1.0) for label in model.classes_.tolist()])
    assert np.array_equal(model.predict(x), model.classes_[np.argmax(odds + np.log(weights), axis=1)])
    assert np.array_equal(model.predict(x), model.classes_[model.decision_function(x).argmax(axis=1)])
    assert np.array_equal(model.predict(x[:1]), model.predict(x)[:1])
    last = copy.deepcopy(model)
    assert np.array_equal(last.learn(x[:1], y[:1]), model.scores(x[:1]))
    assert scores.shape == (ROWS, len(model.classes_))


def test_shift_of_balanced_weights_is_minus_the_log_of_the_share_since_a_class_appeared():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 2)), np.r_[np.zeros(400), rng.random(600) < 0.1].astype(int)
    y[400] = 1
    model = StreamClassifier(random_state=0, class_weight="balanced").partial_fit(x, y)
    log = -np.log([(y == 0).mean(), (y[400:] == 1).mean()])
    assert np.allclose(model._targets.shift(model.class_weight), log - log.mean())


def test_weights_set_after_learning_move_the_decision_at_once():
    x, y = rare(0.1, 0, 2000)
    model = StreamClassifier(random_state=0).partial_fit(x, y)
    f = model.decision_function(x)
    model.set_params(class_weight={1: 9.0})
    assert np.allclose(model.decision_function(x), f + np.log(9) / 2)
    assert np.allclose(model.set_params(class_weight={1: 0.0}).predict(x), 0)
    assert np.isfinite(model.predict_proba(x)).all()


@pytest.mark.parametrize("rate", [0.01, 0.001])
def test_balanced_weights_leave_auc_and_find_rare_rows(rate):
    """Weights in the steps: balanced accuracy .965, AUC .997 at 1 %; .959 and .997 at 0.1 %."""
    accuracy = []
    for seed in range(3):
        x, y = rare(rate, seed)
        test_x, test_y = rare(0.02, 100 + seed, 10_000)
        plain = StreamClassifier(random_state=0).partial_fit(x, y)
        weighted = StreamClassifier(random_state=0, class_weight="balanced").partial_fit(x, y)
        ranked = weighted.decision_function(test_x)
        assert roc_auc_score(test_y, ranked) >= roc_auc_score(test_y, plain.decision_function(test_x)) - 1e-12
        accuracy.append(balanced_accuracy_score(test_y, weighted.predict(test_x)))
    assert np.mean(accuracy) > (0.972 if rate == 0.01 else 0.955)


def test_one_mislabelled_row_is_not_found_everywhere():
    """A class of one row weighs up to 1,000 times as much: rows of the others stay theirs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8000, 3))
    y = (x[:, 0] > 0).astype(int)
    y[1000] = 7
    model = StreamClassifier(random_state=0, class_weight="balanced").partial_fit(x, y)
    assert (model.predict(x) == 7).mean() < 0.02
    assert model.score(x, y) > 0.95


# The landmark learner, whose scores are no log-odds


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 20.0}], ids=["balanced", "dict"])
def test_probabilities_of_the_logistic_landmark_learner_are_true_odds(weights):
    rng = np.random.default_rng(0)
    y = (rng.random(20_000) < 0.05).astype(int)
    x = rng.normal(size=(20_000, 3)) + 1.2 * y[:, None]
    model = NolanaClassifier(n_landmarks=30, loss="logistic", class_weight=weights)
    _, p = model.learn_proba(x, y)
    assert abs(p[5000:, 1].mean() - 0.05) < 0.02  # weighted odds: 0.2 or more
    assert abs(model.predict_proba(x)[:, 1].mean() - 0.05) < 0.02
    assert (model.predict(x) == 1).mean() > 0.1


# Merging and files


@pytest.mark.parametrize("weights", ["balanced", {"b": 3.0}], ids=["balanced", "dict"])
def test_merge_counts_the_classes_of_all_parts(weights):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 3))
    y = np.where(x[:, 0] > 1.5, "b", "a")
    base = StreamClassifier(random_state=0, class_weight=weights).partial_fit(x[:2000], y[:2000])
    parts = base.split(2)
    for i, part in enumerate(parts):
        rows = slice(2000 + 2000 * i, 4000 + 2000 * i)
        part.learn(x[rows], y[rows])
    merged = nolana.merge(parts)
    whole = StreamClassifier(random_state=0, class_weight=weights).partial_fit(x, y)
    assert np.allclose(merged._targets.shift(merged.class_weight), whole._targets.shift(whole.class_weight))
    assert merged.score(x, y) > 0.97


def test_saved_weights_continue_to_the_bit(tmp_path):
    x, y, _, model = stream("late classes")
    model.set_params(class_weight="balanced").partial_fit(x[:1000], y[:1000]).save(tmp_path / "model")
    loaded = nolana.load(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(x), model.decision_function(x))
    assert np.array_equal(loaded.learn(x[1000:], y[1000:]), model.learn(x[1000:], y[1000:]), equal_nan=True)
    assert np.array_equal(loaded.learn_proba(x, y)[1], model.learn_proba(x, y)[1])
    sections = modelfile.read(tmp_path / "model")
    sections["estimator"]["fitted"]["class_weight_in"] = "nowhere"
    modelfile.write(tmp_path / "model", sections)
    with pytest.raises(ModelFileError, match="class_weight_in"):
        nolana.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["balanced", "dict"])
def test_files_of_02_continue_as_they_were_learned(name, tmp_path):
    """Their models have learned the weights: scores are not shifted, rows still count by their class."""
    x = np.round((np.arange(1, 1201).reshape(600, 2) * 0.6180339887498949) % 2 - 1, 6)
    y = np.where(x[:, 0] > 0.9, "rare", np.where(x[:, 1] > 0, "a", "b"))
    expected = json.loads((V02 / f"{name}.json").read_text())
    model = nolana.load(V02 / f"{name}.safetensors")
    assert np.allclose(model.decision_function(x[400:450]), expected["decision"], rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "again")
    for each in (model, nolana.load(tmp_path / "again")):
        assert np.allclose(each.learn(x[400:], y[400:]), expected["learn"], rtol=1e-7, atol=1e-7)
    assert model._targets.weighs_steps
    assert not model.fit(x, y)._targets.weighs_steps


def test_parts_with_integer_weights_are_merged_after_a_file(tmp_path):
    """Files have weights as floats."""
    x, y = rare(0.3, 0, 300)
    base = StreamClassifier(random_state=0, class_weight={0: 1, 1: 5}).partial_fit(x[:200], y[:200])
    part = base.split(1)[0].partial_fit(x[200:], y[200:])
    part.save(tmp_path / "part")
    merged = nolana.merge([nolana.load(tmp_path / "part")], base=base)
    assert np.array_equal(merged.scores(x), nolana.merge([part]).scores(x))
