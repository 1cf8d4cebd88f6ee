"""The paper's three solvers, against each other, against LAPACK, and against the inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana import NolanaClassifier
from nolana.experts.spectral.spectrum import Exact, Randomized, Rank2, Spectrum, rank_one, secular


def moved_gram(rng, n, d=4, gamma=0.3):
    u = rng.normal(size=(n, d))
    before = np.exp(-gamma * ((u[:, None] - u[None]) ** 2).sum(-1))
    q = int(rng.integers(n))
    u[q] += 0.3 * rng.normal(size=d)
    after = np.exp(-gamma * ((u[:, None] - u[None]) ** 2).sum(-1))
    return before, after, q


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    rho=st.floats(0.01, 10),
    distinct=st.integers(1, 30),
    zeros=st.booleans(),
)
def test_secular_equation_gives_the_eigenpairs(seed, n, rho, distinct, zeros):
    """Eigenpairs of diag(d) + rho z z', with equal d and with zeros in z."""
    rng = np.random.default_rng(seed)
    d = np.sort(rng.choice(rng.uniform(0, 5, distinct), n))
    z = rng.normal(size=n) * (rng.random(n) < 0.7 if zeros else 1)
    values, vectors = secular(d, z, rho)
    matrix = np.diag(d) + rho * np.outer(z, z)
    assert np.allclose(values, np.linalg.eigvalsh(matrix), atol=1e-12 * (1 + np.abs(matrix).max() * n))
    assert np.allclose(vectors.T @ vectors, np.eye(n), atol=1e-11)
    assert np.allclose(matrix @ vectors, vectors * values, atol=1e-11 * (1 + np.abs(matrix).max() * n))


@pytest.mark.parametrize("rho", [0.7, -0.7])
@pytest.mark.parametrize("rank", [5, 12])
def test_rank_one_update_gives_the_eigenpairs(rho, rank, rng):
    u = np.linalg.qr(rng.normal(size=(12, rank)))[0]
    s = np.sort(rng.uniform(0, 3, rank))[::-1]
    v = rng.normal(size=12)
    vectors, values = rank_one(u, s, v, rho)
    exact = u @ np.diag(s) @ u.T + rho * np.outer(v, v)
    assert np.allclose(vectors @ np.diag(values) @ vectors.T, exact, atol=1e-12)
    assert np.allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-12)
    assert (np.diff(values) <= 1e-12).all()


@pytest.mark.parametrize("solver", [Exact(), Rank2(), Randomized(30)], ids=["exact", "rank2", "randomized"])
def test_solvers_at_full_rank_track_the_matrix_exactly(solver, rng):
    for _ in range(20):
        before, after, q = moved_gram(rng, 25)
        moved = solver.moved(Spectrum.of(before, 25), q, after[:, q].copy(), after)
        assert np.allclose(moved.vectors @ np.diag(moved.values) @ moved.vectors.T, after, atol=1e-9)
        assert np.allclose(moved.vectors.T @ moved.vectors, np.eye(25), atol=1e-10)


def test_two_or_three_iterations_are_near_the_best_rank_r(rng):
    """Warm-started, two iterations of the subspace lose next to nothing against the exact rank-r map."""
    before, after, q = moved_gram(rng, 60, gamma=0.05)
    best = Spectrum.of(after, 40)
    near = Randomized(2).moved(Spectrum.of(before, 40), q, after[:, q].copy(), None)

    def error(s):
        return np.linalg.norm(after - s.vectors @ np.diag(s.values) @ s.vectors.T)

    assert error(near) < 1.05 * error(best) + 1e-3


def learner(solver, refit="carry", **parameters):
    given = {"n_landmarks": 20, "optimizer": "sgd", "loss": "logistic", "gamma": 0.2, "threshold": 0.0, "ridge": 1e-2}
    given |= {"learning_rate": 0.5, "refit": refit, "solver": solver} | parameters
    if refit == "paper":
        given |= {"refit_penalty": 1e-3}
    return NolanaClassifier(**given)


@pytest.mark.parametrize("refit", ["carry", "paper"])
def test_inverse_agrees_with_exact_at_full_rank(refit, stream):
    x, y = stream
    a, b = learner("inverse", refit), learner("exact", refit)
    first, second = a.learn(x[:300], y[:300]), b.learn(x[:300], y[:300])
    assert a.n_moves_ == b.n_moves_ > 200
    assert np.nanmax(np.abs(first - second)) < 1e-6


@pytest.mark.parametrize("refit", ["carry", "paper", "none"])
def test_solvers_agree_with_each_other(refit, stream):
    x, y = stream
    exact = learner("exact", refit).learn(x[:150], y[:150])
    rank2 = learner("rank2", refit).learn(x[:150], y[:150])
    randomized = learner("randomized", refit, power_iterations=100).learn(x[:150], y[:150])
    tolerance = 1e-5 if refit == "none" else 1e-6
    if refit == "none":  # eigenvectors of near-equal eigenvalues are not unique, so only the first moves compare
        exact, rank2, randomized = exact[:25], rank2[:25], randomized[:25]
    assert np.nanmax(np.abs(exact - rank2)) < tolerance
    assert np.nanmax(np.abs(exact - randomized)) < tolerance


def test_paper_preset_has_the_parameters_of_the_paper():
    model = NolanaClassifier.paper(n_landmarks=50, threshold=25.0, learning_rate=0.2)
    assert (model.optimizer, model.solver, model.rank, model.refit) == ("sgd", "randomized", 0.8, "paper")
    assert (model.n_landmarks, model.threshold, model.learning_rate) == (50, 25.0, 0.2)


def test_refit_paper_shrinks_the_model_and_carry_keeps_it(stream):
    """Stage two as printed pulls the model towards zero at every move; penalising the change keeps it."""
    x, y = stream
    kept = {}
    for refit in ("paper", "carry"):
        model = learner("exact", refit)
        model.learn(x[:100], y[:100])
        before = np.abs(model.decision_function(x[:100])).mean()
        model.partial_fit(x[100:500], y[100:500], sample_weight=np.full(400, 1e-12))
        kept[refit] = np.abs(model.decision_function(x[:100])).mean() / before
    assert kept["paper"] < kept["carry"]
