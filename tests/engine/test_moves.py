"""The move formulas against recomputation from the landmarks."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import build_learner, core_builds, full_covariance
from nolana.engine.base.state import pack, unpack
from nolana.engine.experts.landmarks.inverse import grown, inverted, moved
from nolana.engine.experts.landmarks.kernels import RBF, Kernel, Polynomial
from nolana.modelfile.specs import labels

ENGINES = [*core_builds(), reference]


def named(name: str) -> Kernel:
    return Polynomial(3, 1.0) if name == "polynomial" else labels(Kernel)[name]()


def gram(kernel: Kernel, u: np.ndarray, gamma: float) -> np.ndarray:
    return kernel.gram(u, u, gamma)


def check_move(kernel: Kernel, u: np.ndarray, q: int, place: np.ndarray, gamma: float, ridge: float) -> float:
    """The relative error of P' and of the carried model after one move."""
    before = gram(kernel, u, gamma)
    delta = ridge * np.diag(before).mean()
    p, _ = inverted(before, delta)
    new = kernel.gram(place[None], u, gamma)[0]
    move = moved(p, q, new, before[:, q], *kernel.diagonal(np.array([place, u[q]]), gamma), delta)
    after = u.copy()
    after[q] = place
    gram_after = gram(kernel, after, gamma)
    exact, _ = inverted(gram_after, delta)
    error = np.abs(move.inverse - exact).max() / np.abs(exact).max()

    # alpha' = alpha + P'(z - E' alpha), z the old model at the new landmarks
    alpha = np.random.default_rng(3).normal(size=len(u))
    z = before @ alpha
    z[q] = new @ alpha
    carried = alpha + alpha[q] * move.carry
    wanted = alpha + exact @ (z - gram_after @ alpha)
    return max(error, np.abs(carried - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("name", ["rbf", "laplacian", "polynomial", "cosine", "linear"])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 3.0])
def test_move_updates_the_inverse(name, gamma, rng):
    u = rng.normal(size=(30, 4))
    for q in (0, 13, 29):
        assert check_move(named(name), u, q, u[q] + 0.3 * rng.normal(size=4), gamma, 1e-3) < 1e-8


def test_move_with_duplicated_landmarks_updates_the_inverse(rng):
    u = np.repeat(rng.normal(size=(5, 3)), 4, axis=0)
    assert check_move(RBF(), u, 2, u[0] + 1e-9, 0.5, 1e-3) < 1e-7
    assert check_move(RBF(), u, 2, u[19], 0.5, 1e-3) < 1e-7
    assert check_move(RBF(), u, 2, u[2], 0.5, 1e-3) < 1e-7


def test_move_to_a_far_place_updates_the_inverse(rng):
    u = rng.normal(size=(25, 3))
    assert check_move(RBF(), u, 7, 50 + rng.normal(size=3), 0.5, 1e-3) < 1e-9
    assert check_move(Polynomial(3, 1.0), u, 7, 5 * rng.normal(size=3), 0.5, 1e-3) < 1e-8


def test_move_with_wide_kernel_or_small_ridge_updates_the_inverse(rng):
    u = rng.normal(size=(40, 3))
    assert check_move(RBF(), u, 5, u[5] + 0.1, 1e-6, 1e-3) < 1e-8
    assert check_move(RBF(), u, 5, u[5] + 0.1, 1e-2, 1e-6) < 1e-5


def test_new_landmark_updates_the_inverse(rng):
    kernel = RBF()
    u = rng.normal(size=(9, 2))
    before = gram(kernel, u[:-1], 0.7)
    p, z, g = grown(inverted(before, 1e-3)[0], kernel.gram(u[-1:], u[:-1], 0.7)[0], 1.0, 1e-3)
    assert np.allclose(p, inverted(gram(kernel, u, 0.7), 1e-3)[0], rtol=1e-9)
    assert z[-1] == 1.0
    assert g == pytest.approx(1 / p[-1, -1])


@pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])
@pytest.mark.parametrize(
    ("kernel", "spread"), [("rbf", 1.0), ("rbf", 0.01), ("laplacian", 1.0), ("polynomial", 1.0), ("linear", 1.0)]
)
def test_inverse_and_covariance_are_exact_after_ten_thousand_moves(engine, kernel, spread):
    """After 10,000 moves P is still the inverse, and R lies between 0 and tau P."""
    rng = np.random.default_rng(2)
    capacity = 24
    learner = build_learner(
        engine, kernel, capacity=capacity, features=3, move_noise=0.0, ridge=1e-3 if spread == 1 else 1e-4
    )
    rows = 2_000 if engine is reference else 10_000
    x = spread * rng.normal(size=(capacity + rows, 3))
    x[::7] = x[0]  # duplicates all along
    if learner.maps[0].size < capacity:
        learner.learn(x, np.sign(rng.normal(size=(len(x), 1))))
    state = learner.state()
    if learner.maps[0].size == capacity:
        assert learner.maps[0].moves >= 0.9 * rows
    choice = named(kernel)
    exact, _ = inverted(gram(choice, state["landmarks"], state["gamma"]), state["ridge"])
    p = unpack(state["inverse"])
    assert np.abs(p - exact).max() / np.abs(exact).max() < 1e-6
    r = unpack(full_covariance(state))
    root = np.linalg.cholesky(np.linalg.inv(exact))
    white = np.linalg.eigvalsh(root.T @ r @ root)
    assert white.min() > -1e-7
    assert white.max() < 1 + 1e-6


@pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])
def test_covariance_without_learning_stays_the_prior(engine, rng):
    """Without learning, R = tau P survives growth and every move."""
    learner = build_learner(engine, outputs=0, move_noise=0.0, capacity=15)
    learner.learn(rng.normal(size=(400, 3)), np.zeros((400, 0)))
    state = learner.state()
    assert learner.maps[0].moves > 300
    assert np.allclose(full_covariance(state), state["inverse"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("engine", [core_builds()[-1], reference], ids=["core", "reference"])
def test_covariance_stays_near_its_prior_under_endless_moves(engine):
    """Moves without end and without a row that teaches: R stays near its prior, whatever nu is."""
    rng = np.random.default_rng(4)
    rows = 500 if engine is reference else 20_000
    learner = build_learner(engine, outputs=0, capacity=12, move_noise=0.5)
    learner.learn(rng.normal(size=(rows, 3)), np.zeros((rows, 0)))
    state = learner.state()
    root = np.linalg.cholesky(np.linalg.inv(unpack(state["inverse"])))
    white = np.linalg.eigvalsh(root.T @ unpack(full_covariance(state)) @ root)
    assert white.min() > 0
    assert white.max() < 3


@pytest.mark.parametrize("build", core_builds(), ids=lambda m: m.__name__.split(".")[-1])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 31, 40, 100])
def test_refresh_of_the_core_inverts_as_lapack_does(build, n, rng):
    """refresh() inverts E + delta I of any size, to what LAPACK gives."""
    learner = build_learner(build, capacity=n, features=5, gamma=0.1, novelty=0.0, ridge=1e-4)
    learner.learn(rng.normal(size=(3 * n + 5, 5)), np.ones((3 * n + 5, 1)))
    learner.maps[0].refresh()
    state = learner.state()
    exact, _ = inverted(gram(RBF(), state["landmarks"], 0.1), 1e-4)
    assert np.abs(state["inverse"] - pack(exact)).max() / np.abs(exact).max() < 1e-10
