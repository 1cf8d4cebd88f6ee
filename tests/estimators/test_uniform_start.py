"""Probabilities begin uniform: no class that is known has probability 0, and the log loss of every row is bounded."""

import numpy as np
import pytest

import nolana
from nolana import NolanaClassifier, StreamClassifier, rivals
from nolana.estimators.calibration import from_uniform_start
from nolana.evaluate import progressive

CLASSIFIERS = {
    "stream": lambda: StreamClassifier(random_state=0),
    "balanced": lambda: StreamClassifier(random_state=0, class_weight="balanced"),
    "newton": lambda: NolanaClassifier(n_landmarks=15),
    "logistic": lambda: NolanaClassifier(n_landmarks=15, loss="logistic"),
    "sgd": lambda: NolanaClassifier(n_landmarks=15, optimizer="sgd"),
    "FOGD": lambda: rivals.FOGDClassifier(n_components=20, random_state=0),
    "RBP": lambda: rivals.RBPClassifier(budget=10, random_state=0),
}


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, np.array(["a", "b", "c"])[(x[:, 0] > 0).astype(int) + (x[:, 1] > 1)]


def test_start_is_the_estimator_of_krichevsky_and_trofimov_for_shares_of_two_classes():
    counts = np.array([[3.0, 0.0], [2.0, 5.0]])
    rows = counts.sum(axis=1)
    p = from_uniform_start(counts / rows[:, None], np.ones((2, 2), dtype=bool), rows)
    assert np.allclose(p, (counts + 0.5) / (rows[:, None] + 1))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_proba_after_one_row_of_three_announced_classes_is_close_to_uniform(name):
    x, _ = rows_of(9)
    model = CLASSIFIERS[name]().partial_fit(x[:1], ["b"], classes=["a", "b", "c"])
    assert np.allclose(model.predict_proba(x), [[1 / 6, 2 / 3, 1 / 6]] * 9)
    assert model.predict(x).tolist() == ["b"] * 9
    assert np.allclose(model.predict_proba(x[:1]), [[1 / 6, 2 / 3, 1 / 6]])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_proba_of_a_class_alone_is_one(name):
    x, _ = rows_of(9)
    model = CLASSIFIERS[name]().partial_fit(x, ["b"] * 9)
    assert model.predict_proba(x).tolist() == [[1.0]] * 9


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_proba_of_announced_and_of_new_classes_is_bounded_and_sums_to_one(name):
    x, y = rows_of(400)
    model = CLASSIFIERS[name]().partial_fit(x, y, classes=["a", "b", "c", "d"])
    p = model.predict_proba(x)
    assert np.allclose(p[:, 3], 1 / 401 / 4)
    model.partial_fit(x[:1], ["d"]).partial_fit(x[:1], ["e"])
    p = model.predict_proba(x)
    assert np.allclose(p.sum(axis=1), 1)
    assert p.min() >= 1 / 403 / 5 - 1e-15


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("announced", [None, ["a", "b", "c", "d", "z"]], ids=["new", "announced"])
def test_learn_proba_of_a_block_is_predict_proba_before_each_row(name, announced):
    """A class that is neither announced nor seen has probability 0. The first row of a class has an output for it."""
    x, y = rows_of(60)
    y[30] = "z"
    by_row, whole = CLASSIFIERS[name](), CLASSIFIERS[name]()
    _, p = whole.learn_proba(x, y, classes=announced)
    assert np.allclose(p[0], 0.0 if announced is None else 0.2)
    for t in range(60):
        own = y[t : t + 1]
        if t:
            now = dict(zip(by_row.classes_.tolist(), by_row.predict_proba(x[t : t + 1])[0], strict=True))
            here = [own[0]] if own[0] not in y[:t] else whole.classes_.tolist()
            found = p[t, np.searchsorted(whole.classes_, here)]
            assert np.allclose([now.get(label, 0.0) for label in here], found, rtol=1e-12, atol=0)
        by_row.learn(x[t : t + 1], own, classes=announced)


@pytest.mark.parametrize("name", ["stream", "newton", "FOGD"])
def test_log_loss_of_announced_classes_has_its_bound_from_the_first_row_on(name):
    """Every row costs at most log(c (t + 1)), also the first of a class: 36 without the uniform start."""
    x, y = rows_of(300)
    y[200] = "d"

    class Announced:
        def __init__(self):
            self.model = CLASSIFIERS[name]()

        def learn_proba(self, x, y):
            return self.model.learn_proba(x, y, classes=["a", "b", "c", "d"])

        def learn(self, x, y):
            return self.model.learn(x, y, classes=["a", "b", "c", "d"])

        @property
        def classes_(self):
            return self.model.classes_

    losses = []
    model = Announced()
    for t in range(300):
        losses.append(progressive(model, [(x[t : t + 1], y[t : t + 1])], metrics=["log_loss"]).metrics["log_loss"])
    assert losses[0] == pytest.approx(np.log(4))
    assert (np.array(losses) <= np.log(4 * np.arange(1, 301)) + 1e-9).all()


def test_saved_model_has_the_same_probabilities(tmp_path):
    x, y = rows_of(50)
    model = StreamClassifier(random_state=0).partial_fit(x, y, classes=["a", "b", "c", "d"])
    model.save(tmp_path / "model")
    assert np.array_equal(nolana.load(tmp_path / "model").predict_proba(x), model.predict_proba(x))
