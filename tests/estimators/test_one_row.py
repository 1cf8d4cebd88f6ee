"""A single plain row takes a shorter path through predict and predict_proba; the result is the same to the bit."""

import numpy as np
import pytest

from nolana import NolanaClassifier, NolanaRegressor, StreamClassifier, StreamRegressor
from nolana.estimators._sklearn import NotFittedError

CLASSIFIERS = [
    StreamClassifier(memory="32KB", random_state=0),
    NolanaClassifier(n_landmarks=10),
    NolanaClassifier(n_landmarks=10, loss="logistic"),
]


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_a_classifier(model, classes, announced, rng):
    model = type(model)(**model.get_params())
    X, y = rng.normal(size=(200, 3)), rng.integers(0, classes, 200)
    model.learn(X, y, classes=[0, 1, 2, 3] if announced else None)
    labels, probabilities = model.predict(X), model.predict_proba(X)
    for i in range(0, 200, 7):
        assert model.predict(X[i : i + 1]).tolist() == labels[i : i + 1].tolist()
        np.testing.assert_array_equal(model.predict_proba(X[i : i + 1]), probabilities[i : i + 1])


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize(
    "model", [StreamRegressor(memory="64KB", random_state=0), NolanaRegressor(n_landmarks=10)], ids=repr
)
def test_a_regressor(model, targets, rng):
    model = type(model)(**model.get_params())
    X = rng.normal(size=(200, 3))
    model.learn(X, X[:, 0] if targets == 1 else X[:, :2])
    expected = model.predict(X)
    for i in range(0, 200, 7):
        np.testing.assert_array_equal(model.predict(X[i : i + 1]), expected[i : i + 1])


def test_the_caller_may_write_into_the_result(rng):
    model, X = StreamClassifier(memory="32KB", random_state=0), rng.normal(size=(50, 2))
    model.learn(X, (X[:, 0] > 0).astype(int))
    model.predict(X[:1])[0] = 7
    assert model.classes_.tolist() == [0, 1]


def test_the_row_is_checked(rng):
    model, X = StreamClassifier(memory="32KB", random_state=0), rng.normal(size=(50, 2))
    with pytest.raises(NotFittedError):
        model.predict(X[:1])
    model.learn(X, X[:, 0] > 0)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match="infinity at row 0, column 1"):
            method(np.array([[1.0, np.inf]]))
        with pytest.raises(ValueError, match="3 features"):
            method(np.zeros((1, 3)))
