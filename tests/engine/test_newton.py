"""The Newton head against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

import nolana.engine as reference
from conftest import build_learner, core_builds
from nolana import NolanaClassifier, NolanaRegressor
from nolana.engine.base.state import unpack


def rbf(x, z, gamma):
    return np.exp(-gamma * ((x[:, None] - z[None]) ** 2).sum(-1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_squared_loss_with_fixed_landmarks_equals_batch_ridge_regression(center, weighted, rng):
    """alpha = (K'OK + (n/tau) A)^-1 K'O y, around the mean of y where it is centred."""
    x, u = rng.normal(size=(500, 3)), rng.normal(size=(25, 3))
    y = 5 + np.sin(x[:, 0]) * x[:, 1] + 0.1 * rng.normal(size=500)
    o = rng.choice([0.0, 0.5, 2.0], 500) if weighted else np.ones(500)
    model = NolanaRegressor(
        n_landmarks=25,
        initial_landmarks=u,
        landmarks="fixed",
        gamma=0.4,
        regularization=0.03,
        ridge=1e-3,
        center=center,
        forgetting=1.0,
        scale=False,
    )
    model.partial_fit(x, y, sample_weight=o)
    mu = (o @ y) / o.sum() if center else 0.0
    k, a = rbf(x, u, 0.4), rbf(u, u, 0.4) + 1e-3 * np.eye(25)
    alpha = np.linalg.solve(k.T @ (o[:, None] * k) + 0.03 * a, k.T @ (o * (y - mu)))
    test = rng.normal(size=(50, 3))
    assert np.allclose(model.predict(test), mu + rbf(test, u, 0.4) @ alpha, atol=1e-7)


@given(y=st.sampled_from([-1.0, 1.0]), f=st.floats(-30, 30), kappa=st.floats(1e-6, 1e6), weight=st.floats(1e-3, 1e3))
def test_logistic_step_solves_its_equation(y, f, kappa, weight):
    pull, curvature = reference.Logistic().proximal(y, f, kappa, weight, 1.0)
    target = (1 + y) / 2

    def excess(r):
        return r - weight * (target - expit(f + kappa * r))

    low, high = sorted((0.0, weight * (target - expit(f))))
    root = brentq(excess, low - 1e-12, high + 1e-12, xtol=1e-15)
    assert pull == pytest.approx(root, rel=1e-6, abs=1e-12)
    s = expit(f + kappa * pull)
    assert curvature == pytest.approx(weight * s * (1 - s), rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_step_is_the_exact_proximal_step(loss, rng):
    """One row from R = tau P: the minimiser of (alpha - alpha0)' R^-1 (alpha - alpha0)/2 + loss / (2 n)."""
    u, x = rng.normal(size=(6, 2)), rng.normal(size=(1, 2))
    learner = build_learner(core_builds()[-1], "rbf", "newton", loss, capacity=6, features=2, novelty=0.0, gamma=1.0)
    learner.learn(u, np.ones((6, 1)))
    state = learner.state()
    p = unpack(state["inverse"])
    state |= {"covariance": state["inverse"].copy(), "weights": np.zeros((1, 6))}
    state |= {"waiting_left": np.zeros((0, 6)), "waiting_right": np.zeros((0, 6)), "threshold": np.inf}
    learner.restore(state)
    learner.learn(x, np.ones((1, 1)))
    k = rbf(x, u, 1.0)[0]
    alpha = p @ k / (0.1 + k @ p @ k)
    assert np.allclose(learner.state()["weights"][0], alpha, rtol=1e-10)


def test_covariance_shrinks_by_the_share_of_active_outputs():
    """When one of four outputs is active, R loses a quarter of an observation."""
    shape = {"capacity": 1, "features": 1, "outputs": 4, "gamma": 1.0, "ridge": 1e-9, "threshold": np.inf}
    for engine in (core_builds()[-1], reference):
        learner = build_learner(engine, **shape)
        learner.learn(np.zeros((1, 1)), np.ones((1, 4)))
        state = learner.state() | {"covariance": np.ones(1), "weights": np.array([[2.0], [2.0], [2.0], [0.0]])}
        state |= {"waiting_left": np.zeros((0, 1)), "waiting_right": np.zeros((0, 1))}
        learner.restore(state)
        learner.learn(np.zeros((1, 1)), np.ones((1, 4)))
        after = learner.state()
        r = after["covariance"][0] + (after["waiting_left"].T @ after["waiting_right"]).sum()
        assert r == pytest.approx(1 - 0.25 / (0.1 + 0.25))


def test_xor_is_learned(rng):
    x = rng.uniform(-1, 1, (4000, 2))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)
    for parameters in ({}, {"loss": "logistic"}, {"optimizer": "sgd", "gamma": 6.0, "learning_rate": 0.5}):
        model = NolanaClassifier(**parameters)
        scores = model.learn(x, y)
        hits = model.classes_[np.where(np.isnan(scores), -np.inf, scores).argmax(1)] == y
        assert hits[1000:].mean() > 0.95, parameters


def test_variance_lost_to_rounding_is_restored():
    """A covariance that rounding made negative is lifted, and learning goes on."""
    for engine in (core_builds()[-1], reference):
        learner = build_learner(engine, capacity=4, features=1, gamma=1.0, threshold=np.inf)
        x = np.arange(4.0)[:, None]
        learner.learn(x, np.ones((4, 1)))
        state = learner.state()
        broken = -1e-9 * state["inverse"]
        nothing = np.zeros((0, 4))
        learner.restore(
            state
            | {"covariance": broken, "waiting_left": nothing, "waiting_right": nothing, "weights": np.zeros((1, 4))}
        )
        learner.learn(np.repeat(x, 50, axis=0), np.ones((200, 1)))
        assert np.isfinite(learner.scores(x)).all()
        assert (learner.scores(x) >= 0).all()
        assert np.abs(learner.scores(x)).max() > 0
