"""A linear head with a full covariance: ridge regression row by row, and what another scale does to it."""

import numpy as np
import pytest

from conftest import core_builds
from nolana import StreamClassifier, StreamRegressor
from nolana import engine as reference
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.engine.learner.learner import Expert, Learner
from nolana.engine.learner.losses import Squared
from nolana.experts import Linear
from nolana.experts.base import Anchors, split
from nolana.modelfile.specs import Spec

ENGINES = [*core_builds(), reference]
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda module: module.__name__)
VARIANCE = 0.5


def made(engine, features=4, loss="Squared", forgetting=1.0):
    head = engine.FullLinear(getattr(engine, loss)(), VARIANCE, forgetting)
    learner = engine.Learner([engine.IdentityMap(features)], [engine.Expert(0, head)])
    learner.clear(1)
    return learner


def rows(n=60, features=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    return x, 0.3 * x[:, :1] - 0.2 * x[:, 1:2] + 0.1 + 0.1 * rng.normal(size=(n, 1))


@engines
def test_linear_head_equals_ridge_regression(engine):
    x, y = rows()
    learner = made(engine)
    learner.learn(x, y)
    phi = np.column_stack([x, np.ones(len(x))])
    expected = np.linalg.solve(phi.T @ phi + np.eye(5) / VARIANCE, phi.T @ y)[:, 0]
    assert np.allclose(learner.state()["weights"][0], expected, rtol=1e-10, atol=1e-12)
    assert np.allclose(learner.scores(x)[:, 0], phi @ expected)


@engines
def test_linear_head_with_forgetting_adapts_to_contradicting_rows(engine):
    """Rows that contradict all rows before are followed, and not without forgetting."""
    x, y = rows(3000)
    y[1500:] *= -1
    residuals = []
    for forgetting in (1.0, 0.99):
        scores = made(engine, forgetting=forgetting).learn(x, y)
        residuals.append(float(np.mean((scores - y)[-500:] ** 2)))
    assert residuals[1] < 0.3 * residuals[0]


@engines
def test_a_map_that_grows_is_refused(engine):
    grows = engine.LandmarkMap(4, 5, engine.RBF(), engine.Fixed(0.0))
    with pytest.raises(ValueError, match="a map whose features never change"):
        engine.Learner([grows], [engine.Expert(0, engine.FullLinear(engine.Squared(), 1.0))])


def stacked_spec(features=4):
    head = Spec(FullLinear, {"loss": Spec(Squared), "variance": VARIANCE, "forgetting": 1.0})
    experts = [Spec(Expert, {"map": 0, "head": head})]
    return Spec(Learner, {"maps": [Spec(IdentityMap, {"features": features})], "experts": experts, "combiner": None})


@engines
def test_rescaled_head_equals_one_that_learned_rescaled_rows(engine):
    """The head whose rows z become a z + b is the head that learned them so."""
    x, y = rows()
    a, b = np.array([2.0, 0.5, 1.0, 0.0]), np.array([0.3, -1.0, 0.0, 0.7])
    before, after = made(engine), made(engine)
    before.learn(x, y)
    after.learn(x * a + b, y)
    state = before.state()
    Linear().move(split(stacked_spec(), state, {})[0], a, b)
    assert np.allclose(state["weights"], after.state()["weights"], rtol=1e-8, atol=1e-10)
    before.restore(state)
    assert np.allclose(before.learn(*rows(seed=1)), after.learn(*rows(seed=1)), rtol=1e-8, atol=1e-10)


def test_weights_of_a_feature_are_dropped_when_its_anchor_changes_extremely():
    x, y = rows()
    learner = made(reference)
    learner.learn(x, y)
    state = learner.state()
    old = {"factor": np.ones(4), "center": np.zeros(4), "metric": np.ones(4)}
    new = {"factor": np.array([1.0, 1e6, 1e-6, 1.0]), "center": np.array([0.0, 0.0, 0.0, 1e4]), "metric": np.ones(4)}
    Linear().follow_anchors(split(stacked_spec(), state, {})[0], Anchors(lambda z: z, old, new))
    assert (state["weights"][0, 1:4] == 0).all()
    assert state["weights"][0, 0] != 0


@pytest.mark.parametrize("number", [False, True])
def test_noisy_linear_target_is_learned_nearly_as_by_a_linear_model(number):
    """The default learner is nearly as good as the linear model itself: 12,000 rows, noise of the variance of f."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12_000, 5))
    f = x @ rng.normal(size=5)
    f /= f.std()
    if number:
        y = f + rng.normal(size=len(f))
        found = StreamRegressor(random_state=0).learn(x, y)
        assert 1 - np.mean((found - y)[2000:] ** 2) / y[2000:].var() > 0.475  # the best: .500
        return
    y = (rng.random(len(f)) < 1 / (1 + np.exp(-f))).astype(int)
    model = StreamClassifier(random_state=0)
    scores = model.learn(x, y)[2000:]
    right = model.classes_[scores.argmax(axis=1)] == y[2000:]
    best = ((f > 0) == y)[2000:].mean()
    assert right.mean() > best - 0.01
