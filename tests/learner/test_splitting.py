"""Cutting a block anywhere changes no bit of any score or of the state."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import HEADS, KERNELS, POLICIES, build_learner, core_builds, same_state
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem


def cut(rows, cuts):
    edges = sorted({0, rows, *(c for c in cuts if 0 < c < rows)})
    return list(itertools.pairwise(edges))


@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(KERNELS),
    head=st.sampled_from(HEADS),
    policy=st.sampled_from(POLICIES),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 7), st.integers(1, 4)),
    threshold=st.sampled_from([0.0, 1.0, np.inf]),
    cuts=st.lists(st.integers(1, 119), max_size=12),
)
def test_core_learner_split_anywhere_is_bit_identical(seed, kernel, head, policy, shape, threshold, cuts):
    rng = np.random.default_rng(seed)
    capacity, features, outputs = shape
    x, y = rng.normal(size=(120, features)), np.sign(rng.normal(size=(120, outputs)))
    weight = rng.choice([0.0, 1.0, 2.0], 120, p=[0.1, 0.7, 0.2])
    for build in core_builds():
        arguments = {"capacity": capacity, "features": features, "outputs": outputs, "threshold": threshold}
        whole, parts = (build_learner(build, kernel, *head, policy, **arguments) for _ in range(2))
        scores = whole.learn(x, y, weight)
        pieces = [parts.learn(x[i:j], y[i:j], weight[i:j]) for i, j in cut(120, cuts)]
        assert np.array_equal(scores, np.concatenate(pieces))
        assert same_state(whole.state(), parts.state())


def own_kernel(a, b):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1))


def named(parameters):
    return ",".join(f"{k}={getattr(v, '__name__', v)}" for k, v in parameters.items()) or "defaults"


SETTINGS = [
    {},
    {"optimizer": "sgd"},
    {"loss": "logistic", "threshold": 0.0},
    {"scale": True},
    {"scale": True, "kernel": "polynomial", "optimizer": "sgd", "learning_rate": 0.01},
    {"kernel": "laplacian", "landmarks": "fixed"},
    {"landmarks": "weighted"},
    {"landmarks": "expiring", "scale": True},
    {"landmarks": "window", "optimizer": "sgd"},
    {"landmarks": "window", "optimizer": "sgd", "solver": "rank2"},
    {"kernel": "linear"},
    {"optimizer": "sgd", "solver": "exact", "threshold": 0.5},
    {"optimizer": "sgd", "solver": "rank2", "rank": 0.8, "threshold": 0.5},
    {"optimizer": "sgd", "solver": "randomized", "rank": 0.8, "refit": "paper", "threshold": 0.5},
    {"optimizer": "sgd", "refit": "paper", "threshold": 0.5},
    {"kernel": own_kernel},
]


@pytest.mark.parametrize("parameters", SETTINGS, ids=named)
def test_classifier_split_anywhere_is_bit_identical(parameters, stream):
    x, y = stream
    x, y = x[:250], y[:250] + 3 * (np.arange(250) > 120)  # new classes halfway
    for seed in range(3):
        cuts = np.random.default_rng(seed).integers(1, 250, 6).tolist() + ([1, 2, 3, 4, 5] if seed else [])
        whole, parts = (NolanaClassifier(n_landmarks=15, **parameters) for _ in range(2))
        scores = whole.learn(x, y)
        pieces = [(parts.learn(x[i:j], y[i:j]), parts.classes_) for i, j in cut(250, cuts)]
        assert list(whole.classes_) == list(parts.classes_)
        for (i, j), (piece, known) in zip(cut(250, cuts), pieces, strict=True):
            columns = np.isin(whole.classes_, known)
            assert np.array_equal(scores[i:j, columns], piece, equal_nan=True)
            assert np.isneginf(scores[i:j, ~columns]).all()
        assert same_state(whole._learner.state(), parts._learner.state())


@pytest.mark.parametrize(
    "parameters", [*SETTINGS[3:5], {}, {"optimizer": "sgd", "loss": "epsilon_insensitive"}], ids=named
)
@pytest.mark.parametrize("center", [True, False])
def test_regressor_split_anywhere_is_bit_identical(parameters, center, stream):
    x, _ = stream
    y = 3 + x[:, 0] * x[:, 1]
    whole, parts = (NolanaRegressor(n_landmarks=15, center=center, **parameters) for _ in range(2))
    scores = whole.learn(x, y)
    pieces = [parts.learn(x[i:j], y[i:j]) for i, j in cut(600, [1, 2, 3, 10, 11, 99, 300, 301, 512])]
    assert np.array_equal(scores, np.concatenate(pieces))
    assert np.array_equal(whole.predict(x), parts.predict(x))
    assert same_state(whole._learner.state(), parts._learner.state())


def test_transformer_split_anywhere_is_bit_identical(stream):
    x, _ = stream
    whole, parts = OnlineNystroem(n_landmarks=20).partial_fit(x), OnlineNystroem(n_landmarks=20)
    for i, j in cut(600, [1, 5, 6, 77, 400]):
        parts.partial_fit(x[i:j])
    assert np.array_equal(whole.transform(x), parts.transform(x))


@pytest.mark.parametrize("policy", POLICIES)
def test_split_anywhere_with_free_landmarks_is_bit_identical(policy, rng):
    """The threshold is estimated at 4 m rows and at later doublings, wherever the cuts are."""
    x = rng.uniform(size=(700, 2))
    y = np.sin(6 * x[:, 0]) * x[:, 1]
    whole, parts = (NolanaRegressor(n_landmarks=60, landmarks=policy) for _ in range(2))
    scores = whole.learn(x, y)
    pieces = [parts.learn(x[i:j], y[i:j]) for i, j in cut(700, [1, 3, 64, 239, 240, 255, 257, 400, 511, 513, 600])]
    assert np.array_equal(scores, np.concatenate(pieces))
    assert same_state(whole._learner.state(), parts._learner.state())
    assert len(whole.landmarks_) < 60
    assert np.isfinite(whole.threshold_)


def test_single_rows_equal_one_block(stream):
    """The fast path for single rows and the general path are the same learner."""
    x, y = stream
    one, block = NolanaClassifier(n_landmarks=20), NolanaClassifier(n_landmarks=20)
    rows = [(one.learn(x[i : i + 1], y[i : i + 1]), one.classes_) for i in range(len(x))]
    scores = block.learn(x, y)
    for i, (row, known) in enumerate(rows):
        assert np.array_equal(scores[i, np.isin(block.classes_, known)], row[0], equal_nan=True)
    assert same_state(one._learner.state(), block._learner.state())


def test_export_and_restore_continue_bit_for_bit(stream):
    x, y = stream
    for build in core_builds():
        for head in HEADS:
            first = build_learner(build, "rbf", *head, capacity=17, features=4)
            second = build_learner(build, "rbf", *head, capacity=17, features=4)
            targets = np.where(y > 0, 1.0, -1.0)[:, None]
            first.learn(x[:301], targets[:301])
            second.restore(first.state())
            assert np.array_equal(first.learn(x[301:], targets[301:]), second.learn(x[301:], targets[301:]))
            assert same_state(first.state(), second.state())
