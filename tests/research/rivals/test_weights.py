"""A sample weight multiplies the row's loss: the weighted core against NumPy with the loss itself multiplied."""

import pickle

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds
from nolana import rivals

CATALOGUE = rivals.catalogue()
GRADIENT = ("FOGD", "RRF", "DualSGD", "KernelOGD", "BOGD", "BSGD", "DoublySGD")
CORE = core_builds()[-1]
EVERY = [
    (name, task) for name in GRADIENT for task in ("classification", "regression") if name != "BSGD" or task[0] == "c"
]


class Multiplied:
    """weight times a loss."""

    def __init__(self, loss):
        self.loss, self.weight, self.linear = loss, 1.0, loss.linear

    def slope(self, y, f):
        return self.weight * self.loss.slope(y, f)


@pytest.mark.parametrize(("name", "task"), EVERY)
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_weight_multiplies_the_loss(name, task, outputs):
    rng = np.random.default_rng(outputs)
    model = rivals.at_equal_budget(name, n_landmarks=6, n_features=3, task=task, regularization=0.05, random_state=0)
    spec = model._spec(3)
    core, mine = spec.build(CORE), spec.build(reference)
    own = mine.experts[0].head if hasattr(mine, "experts") else mine
    own.loss = Multiplied(own.loss)
    for learner in (core, mine):
        learner.clear(outputs)
        (learner.maps[0] if hasattr(learner, "maps") else learner).gamma = 0.5
    for _ in range(60):
        x, weight = rng.normal(size=(1, 3)), rng.choice([0.25, 1.0, 3.0], size=1)
        y = x[:, :1] * rng.normal(size=(1, outputs)) if task == "regression" else rng.choice([-1.0, 1.0], (1, outputs))
        mine.restore(core.state())
        own.loss.weight = weight[0]
        assert np.allclose(core.learn(x, y, weight), mine.learn(x, y), atol=1e-9)
        after, expected = core.state(), mine.state()
        assert after.keys() == expected.keys()
        for key, value in expected.items():
            assert np.allclose(after[key], value, rtol=1e-9, atol=1e-9), key
    assert np.abs(core.state()["weights"]).max() > 0


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_weight_multiplies_the_loss_of_nogd(task):
    """(1 - eta lambda) w - eta c loss' z: a weight c for all rows is a rate c eta and a decay lambda/c."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = np.sin(x[:, 0]) if task == "regression" else x[:, 0] * x[:, 1] > 0
    method = CATALOGUE["NOGD"]
    kind = method.regressor if task == "regression" else method.classifier
    weighted = kind(n_landmarks=10, learning_rate=0.1, regularization=0.2)
    plain = kind(n_landmarks=10, learning_rate=0.4, regularization=0.05)
    scores = weighted.learn(x, y, sample_weight=np.full(200, 4.0))
    assert np.allclose(scores, plain.learn(x, y), atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", [*GRADIENT, "NOGD"])
def test_weight_zero_is_scored_and_not_learned(name):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    weight = (rng.random(300) < 0.6).astype(float)
    weight[:10] = 1
    make = CATALOGUE[name].classifier
    weighted, few = make(random_state=0, gamma=0.5), make(random_state=0, gamma=0.5)
    scores = weighted.learn(x, y, sample_weight=weight)
    assert np.array_equal(scores[weight > 0], few.learn(x[weight > 0], y[weight > 0]), equal_nan=True)
    assert np.isfinite(scores[10:]).all()


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_method_says_what_a_weight_is_or_refuses_it(name):
    x, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    if name in (*GRADIENT, "NOGD"):
        assert "A sample weight multiplies the row's loss" in " ".join(CATALOGUE[name].classifier.__doc__.split())
        return
    with pytest.raises(ValueError, match="defines no weights"):
        CATALOGUE[name].classifier().learn(x, y, sample_weight=np.ones(20))


@pytest.mark.parametrize("name", GRADIENT)
def test_blocks_of_weight_zero_take_no_memory_and_can_be_copied(name):
    """While the width is estimated rows are stored: those that are not learned are not."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    model = CATALOGUE[name].classifier(random_state=0)
    for _ in range(3):
        model.partial_fit(x[:5], y[:5], classes=[0, 1], sample_weight=np.zeros(5))
    assert pickle.loads(pickle.dumps(model))._learner.state().keys() == model._learner.state().keys()
    model.partial_fit(x, y)
    before = model.memory_bytes_
    for _ in range(20):
        model.partial_fit(x, y, sample_weight=np.zeros(40))
    assert model.memory_bytes_ == before
