"""A parameter of the learner that was changed after learning began is reported, not ignored."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, StreamClassifier, StreamRegressor, experts, rivals

METHODS = rivals.catalogue().values()
EVERY = [
    (NolanaClassifier, {"n_landmarks": 7}),
    (NolanaRegressor, {"regularization": 0.5}),
    (OnlineNystroem, {"gamma": 3.0}),
    (StreamClassifier, {"memory": "64KB"}),
    (StreamRegressor, {"experts": [experts.Landmarks()]}),
    *((kind, {"gamma": 0.123}) for m in METHODS for kind in (m.classifier, m.regressor) if kind is not None),
]


def data(kind, n=40):
    x = np.random.default_rng(0).normal(size=(n, 3))
    return x, x[:, 0] if "Regressor" in kind.__name__ else (x[:, 0] > 0).astype(int)


def learn(model, x, y):
    return model.partial_fit(x) if isinstance(model, OnlineNystroem) else model.partial_fit(x, y)


@pytest.mark.parametrize(("kind", "change"), EVERY, ids=[kind.__name__ for kind, _ in EVERY])
def test_a_changed_parameter_is_an_error_until_fit(kind, change):
    x, y = data(kind)
    ((name, value),) = change.items()
    model = learn(kind(), x, y)
    before = model.get_params()[name]
    model.set_params(**change)
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for each in [model, *copies]:
        for rows in (slice(0, 1), slice(None)):
            with pytest.raises(ValueError, match=f"^{name}=.* cannot change while it learns. Call fit") as caught:
                learn(each, x[rows], y[rows])
            assert repr(value) in str(caught.value)
            assert repr(before) in str(caught.value)
    assert model.n_rows_ == 40 * getattr(model, "n_iter_", 1)  # each pass counts
    learn(model.set_params(**{name: before}), x[:1], y[:1])
    assert model.n_rows_ == 41
    model.set_params(**change)
    model.fit(x) if kind is OnlineNystroem else model.fit(x, y)
    assert model.n_rows_ == 40 * getattr(model, "n_iter_", 1)  # each pass counts
    learn(model, x, y)
    learn(clone(model), x, y)


@pytest.mark.parametrize("kind", [NolanaClassifier, StreamClassifier, rivals.PassiveAggressiveClassifier])
def test_parameters_of_fit_alone_may_change(kind):
    x, y = data(kind)
    model = kind().partial_fit(x, y).set_params(max_iter=3, shuffle=True)
    if kind is StreamClassifier:
        model.set_params(class_weight="balanced")
        model.on_drift = print
    else:
        model.set_params(random_state=3)
    model.learn(x[:1], y[:1])
    model.partial_fit(x, y)
    assert model.n_rows_ == 81


def test_the_seed_of_a_learner_that_draws_cannot_change():
    for kind in (StreamClassifier, rivals.FOGDClassifier):
        x, y = data(kind)
        model = kind(random_state=0).partial_fit(x, y)
        with pytest.raises(ValueError, match="random_state=1 was 0"):
            model.set_params(random_state=1).partial_fit(x, y)


def test_equal_values_and_arrays_are_the_same():
    x, y = data(NolanaClassifier)
    model = NolanaClassifier(n_landmarks=5, initial_landmarks=x[:5]).partial_fit(x, y)
    model.set_params(n_landmarks=5.0, initial_landmarks=x[:5].copy()).partial_fit(x, y)
    with pytest.raises(ValueError, match="initial_landmarks="):
        model.set_params(initial_landmarks=x[5:10]).partial_fit(x, y)


def test_an_attribute_that_was_assigned_counts_too():
    x, y = data(NolanaClassifier)
    model = NolanaClassifier().partial_fit(x, y)
    model.learn(x[:1], y[:1])
    model.n_landmarks = 5
    with pytest.raises(ValueError, match="n_landmarks=5 was 100"):
        model.learn(x[:1], y[:1])
