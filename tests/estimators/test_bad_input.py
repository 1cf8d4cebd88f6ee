"""A bad row rejects the whole call and leaves the learner bit for bit as it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from conftest import same_state
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)
T = X[:, 0] * 2


def learned(kind):
    model = kind(n_landmarks=9)
    model.partial_fit(X, T if kind is NolanaRegressor else Y) if kind is not OnlineNystroem else model.partial_fit(X)
    return model


def snapshot(model):
    own = {k: v for k, v in vars(model).items() if k.endswith("_")}
    return model._learner.state(), {k: np.copy(v) for k, v in own.items()}


def unchanged(model, before):
    state, own = snapshot(model)
    return (
        same_state(state, before[0])
        and own.keys() == before[1].keys()
        and all(np.array_equal(own[k], before[1][k]) for k in own)
    )


def spoiled(value, row=5, column=1):
    x = X[:10].copy()
    x[row, column] = value
    return x


@given(
    kind=st.sampled_from([NolanaClassifier, NolanaRegressor]),
    value=st.sampled_from([np.nan, np.inf, -np.inf, 1e200]),
    row=st.integers(0, 9),
    column=st.integers(0, 2),
    sparse=st.booleans(),
    single=st.booleans(),
)
def test_bad_values_name_their_place(kind, value, row, column, sparse, single):
    model = learned(kind)
    before = snapshot(model)
    x = spoiled(value, row, column)
    y = (T if kind is NolanaRegressor else Y)[:10]
    if single:
        x, y, row = x[row : row + 1], y[row : row + 1], 0
    with pytest.raises(ValueError, match=f"row {row}, column {column}"):
        model.learn(sp.csr_matrix(x) if sparse else x, y)
    assert unchanged(model, before)


CLASSIFIER_CALLS = {
    "too few columns": lambda m: m.learn(X[:, :2], Y),
    "too many columns": lambda m: m.learn(np.c_[X, X], Y),
    "one row too wide": lambda m: m.learn(np.c_[X, X][:1], Y[:1]),
    "one dimension": lambda m: m.learn(X[0], Y[:1]),
    "fit without rows": lambda m: m.fit(X[:0], Y[:0]),
    "a label without a row": lambda m: m.learn(X[:0], Y[:1]),
    "strings": lambda m: m.learn([["a", "b", "c"]], [1]),
    "objects": lambda m: m.learn(np.array([[{}, 1, 2]], dtype=object), [1]),
    "complex": lambda m: m.learn(X + 1j, Y),
    "fewer labels": lambda m: m.learn(X, Y[:-1]),
    "more labels": lambda m: m.learn(X[:1], Y[:2]),
    "NaN label": lambda m: m.learn(X[:2], [0.0, np.nan]),
    "None label": lambda m: m.learn(X[:2], [0, None]),
    "no labels": lambda m: m.learn(X[:2], None),
    "continuous labels": lambda m: m.learn(X[:2], [0.5, 1.5]),
    "labels of another kind": lambda m: m.learn(X[:2], ["a", "b"]),
    "mixed labels": lambda m: m.learn(X[:2], np.array(["a", 1], dtype=object)),
    "label outside classes": lambda m: m.learn(X[:2], [0, 9], classes=[0, 1]),
    "negative weight": lambda m: m.learn(X[:2], Y[:2], sample_weight=[1, -1]),
    "NaN weight": lambda m: m.learn(X[:2], Y[:2], sample_weight=[1, np.nan]),
    "infinite weight": lambda m: m.learn(X[:2], Y[:2], sample_weight=[1, np.inf]),
    "fewer weights": lambda m: m.learn(X[:2], Y[:2], sample_weight=[1.0]),
    "two-dimensional weights": lambda m: m.learn(X[:2], Y[:2], sample_weight=[[1.0], [1.0]]),
}


@pytest.mark.parametrize("name", CLASSIFIER_CALLS)
def test_classifier_refuses(name):
    model = learned(NolanaClassifier)
    before = snapshot(model)
    with pytest.raises((ValueError, TypeError)) as refused:
        CLASSIFIER_CALLS[name](model)
    assert len(str(refused.value)) > 10
    assert unchanged(model, before)


REGRESSOR_CALLS = {
    "NaN target": lambda m: m.learn(X[:2], [0.0, np.nan]),
    "infinite target": lambda m: m.learn(X[:1], np.array([np.inf])),
    "huge target": lambda m: m.learn(X[:1], np.array([1e200])),
    "string target": lambda m: m.learn(X[:2], ["a", "b"]),
    "classes": lambda m: m.learn(X[:2], T[:2], classes=[0, 1]),
    "fewer targets": lambda m: m.learn(X, T[:-1]),
    "two columns of targets": lambda m: m.learn(X[:2], np.zeros((2, 2))),
}


@pytest.mark.parametrize("name", REGRESSOR_CALLS)
def test_regressor_refuses(name):
    model = learned(NolanaRegressor)
    before = snapshot(model)
    centre = (model._targets.total, model._targets.weight)
    with pytest.raises(ValueError, match=r".{10}"):
        REGRESSOR_CALLS[name](model)
    assert unchanged(model, before)
    assert centre == (model._targets.total, model._targets.weight)


def test_the_first_call_refused_is_as_if_it_never_was():
    model = NolanaClassifier()
    for call in (lambda: model.learn(spoiled(np.nan), Y[:10]), lambda: model.learn(X[:10], Y[:9])):
        with pytest.raises(ValueError, match=r"row 5|9 labels"):
            call()
    assert not hasattr(model, "_learner")
    assert not hasattr(model, "classes_")
    model.learn(np.c_[X, X], Y)
    assert model.n_features_in_ == 6


@pytest.mark.parametrize("kind", [NolanaClassifier, NolanaRegressor])
def test_an_own_kernel_that_fails_halfway_changes_nothing(kind):
    """An error out of the user's own code undoes the whole call, also where it is the first."""
    calls = {"left": 10**9}

    def moody(a, b):
        calls["left"] -= 1
        if calls["left"] < 0:
            raise RuntimeError("not today")
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1))

    y = T if kind is NolanaRegressor else Y
    model = kind(n_landmarks=9, kernel=moody)
    calls["left"] = 40
    with pytest.raises(RuntimeError, match="not today"):
        model.learn(X, y)
    assert not hasattr(model, "_learner")
    assert not hasattr(model, "n_features_in_")
    calls["left"] = 10**9
    model.learn(X[:40], y[:40])
    before = snapshot(model)
    calls["left"] = 40
    with pytest.raises(RuntimeError, match="not today"):
        model.learn(X[40:], y[40:] if kind is NolanaRegressor else y[40:] + 5)
    calls["left"] = 10**9
    assert unchanged(model, before)
    assert np.isfinite(model.learn(X[40:41], y[40:41])).all()


def test_zero_row_and_constant_rows_are_fine():
    for kernel in ("rbf", "laplacian", "polynomial", "cosine", "linear"):
        model = NolanaClassifier(kernel=kernel, n_landmarks=5)
        scores = model.learn(np.zeros((50, 3)), np.arange(50) % 2)
        assert np.isfinite(scores[2:]).all(), kernel
        model.learn(X, Y)
        assert np.isfinite(model.decision_function(X)).all(), kernel


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
def test_units_do_not_matter_for_the_median_width(scale):
    a = NolanaClassifier(n_landmarks=9, scale=False).learn(X, Y)
    b = NolanaClassifier(n_landmarks=9, scale=False).learn(X * scale, Y)
    assert np.nanmax(np.abs(a - b)) < 1e-6
