"""remap: another kernel, other landmarks, another scaling."""

import numpy as np
import pytest

from conftest import build_learner, core_builds, full_covariance
from nolana import NolanaClassifier
from nolana.engine.base.state import unpack
from nolana.engine.experts.landmarks import kernels
from nolana.experts.remap import covariance_of, rekernel, relocate, remap

RBF = kernels.RBF()
CORE = core_builds()[-1]


def learned(rng, rows=200, **parameters):
    learner = build_learner(CORE, capacity=14, features=3, gamma=0.3, move_noise=0.0, **parameters)
    x = rng.normal(size=(rows, 3))
    learner.learn(x, np.sign(x[:, :1] * x[:, 1:2]))
    return learner


def gram(gamma):
    return lambda x, z: RBF.gram(x, z, gamma)


def test_remap_to_the_same_kernel_changes_nothing(rng):
    state = learned(rng).state()
    after = remap(state, before=gram(0.3), after=gram(0.3), ridge=state["ridge"], prior=1.0)
    assert np.allclose(after["weights"], state["weights"], atol=1e-8)
    assert np.allclose(covariance_of(after), covariance_of(state), atol=1e-7)
    assert np.allclose(after["inverse"], state["inverse"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.003, 0.1, 1.0, 30.0])
def test_remap_to_another_width_keeps_values_and_a_legal_covariance(gamma, rng):
    state = learned(rng).state()
    after = remap(state, before=gram(0.3), after=gram(gamma), ridge=1e-3, prior=1.0)
    u, n = state["landmarks"], len(state["landmarks"])
    old, new = RBF.gram(u, u, 0.3), RBF.gram(u, u, gamma)
    # the values with the ridge's share are kept exactly
    kept = (old + state["ridge"] * np.eye(n)) @ state["weights"].T
    assert np.allclose((new + after["ridge"] * np.eye(n)) @ after["weights"].T, kept, atol=1e-6)
    a = new + after["ridge"] * np.eye(n)
    root = np.linalg.cholesky(a)
    white = np.linalg.eigvalsh(root.T @ covariance_of(after) @ root)
    assert white.min() > 0
    assert white.max() < 1 + 1e-8
    assert np.allclose(unpack(after["inverse"]) @ a, np.eye(n), atol=1e-8)


def test_remap_without_evidence_gives_the_new_prior(rng):
    learner = build_learner(CORE, capacity=10, features=3, outputs=0, gamma=0.3, move_noise=0.0)
    learner.learn(rng.normal(size=(60, 3)), np.zeros((60, 0)))
    state = learner.state()
    after = rekernel(
        state, RBF.gram(*[state["landmarks"]] * 2, 0.3), RBF.gram(*[state["landmarks"]] * 2, 1.5), 1e-3, 1.0
    )
    assert np.allclose(covariance_of(after), unpack(after["inverse"]), atol=1e-7)


def test_relocate_one_landmark_equals_a_move_of_the_engine(rng):
    """relocate with one changed landmark is the engine's move."""
    learner = learned(rng)
    state = learner.state()
    counts = state["counts"].copy()
    x = rng.normal(size=(1, 3))
    q = int(((state["landmarks"] - x) ** 2).sum(axis=1).argmin())
    learner.restore(state | {"threshold": 0.0, "weights": np.zeros((0, 14))})  # move without learning
    learner.learn(x, np.zeros((1, 0)))
    moved = learner.state()
    places = state["landmarks"].copy()
    places[q] = (counts[q] * places[q] + x[0]) / (counts[q] + 1)
    assert np.allclose(moved["landmarks"], places)
    after = relocate(state, places, RBF.gram(places, places, 0.3), RBF.gram(places, state["landmarks"], 0.3), 1.0)
    assert np.allclose(after["inverse"], moved["inverse"], rtol=1e-5, atol=1e-5)
    assert np.allclose(covariance_of(after), unpack(full_covariance(moved)), atol=1e-5)
    learner.restore(state)
    alone = learner.scores(places)
    learner.restore(after | {"waiting_left": np.zeros((0, 14)), "waiting_right": np.zeros((0, 14))})
    assert np.allclose(learner.scores(places), alone, atol=2e-2)


def test_relocate_keeps_the_function_where_landmarks_cover_it(rng):
    state = learned(rng).state()
    places = np.vstack([state["landmarks"], rng.normal(size=(5, 3))])
    after = relocate(state, places, RBF.gram(places, places, 0.3), RBF.gram(places, state["landmarks"], 0.3), 1.0)
    test = rng.normal(size=(40, 3))
    before = RBF.gram(test, state["landmarks"], 0.3) @ state["weights"].T
    assert np.allclose(RBF.gram(test, places, 0.3) @ after["weights"].T, before, atol=1e-6)
    variance = np.einsum("ij,jk,ik->i", *(lambda k: (k, covariance_of(after), k))(RBF.gram(test, places, 0.3)))
    assert (variance > 0).all()


def test_width_is_estimated_at_powers_of_two_until_full(stream):
    x, y = stream
    model = NolanaClassifier(n_landmarks=50, novelty=0.0, scale=False)
    widths = []
    for i in range(120):
        model.learn(x[i : i + 1], y[i : i + 1])
        widths.append(model.gamma_)
    changes = [i + 1 for i in range(1, 120) if widths[i] != widths[i - 1]]
    assert changes == [2, 4, 8, 16, 32, 50]
    u = x[:50]
    pairs = ((u[:, None] - u[None]) ** 2).sum(-1)[np.triu_indices(50, 1)]
    assert model.gamma_ == pytest.approx(1 / np.median(pairs))


def test_threshold_is_the_median_distance_of_arrival(stream):
    x, y = stream
    model = NolanaClassifier(n_landmarks=40, novelty=0.0, scale=False)
    model.learn(x[:39], y[:39])
    assert model.threshold_ == np.inf
    model.learn(x[39:40], y[39:40])
    nearest = [((x[i] - x[:i]) ** 2).sum(axis=1).min() for i in range(1, 40)]
    assert model.threshold_ == pytest.approx(np.median(nearest))
