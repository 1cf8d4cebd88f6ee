"""The squared loss: merged parts are the learner that saw all rows, whatever the parts and the order of merging."""

import copy

import numpy as np
import pytest

import nolana

TOLERANCE = 1e-8  # of the issue; inverting the covariance of 100 landmarks leaves about 1e-10


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def cut(model, k, X, y, seed=0):
    """k parts of unequal sizes, each after its rows."""
    parts = model.split(k)
    at = np.sort(np.random.default_rng(seed).integers(0, len(X), k - 1))
    for part, x, target in zip(parts, np.split(X, at), np.split(y, at), strict=True):
        if len(x):
            part.learn(x, target)
    return parts


def tree(parts):
    """Merges of three, of three, ..., until one is left."""
    while len(parts) > 1:
        parts = [nolana.merge(parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return parts[0]


@pytest.mark.parametrize("k", [2, 8, 32])
@pytest.mark.parametrize("center", [False, True])
def test_merged_equals_one_process_with_fixed_landmarks(k, center):
    X, y = rows(3000)
    model = nolana.NolanaRegressor(
        n_landmarks=100, landmarks="fixed", initial_landmarks=rows(100, seed=1)[0], gamma=0.1, regularization=0.1,
        forgetting=1.0, scale=False, center=center,
    )  # fmt: skip
    model.learn(X[:200], y[:200])
    one = copy.deepcopy(model)
    one.learn(X[200:], y[200:])
    parts = cut(model, k, X[200:], y[200:])
    test = rows(500, seed=2)[0]
    for merged in (nolana.merge(parts), tree(parts), nolana.merge(parts[::-1])):
        assert np.abs(merged.predict(test) - one.predict(test)).max() < TOLERANCE
        assert merged.n_rows_ == 3000


@pytest.mark.parametrize("parameters", [{}, {"landmarks": "expiring", "n_landmarks": 40}, {"kernel": "polynomial"}])
@pytest.mark.parametrize("k", [2, 8, 32])
def test_the_number_of_parts_makes_no_difference(k, parameters):
    """Maps that move, scaling, estimated noise and forgetting: all of it is frozen in parts."""
    X, y = rows(4000)
    model = nolana.NolanaRegressor(**parameters)
    model.learn(X[:1000], y[:1000])
    one, parts = cut(model, 1, X[1000:], y[1000:]), cut(model, k, X[1000:], y[1000:])
    test = rows(500, seed=2)[0]
    wanted = nolana.merge(one).predict(test)
    for merged in (nolana.merge(parts), tree(parts)):
        assert np.abs(merged.predict(test) - wanted).max() < TOLERANCE
    assert np.abs(one[0].predict(test) - wanted).max() < TOLERANCE


def test_merge_of_several_targets_with_weights_and_an_idle_part_is_exact():
    X, y = rows(3000)
    Y, weight = np.column_stack([y, X[:, 3]]), np.random.default_rng(1).uniform(0, 2, 3000)
    model = nolana.NolanaRegressor(n_landmarks=50, regularization=0.1)
    model.learn(X[:1000], Y[:1000])
    one, three = model.split(1), model.split(3)
    one[0].learn(X[1000:], Y[1000:], sample_weight=weight[1000:])
    for part, own in zip(three, (slice(1000, 1200), slice(1200, 3000)), strict=False):
        part.learn(X[own], Y[own], sample_weight=weight[own])
    wanted, merged = nolana.merge(one), nolana.merge(three)
    assert np.abs(merged.predict(X) - wanted.predict(X)).max() < TOLERANCE
    assert merged.n_rows_ == wanted.n_rows_ == 3000


def test_second_merge_after_more_rows_is_exact():
    """A merge learns on with its maps moving, and can be split again."""
    X, y = rows(6000)
    model = nolana.NolanaRegressor(n_landmarks=60)
    model.learn(X[:1000], y[:1000])

    def two_rounds(k):
        first = nolana.merge(cut(model, k, X[1000:3000], y[1000:3000]))
        first.learn(X[3000:3400], y[3000:3400])
        return nolana.merge(cut(first, k, X[3400:], y[3400:]))

    test = rows(500, seed=2)[0]
    one, many = two_rounds(1), two_rounds(8)
    assert one.n_moves_ == many.n_moves_ > model.n_moves_
    # The landmarks moved by the same rows; 1e-10 after the first merge grows in the moves that follow.
    assert np.abs(one.predict(test) - many.predict(test)).max() < 1e-7


def test_merge_with_huber_loss_is_close():
    X, y = rows(4000)
    model = nolana.NolanaRegressor(loss="huber")
    model.learn(X[:1000], y[:1000])
    test, target = rows(500, seed=2)
    one, many = (nolana.merge(cut(model, k, X[1000:], y[1000:])).predict(test) for k in (1, 8))
    assert np.mean((many - target) ** 2) < 1.05 * np.mean((one - target) ** 2)
