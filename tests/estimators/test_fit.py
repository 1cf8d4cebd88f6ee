"""fit of StreamClassifier and StreamRegressor: any order of the rows, and passes that do not deceive the stack."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

import nolana
from conftest import same_state
from nolana import StreamClassifier, StreamRegressor
from nolana.engine import Stack
from nolana.estimators import stream


def noisy(n, seed=0):
    """A linear boundary that explains little: the best possible accuracy is about 68 %."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    return x, (x[:, 0] + 0.5 * x[:, 1] + 2 * rng.normal(size=n) > 0).astype(int)


# Order


def test_fit_of_iris_which_is_sorted_by_class_scores_93_per_cent():
    x, y = load_iris(return_X_y=True)
    assert StreamClassifier(random_state=0).fit(x, y).score(x, y) >= 0.93
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(StreamClassifier(random_state=0), x, y, cv=folds).mean() >= 0.93


@pytest.mark.parametrize("order", ["class", "feature", "random"])
def test_fit_of_sorted_rows_scores_as_of_shuffled_ones(order):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 2))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)
    rows = {"class": np.argsort(y), "feature": np.argsort(x[:, 0]), "random": rng.permutation(3000)}[order]
    test = rng.uniform(-1, 1, (2000, 2))
    model = StreamClassifier(random_state=0).fit(x[rows], y[rows])
    assert model.score(test, (test[:, 0] > 0) ^ (test[:, 1] > 0)) > 0.97


def test_fit_with_the_same_seed_is_the_same():
    x, y = noisy(700)
    first, second = (StreamClassifier(random_state=3).fit(x, y) for _ in range(2))
    other = StreamClassifier(random_state=4).fit(x, y)
    assert same_state(first._learner.state(), second._learner.state())
    assert not np.array_equal(first.decision_function(x), other.decision_function(x))


@pytest.mark.parametrize("kind", [StreamClassifier, StreamRegressor])
def test_fit_without_shuffle_is_learn(kind):
    x, y = noisy(700)
    y = y if kind is StreamClassifier else x[:, 0] + y
    fitted, learned = kind(random_state=0, shuffle=False).fit(x, y), kind(random_state=0)
    learned.learn(x, y)
    assert fitted.n_iter_ == 1
    assert same_state(fitted._learner.state(), learned._learner.state())


# Passes


def test_passes_depend_on_the_rows_and_are_reported(monkeypatch):
    monkeypatch.setattr(stream, "TWO_PASSES", 50)
    x, y = noisy(51)
    assert StreamClassifier().fit(x[:50], y[:50]).n_iter_ == 2
    assert StreamClassifier().fit(x, y).n_iter_ == 1
    assert StreamClassifier(shuffle=False).fit(x[:50], y[:50]).n_iter_ == 1
    model = StreamClassifier(max_iter=3).fit(x, y)
    assert (model.n_iter_, model.n_rows_) == (3, 153)
    for wrong in (0, -1, 1.5, "two"):
        with pytest.raises(ValueError, match="max_iter"):
            StreamClassifier(max_iter=wrong).fit(x, y)


@pytest.mark.parametrize("kind", [StreamClassifier, StreamRegressor])
def test_second_pass_leaves_the_stack_as_it_is_and_teaches_the_experts(kind):
    x, y = noisy(600)
    y = y if kind is StreamClassifier else x[:, 0] + y
    once, twice = (kind(random_state=0, max_iter=n).fit(x, y)._learner.engine.state() for n in (1, 2))
    assert all(np.array_equal(once[name], twice[name]) for name in once if name in Stack.judgement)
    assert not np.array_equal(once["expert0/weights"], twice["expert0/weights"])


def test_rows_after_fit_teach_the_stack_again(tmp_path):
    x, y = noisy(600)
    model = StreamClassifier(random_state=0).fit(x, y)
    before = model._learner.engine.state()["stack_weights"]
    model.save(tmp_path / "model")
    model.partial_fit(x[:100], y[:100])
    assert not np.array_equal(before, model._learner.engine.state()["stack_weights"])
    again = nolana.load(tmp_path / "model").partial_fit(x[:100], y[:100])
    assert same_state(model._learner.state(), again._learner.state())


def test_many_passes_over_noisy_rows_are_not_learned_by_heart():
    """A stack that learns in every pass trusts the neighbours, which know the row: accuracy .566 and log loss 2.5."""
    x, y = noisy(3000, 1)
    train, test = slice(0, 800), slice(800, None)
    model = StreamClassifier(random_state=0, max_iter=5).fit(x[train], y[train])
    p = model.predict_proba(x[test])[np.arange(2200), y[test]]
    assert model.score(x[test], y[test]) > 0.64
    assert -np.log(p).mean() < 0.66


def test_passes_of_a_regressor_keep_r2_and_the_coverage_of_its_intervals():
    x, y = load_diabetes(return_X_y=True)
    r2, covered = [], []
    for learned, held_out in KFold(5, shuffle=True, random_state=0).split(x):
        model = StreamRegressor(random_state=0, max_iter=4).fit(x[learned], y[learned])
        predicted, low, high = model.predict(x[held_out], interval=0.9)
        r2.append(1 - np.mean((predicted - y[held_out]) ** 2) / np.var(y[held_out]))
        covered.append(np.mean((low <= y[held_out]) & (y[held_out] <= high)))
    assert np.mean(r2) > 0.42  # 0.16 with a stack that learns in every pass
    assert np.mean(covered) > 0.84


def test_second_pass_over_several_targets_leaves_each_stack_as_it_is():
    x, _ = noisy(600)
    y = np.stack([x[:, 0], x[:, 1] ** 2], axis=1)
    once, twice = (StreamRegressor(random_state=0, max_iter=n).fit(x, y)._learner for n in (1, 2))
    for first, second in zip(once.parts, twice.parts, strict=True):
        assert np.array_equal(first.engine.state()["stack_weights"], second.engine.state()["stack_weights"])
    assert not twice.repeats
