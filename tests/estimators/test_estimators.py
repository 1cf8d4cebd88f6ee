"""The estimators as their users meet them."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import same_state
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, StreamClassifier, StreamRegressor
from sklearn_checks import checks_of, gap_between_weights_and_repetition

ESTIMATORS = [
    NolanaClassifier(),
    NolanaClassifier(loss="logistic"),
    NolanaRegressor(),
    StreamClassifier(random_state=0),
    StreamRegressor(random_state=0),
]


@checks_of([*ESTIMATORS, OnlineNystroem()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_weight_is_nearly_a_repetition(estimator):
    assert abs(gap_between_weights_and_repetition(estimator)) < 0.02  # measured: 0.000 to 0.005


def test_scores_are_by_sorted_classes(rng):
    x = rng.normal(size=(6, 2))
    model = NolanaClassifier(n_landmarks=4)
    scores = model.learn(x, ["c", "c", "b", "c", "d", "b"])
    assert model.classes_.tolist() == ["b", "c", "d"]
    assert scores.shape == (6, 3)
    known = ~np.isneginf(scores)
    assert known.tolist() == [
        [False, False, False],
        [False, True, False],
        [False, True, False],
        [True, True, False],
        [True, True, False],
        [True, True, True],
    ]
    assert np.array_equal(scores[3, 0], -scores[3, 1])
    before = model.decision_function(x)
    scores = model.learn(x[:1], ["a"])  # takes the first place
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert np.isneginf(scores[0, 0])
    assert np.allclose(scores[0, 1:], before[0])


def test_announced_classes_fix_their_columns_only(rng):
    x = rng.normal(size=(30, 2))
    model = NolanaClassifier(n_landmarks=8)
    scores = model.learn(x, np.tile([2, 0], 15), classes=[2, 1, 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert scores.shape == (30, 3)
    assert np.isneginf(scores[:, 1]).all()
    assert np.isneginf(model.decision_function(x)[:, 1]).all()
    assert 1 not in model.predict(x)
    before = model.decision_function(x)
    model.learn(x[:1], [1])
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.decision_function(x)).all()
    assert np.allclose(model.decision_function(x[5:])[:, [0, 2]], before[5:][:, [0, 2]], atol=1.0)


def test_third_class_leaves_the_two_as_they_were(rng):
    """-f, f and a new one: the row that brings the third class finds the others' scores unchanged."""
    x = rng.normal(size=(50, 2))
    y = (x[:, 0] > 0).astype(int)
    model = NolanaClassifier(n_landmarks=10, threshold=np.inf).partial_fit(x, y)
    f = model.decision_function(x[:1])
    scores = model.learn(x[:1], [7])
    assert np.array_equal(scores[0, :2], [-f[0], f[0]])
    assert np.isneginf(scores[0, 2])


def test_two_classes_positive_means_the_second(rng):
    x = rng.normal(size=(200, 2))
    y = np.where(x[:, 0] > 0, "yes", "no")
    y[:3] = "yes"
    for announce in (None, ["no", "yes"], ["yes", "no"]):
        model = NolanaClassifier(n_landmarks=20).partial_fit(x, y, classes=announce)
        f = model.decision_function(x)
        assert f.shape == (200,)
        assert np.array_equal(model.predict(x) == model.classes_[1], f > 0)
        assert model.score(x, y) > 0.9
    assert NolanaClassifier().fit(x, y).classes_.tolist() == ["no", "yes"]


def test_one_class_seen(rng):
    x = rng.normal(size=(5, 2))
    model = NolanaClassifier(loss="logistic").partial_fit(x, [3] * 5, classes=[3, 4])
    assert model.predict(x).tolist() == [3] * 5
    assert np.allclose(model.predict_proba(x), [[5.5 / 6, 0.5 / 6]] * 5)
    alone = NolanaClassifier(loss="logistic").partial_fit(x, ["only"] * 5)
    assert alone.predict(x).tolist() == ["only"] * 5
    assert alone.predict_proba(x).tolist() == [[1.0]] * 5
    assert alone.learn(x, ["only"] * 5).shape == (5, 1)


def test_probabilities_of_the_logistic_loss_are_its_own(rng):
    x = rng.normal(size=(400, 2))
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    assert not hasattr(NolanaClassifier(), "probabilities")
    model = NolanaClassifier(loss="logistic", n_landmarks=30).partial_fit(x, y)
    p = model.predict_proba(x)
    assert np.allclose(p.sum(axis=1), 1)
    assert (p >= 0).all()
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))
    two = NolanaClassifier(loss="logistic", n_landmarks=30).partial_fit(x, y > 0)
    own = 1 / (1 + np.exp(-two.decision_function(x)))
    assert np.allclose(two.predict_proba(x)[:, 1], (400 * own + 0.5) / 401)
    assert np.allclose(two.predict_log_proba(x), np.log(two.predict_proba(x)))


@pytest.mark.parametrize("kind", [NolanaClassifier, NolanaRegressor, OnlineNystroem])
def test_nothing_learned_yet(kind, rng):
    x = rng.normal(size=(3, 2))
    verb = kind.transform if kind is OnlineNystroem else kind.predict
    with pytest.raises(NotFittedError):
        verb(kind(), x)
    for name in ("n_rows_", "n_moves_", "landmarks_", "counts_", "memory_bytes_"):
        assert not hasattr(kind(), name)


def test_what_is_told_of_the_model(stream):
    x, y = stream
    model = NolanaClassifier(n_landmarks=25, threshold=0.0).partial_fit(x, y)
    assert model.n_rows_ == 600
    assert model.landmarks_.shape == (25, 4)
    assert model.counts_.sum() == 25 + model.n_moves_
    assert 0 < model.n_moves_ <= 575
    assert model.n_features_in_ == 4
    assert isinstance(model.memory_bytes_, int)
    assert NolanaClassifier(n_landmarks=25, threshold=np.inf).partial_fit(x, y).n_moves_ == 0


def test_threshold_zero_moves_at_every_row(stream):
    x, y = stream
    u = np.random.default_rng(5).normal(size=(10, 4))
    for parameters in ({}, {"optimizer": "sgd", "solver": "randomized"}):
        model = NolanaClassifier(n_landmarks=10, threshold=0.0, initial_landmarks=u, **parameters)
        assert model.partial_fit(x[:200], y[:200]).n_moves_ == 200
        assert model.counts_.sum() == 210


def as_inputs(x):
    yield np.asfortranarray(x)
    yield x.tolist()
    yield sp.csr_matrix(x)
    yield sp.csr_array(x)
    yield sp.csc_matrix(x)
    yield x.astype(object)
    frozen = x.copy()
    frozen.flags.writeable = False
    yield frozen
    yield np.repeat(x, 2, axis=0)[::2]


def test_inputs_of_every_kind_are_the_same_rows(stream):
    x, y = stream
    x = np.where(np.abs(x) < 0.5, 0.0, x)
    plain = NolanaClassifier(n_landmarks=15).learn(x, y)
    for same in as_inputs(x):
        model = NolanaClassifier(n_landmarks=15)
        assert np.array_equal(model.learn(same, y), plain, equal_nan=True)
        assert np.array_equal(model.decision_function(same), model.decision_function(x))
    single = x.astype(np.float32)
    assert np.array_equal(
        NolanaClassifier(n_landmarks=15).learn(single, y),
        NolanaClassifier(n_landmarks=15).learn(single.astype(np.float64), y),
        equal_nan=True,
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(frame, stream):
    x, y = stream
    columns = {f"f{i}": x[:, i] for i in range(4)}
    model = NolanaClassifier(n_landmarks=15)
    scores = model.learn(frame(columns), y)
    assert np.array_equal(scores, NolanaClassifier(n_landmarks=15).learn(x, y), equal_nan=True)
    assert model.feature_names_in_.tolist() == list(columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({name: columns[name] for name in reversed(list(columns))}))
    with pytest.raises(ValueError, match="feature names"):
        model.learn(frame({name: columns[name][:1] for name in reversed(list(columns))}), y[:1])
    labels = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    assert np.array_equal(NolanaClassifier(n_landmarks=15).learn(frame(columns), labels), scores, equal_nan=True)


def test_weights(stream):
    x, y = stream
    keep = np.random.default_rng(0).random(600) < 0.7
    weighted = NolanaClassifier(n_landmarks=15).partial_fit(x, y, sample_weight=keep.astype(float))
    dropped = NolanaClassifier(n_landmarks=15).partial_fit(x[keep], y[keep])
    assert same_state(weighted._learner.state(), dropped._learner.state())
    assert weighted.n_rows_ == keep.sum()
    ones = NolanaClassifier(n_landmarks=15).partial_fit(x, y, sample_weight=np.ones(600))
    assert same_state(ones._learner.state(), NolanaClassifier(n_landmarks=15).partial_fit(x, y)._learner.state())


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"optimizer": "sgd"},
        {"scale": True},
        {"optimizer": "sgd", "solver": "exact"},
        {"optimizer": "sgd", "refit": "paper"},
    ],
    ids=str,
)
def test_pickle_and_copy_continue_bit_for_bit(parameters, stream):
    x, y = stream
    model = NolanaClassifier(n_landmarks=12, **parameters).partial_fit(x[:301], y[:301])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    scores = model.learn(x[301:], y[301:])
    for twin in twins:
        assert np.array_equal(twin.learn(x[301:], y[301:]), scores, equal_nan=True)
        assert same_state(twin._learner.state(), model._learner.state())


def test_parameters_set_between_calls_are_refused_until_the_next_fit(stream):
    """A changed learner predicts as before, also through a pickle; it learns again once it is fitted."""
    x, y = stream
    model = NolanaClassifier(n_landmarks=12).partial_fit(x[:301], y[:301])
    before = model.decision_function(x)
    model.set_params(n_landmarks=5, kernel="linear")
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.decision_function(x), before)
    for each in (model, twin):
        with pytest.raises(ValueError, match="cannot change while it learns"):
            each.learn(x[301:], y[301:])
    twin.set_params(n_landmarks=12, kernel="rbf")
    assert np.array_equal(twin.decision_function(x), before)
    assert len(twin.learn(x[301:], y[301:])) == len(x) - 301
    assert len(model.fit(x, y).landmarks_) <= 5


def test_fit_forgets_and_epochs_repeat(stream):
    x, y = stream
    model = NolanaClassifier(n_landmarks=15, max_iter=2).partial_fit(x, y)
    model.fit(x, y)
    twice = NolanaClassifier(n_landmarks=15, keep_growing=True)  # the rows of fit may be sorted
    twice.partial_fit(x, y, classes=np.unique(y)).partial_fit(x, y)
    assert model.n_iter_ == 2
    assert model.n_rows_ == 1200
    assert same_state(model._learner.state(), twice._learner.state())
    a, b = (NolanaClassifier(n_landmarks=15, shuffle=True, random_state=3).fit(x, y) for _ in range(2))
    assert same_state(a._learner.state(), b._learner.state())


def test_in_a_pipeline(stream):
    x, y = stream
    assert cross_val_score(make_pipeline(StandardScaler(), NolanaClassifier(n_landmarks=50)), x, y, cv=3).mean() > 0.75


def test_regressor_follows_a_curve_around_its_mean(rng):
    x = rng.uniform(-3, 3, (3000, 1))
    y = 1000 + np.sin(x[:, 0])
    model = NolanaRegressor(n_landmarks=30)
    scores = model.learn(x, y)
    assert scores.shape == (3000,)
    assert scores[0] == 0.0
    assert np.sqrt(np.mean((scores[1500:] - y[1500:]) ** 2)) < 0.05
    assert model.predict(np.array([[1e6]]))[0] == pytest.approx(1000, abs=1)
    single = [model.learn(x[i : i + 1], y[i : i + 1]) for i in range(3)]
    assert all(s.shape == (1,) for s in single)


def test_epsilon_insensitive(rng):
    x = rng.uniform(-3, 3, (5000, 1))
    y = 5 + np.sin(x[:, 0])
    model = NolanaRegressor(
        n_landmarks=20, optimizer="sgd", loss="epsilon_insensitive", epsilon=0.05, learning_rate=0.1
    )
    scores = model.learn(x, y)
    assert np.abs(scores[3000:] - y[3000:]).mean() < 0.15


def test_scaling_inside_makes_units_irrelevant(rng):
    """With scale=True a feature in other units changes next to nothing, and early scores see no later row."""
    x = rng.normal(size=(1500, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    units = np.array([1e6, 1e-3, 1.0])

    def accuracy(rows, **parameters):
        model = NolanaClassifier(n_landmarks=40, **parameters)
        scores = model.learn(rows, y)[500:]
        return (model.classes_[scores.argmax(axis=1)] == y[500:]).mean()

    assert accuracy(x * units, scale=True) > 0.85
    assert accuracy(x * units, scale=False) < 0.75
    model = NolanaClassifier(n_landmarks=40, scale=True).partial_fit(x * units, y)
    assert np.abs(model.landmarks_ / units).max() < 6
    future = x.copy()
    future[800:] *= 50
    a = NolanaClassifier(n_landmarks=40, scale=True).learn(x, y)[:800]
    b = NolanaClassifier(n_landmarks=40, scale=True).learn(future, y)[:800]
    assert np.array_equal(a, b, equal_nan=True)


def test_own_kernel_and_own_policy(stream):
    x, y = stream

    def laplace(a, b):
        return np.exp(-0.5 * np.abs(a[:, None] - b[None]).sum(-1))

    own = NolanaClassifier(n_landmarks=15, kernel=laplace, threshold=1.0).learn(x, y)
    named = NolanaClassifier(n_landmarks=15, kernel="laplacian", gamma=0.5, threshold=1.0).learn(x, y)
    assert np.nanmax(np.abs(own - named)) < 1e-6

    class Oldest:
        """Every hundredth row takes the place of the least visited landmark."""

        def propose(self, x, distances, landmarks, counts, threshold):
            from nolana.experts.spectral import Proposal

            return Proposal(int(counts.argmin()), x, counts.max() + 1) if distances.min() > 4.0 else None

    model = NolanaClassifier(n_landmarks=15, landmarks=Oldest(), gamma=0.3).partial_fit(x, y)
    assert model.n_moves_ > 0
    assert model.score(x, y) > 0.7


def test_a_kernel_that_returns_nonsense_is_named(stream):
    x, y = stream
    with pytest.raises(ValueError, match="kernel: the callable must return"):
        NolanaClassifier(kernel=lambda a, b: np.zeros(3)).learn(x, y)


def test_map_reproduces_the_kernel_on_its_landmarks(stream):
    x, _ = stream
    for solver in ("inverse", "exact"):
        model = OnlineNystroem(n_landmarks=20, rank=20, ridge=0, gamma=0.3, solver=solver, scale=False)
        model.partial_fit(x)
        u = model.landmarks_
        phi = model.transform(u)
        assert np.allclose(phi @ phi.T, np.exp(-0.3 * ((u[:, None] - u[None]) ** 2).sum(-1)), atol=1e-8)


def test_map_of_constant_width(stream):
    x, _ = stream
    model = OnlineNystroem(n_landmarks=30, rank=0.5).partial_fit(x[:4])
    first = model.transform(x)
    assert first.shape == (600, 15)
    assert (first[:, 4:] == 0).all()
    assert model.partial_fit(x).transform(x).shape == (600, 15)
    assert model.get_feature_names_out()[0] == "onlinenystroem0"
    assert OnlineNystroem(n_landmarks=7).fit_transform(x).shape == (600, 7)
    errors = [OnlineNystroem(n_landmarks=m, random_state=0).partial_fit(x).approximation_error(x) for m in (5, 20, 80)]
    assert errors[0] > errors[1] > errors[2]
