"""Noise estimated from the stream, a robust loss, sample weights and class weights of the landmark learner."""

import functools
import itertools
import pickle
import warnings

import numpy as np
import pytest

import nolana
from conftest import same_state
from nolana import NolanaClassifier, NolanaRegressor
from nolana.engine.base.state import pack, unpack
from nolana.errors import DivergenceWarning
from nolana.experts.remap import reweight


def r2(y, predicted):
    return 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)


# Noise


def noisy_linear(seed, n=500):
    """A linear target that explains 15 % of the variance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    signal = x @ rng.normal(size=5)
    return x, signal + rng.normal(size=n) * signal.std() * np.sqrt(1 / 0.15 - 1)


def test_a_noisy_target_is_not_learned_by_heart():
    """-0.53 with a fixed noise; ridge regression has 0.09."""
    scores = [r2(y[10:], NolanaRegressor().learn(x, y)[10:]) for x, y in map(noisy_linear, range(5))]
    assert np.mean(scores) >= 0.02


def test_units_of_the_target_change_nothing():
    x, y = noisy_linear(0)
    plain = NolanaRegressor(n_landmarks=30).learn(x, y)
    other = NolanaRegressor(n_landmarks=30).learn(x, 2.0**20 * y)
    assert np.allclose(other, 2.0**20 * plain, rtol=1e-9, atol=1e-6)
    shifted = NolanaRegressor(n_landmarks=30).learn(x, y + 1024.0)
    assert np.allclose(shifted[1:] - 1024.0, plain[1:], atol=1e-6)  # before the first row the prediction is 0


def test_reweighted_rows_are_ridge_regression_with_another_noise(rng):
    """alpha = (K'K + (n/tau) A)^-1 K'y: learned with n = 0.1, weighed again to n = 0.7."""
    u, x = rng.normal(size=(12, 2)), rng.normal(size=(200, 2))
    k = np.exp(-((x[:, None] - u) ** 2).sum(-1))
    gram = np.exp(-((u[:, None] - u) ** 2).sum(-1))
    a, y, tau = gram + 1e-3 * np.eye(12), rng.normal(size=200), 2.0

    def posterior(n):
        covariance = np.linalg.inv(a / tau + k.T @ k / n)
        return covariance, covariance @ (k.T @ y) / n

    covariance, alpha = posterior(0.1)
    nothing = np.zeros((0, 12))
    state = {"landmarks": u, "ridge": 1e-3, "weights": alpha[None], "covariance": pack(covariance)}
    after = reweight(state | {"waiting_left": nothing, "waiting_right": nothing}, gram, 0.1 / 0.7, tau)
    expected, mean = posterior(0.7)
    assert np.allclose(unpack(after["covariance"]), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert np.allclose(after["weights"][0], mean, rtol=1e-6, atol=1e-6 * np.abs(mean).max())


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("optimizer", ["newton", "sgd"])
def test_splitting_saving_and_constant_targets(loss, optimizer, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1300, 3))
    y = 50 + np.sin(x[:, 0]) + np.where(np.arange(1300) < 300, 0.0, 3 * x[:, 1])
    y[:2] = 7.0  # the first anchor has no deviation
    make = functools.partial(NolanaRegressor, n_landmarks=20, loss=loss, optimizer=optimizer)
    whole, parts = make(), make()
    scores = whole.learn(x, y)
    cuts = [0, 1, 2, 3, 7, 64, 513, 900, 1024, 1300]
    pieces = []
    for start, stop in itertools.pairwise(cuts):
        pieces.append(parts.learn(x[start:stop], y[start:stop]))
        parts.save(tmp_path / "m")
        parts = pickle.loads(pickle.dumps(nolana.load(tmp_path / "m")))
    assert np.array_equal(np.concatenate(pieces), scores)
    assert same_state(whole._learner.state(), parts._learner.state())
    assert np.allclose(make().fit(x[:50], np.full(50, 3.0)).predict(x), 3.0)
    assert np.allclose(make().fit(x[:1], [5.0]).predict(x), 5.0)


# Robust loss


@pytest.mark.parametrize("optimizer", ["newton", "sgd"])
def test_outliers_of_the_target_do_not_matter_to_huber(optimizer):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(5000, 4))
    y = 20 + 3 * np.sin(x[:, 0]) * x[:, 1] + 2 * x[:, 2] + 0.5 * rng.normal(size=5000)
    dirty = np.where(rng.random(5000) < 0.01, y + 1e4, y)
    scores = {
        name: r2(y[1000:], NolanaRegressor(loss="huber", optimizer=optimizer).learn(x, target)[1000:])
        for name, target in {"clean": y, "dirty": dirty}.items()
    }
    assert scores["clean"] >= 0.92
    assert scores["dirty"] >= max(0.88, scores["clean"] - 0.02)


@pytest.mark.parametrize(
    ("parameters", "second"), [({"center": False}, "center"), ({"optimizer": "sgd", "solver": "exact"}, "solver")]
)
def test_what_huber_cannot_be_combined_with(parameters, second):
    x, y = noisy_linear(0, 20)
    with pytest.raises(ValueError, match=f"loss='huber' cannot be combined with {second}="):
        NolanaRegressor(loss="huber", **parameters).fit(x, y)
    with pytest.raises(ValueError, match="loss='huber' is unknown"):
        NolanaClassifier(loss="huber").fit(x, y > 0)


# Weights


def rows(kind, n=1500):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    y = x[:, 0] * x[:, 1]
    return x, y if kind is NolanaRegressor else (y > 0).astype(int)


WEIGHTS = {
    "1e50": lambda n: np.full(n, 1e50),
    "1e-50": lambda n: np.full(n, 1e-50),
    "small, then large": lambda n: np.where(np.arange(n) < n // 2, 1e-50, 1e50),
    "large, then small": lambda n: np.where(np.arange(n) < n // 2, 1e50, 1e-50),
    "mixed": lambda n: np.random.default_rng(1).choice([0.0, 1e-50, 1.0, 1e6, 1e50], n),
}
SETTINGS = {
    "newton": {},
    "sgd": {"optimizer": "sgd"},
    "given regularization": {"regularization": 0.05},
    "logistic": {"loss": "logistic"},
    "logistic, given regularization": {"loss": "logistic", "regularization": 0.05},
    "huber": {"loss": "huber"},
    "epsilon": {"loss": "epsilon_insensitive", "optimizer": "sgd"},
}
LEGAL = [
    (kind, name)
    for kind in (NolanaClassifier, NolanaRegressor)
    for name in SETTINGS
    if name.startswith("logistic") <= (kind is NolanaClassifier)
    and (name in ("huber", "epsilon")) <= (kind is NolanaRegressor)
]


@pytest.mark.parametrize(("kind", "setting"), LEGAL)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_weight_leads_to_nan(kind, setting, weights):
    """Weights beyond 1e50 are refused."""
    x, y = rows(kind, 400)
    model = kind(n_landmarks=20, **SETTINGS[setting])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DivergenceWarning)
        scores = model.learn(x, y, sample_weight=WEIGHTS[weights](400))
        assert np.isfinite(scores[50:]).all()
        predicted = model.predict(x) if kind is NolanaRegressor else model.decision_function(x)
        assert np.isfinite(predicted).all()


@pytest.mark.parametrize(("kind", "setting"), [each for each in LEGAL if "given" not in each[1]])
@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_a_common_factor_of_the_weights_changes_nothing(kind, setting, factor):
    x, y = rows(kind, 400)
    model, weighted = kind(n_landmarks=20, **SETTINGS[setting]), kind(n_landmarks=20, **SETTINGS[setting])
    plain = model.learn(x, y)
    scores = weighted.learn(x, y, sample_weight=np.full(400, factor))
    assert np.allclose(scores, plain, rtol=1e-3, atol=1e-3, equal_nan=True)


def test_a_common_factor_divides_a_given_regularization():
    """With the same effective prior: n/tau over the weight."""
    x, y = rows(NolanaRegressor, 600)
    common = {"n_landmarks": 20, "landmarks": "fixed", "forgetting": 1.0}
    weighted = NolanaRegressor(regularization=0.5, **common)
    plain = NolanaRegressor(regularization=0.005, **common)
    assert np.allclose(weighted.learn(x, y, sample_weight=np.full(600, 100.0)), plain.learn(x, y), atol=1e-6)


# Classes


def test_class_weight_of_the_landmark_learner(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    y = np.where(x[:, 0] + x[:, 1] + rng.normal(size=4000) > 3.2, "rare", "usual")
    recall = {}
    for weight in (None, "balanced", {"rare": 20.0}):
        model = NolanaClassifier(n_landmarks=30, class_weight=weight)
        model.learn(x[:3000], y[:3000])
        model.save(tmp_path / "m")
        model = nolana.load(tmp_path / "m")
        assert model.class_weight == weight
        scores = model.learn(x[3000:], y[3000:])
        predicted = model.classes_[scores.argmax(axis=1)]
        recall[str(weight)] = np.mean(predicted[y[3000:] == "rare"] == "rare")
    assert recall["balanced"] > recall["None"] + 0.2
    assert recall[str({"rare": 20.0})] > recall["None"] + 0.2
    with pytest.raises(ValueError, match="class_weight='even' is neither"):
        NolanaClassifier(class_weight="even").fit(x, y)
