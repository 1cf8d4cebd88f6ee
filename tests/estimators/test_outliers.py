"""One outlier must not spoil the scale of a feature: scale=True against the same stream without it."""

import functools

import numpy as np
import pytest

from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, rivals

POINT = 0.01
LAST = 1000
MODELS = {
    "classifier": lambda: NolanaClassifier(scale=True),
    "sgd": lambda: NolanaClassifier(scale=True, optimizer="sgd"),
    "regressor": lambda: NolanaRegressor(scale=True),
    "NOGD": lambda: rivals.NOGDClassifier(scale=True),
    "FOGD": lambda: rivals.FOGDClassifier(scale=True, random_state=0),
}


def xor(n=20_000):
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


def accuracy(name, x):
    """Of the last rows, predicted before they were learned."""
    _, y = xor()
    model = MODELS[name]()
    scores = np.concatenate([model.learn(x[i : i + LAST], y[i : i + LAST]) for i in range(0, len(x), LAST)])[-LAST:]
    predicted = scores > 0.5 if scores.ndim == 1 else model.classes_[scores.argmax(axis=1)]
    return float(np.mean(predicted == y[-LAST:]))


clean = functools.cache(lambda name: accuracy(name, xor()[0]))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cell", [-9999.0, 1e6])
@pytest.mark.parametrize("row", [3, 50, 1000])
def test_one_outlier_costs_nothing(name, cell, row):
    x, _ = xor()
    x[row, 0] = cell
    assert accuracy(name, x) >= clean(name) - POINT


@pytest.mark.parametrize("name", [name for name in MODELS if name != "sgd"])  # follows each outlier by a long step
def test_outliers_in_one_cell_of_500_cost_nothing(name):
    """A row with such a cell cannot be learned: two rows of a thousand cost at most a fifth of a point more."""
    x, _ = xor()
    x[np.random.default_rng(1).random(x.shape) < 0.002] = -9999.0
    assert accuracy(name, x) >= clean(name) - POINT - 0.002


def test_landmarks_are_in_the_units_of_the_input():
    """At rows before the first anchor exactly, later to rounding; beyond one deviation through the logarithm."""
    rng = np.random.default_rng(0)
    x = rng.normal([100.0, -3.0], [20.0, 0.1], size=(700, 2))
    for n in (1, 2, 3, 5, 600):
        model = OnlineNystroem(n_landmarks=20, landmarks="fixed", scale=True).partial_fit(x[:n])
        distance = np.abs(model.landmarks_[:, None] / [20.0, 0.1] - x[None, :n] / [20.0, 0.1]).max(axis=2).min(axis=1)
        assert np.allclose(distance, 0, atol=1e-9)


def test_a_constant_feature_has_its_value():
    x = np.column_stack([np.random.default_rng(0).normal(size=300), np.full(300, 7.0)])
    model = NolanaClassifier(n_landmarks=10, scale=True).partial_fit(x, x[:, 0] > 0)
    assert np.allclose(model.landmarks_[:, 1], 7.0)
