"""Landmark policies: their formulas against direct computation, legal states, and streams that change."""

import pickle

import numpy as np
import pytest

import nolana.engine as reference
from conftest import build_learner, core_builds, same_state
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem
from nolana.errors import ModelFileError
from nolana.estimators.records import estimator_of, record_of
from nolana.experts.spectral import Policy, Proposal
from nolana.modelfile.node import Node

ENGINES = [*core_builds(), reference]
STATEFUL = ("weighted", "expiring", "window")
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


def learner_with(engine, policy, capacity, features=2, gamma=1.0, threshold=0.0):
    """A learner without outputs: only its landmarks change."""
    map = engine.LandmarkMap(features, capacity, engine.RBF(), policy)
    map.gamma, map.threshold = gamma, threshold
    learner = engine.Learner([map], [engine.Expert(0, engine.SGD(engine.Squared(), 1.0, 0.0, 0.0))])
    learner.clear(0)
    return learner


def follow(learner, x):
    learner.learn(x, np.zeros((len(x), 0)))
    return learner.state()


@engines
@pytest.mark.parametrize("memory", [1.0, 20.0])
def test_weighted_is_kmeans_with_decayed_counts(engine, memory, rng):
    """Places and counts against the formula with all counts decayed at every row; memory 1 renews the unit often."""
    learner = learner_with(engine, engine.Weighted(0.03, memory), 5, threshold=0.3)
    x = rng.normal(size=(600, 2)) + np.linspace(0, 3, 600)[:, None]
    state = follow(learner, x[:40])
    assert len(state["landmarks"]) == 5
    u, n = state["landmarks"].copy(), state["counts"] * state["count_unit"]
    moves = 0
    for row in x[40:]:
        distances = ((row - u) ** 2).sum(axis=1)
        q = distances.argmin()
        n *= 5 * memory / (5 * memory + 1)
        if distances[q] >= 0.3:
            u[q] += max(1 / (n[q] + 1), 0.01) * (row - u[q])
            moves += 1
        n[q] += 1
    after = follow(learner, x[40:])
    assert moves > 100
    assert after["moves"] - state["moves"] == moves
    assert np.allclose(after["landmarks"], u, rtol=1e-9)
    assert np.allclose(after["counts"] * after["count_unit"], n, rtol=1e-9)
    rows = 5 * memory + 1  # that the counts remember in the long run
    start = (state["counts"] * state["count_unit"]).sum()
    assert n.sum() == pytest.approx(rows + (start - rows) * (1 - 1 / rows) ** 560)
    assert 2.0**-64 <= after["count_unit"] <= 1


@engines
def test_weighted_moves_by_at_least_its_least_step(engine):
    """One landmark that stands for every row has a large count, and follows all the same."""
    learner = learner_with(engine, engine.Weighted(1.0, 1e6), 1, features=1)
    follow(learner, np.zeros((3000, 1)))
    assert follow(learner, np.ones((1, 1)))["landmarks"][0, 0] == pytest.approx(0.01)


@engines
def test_unused_landmarks_expire(engine):
    """A landmark expires after patience m rows without being nearest, and only a far row takes it."""
    places = np.array([[0.0, 0], [5, 0], [0, 5], [5, 5]])
    near, far = np.array([[0.1, 0.0]]), np.array([[0.0, 2.4]])
    learner = learner_with(engine, engine.Expiring(0.03, 2.0), 4, threshold=4.0)
    state = follow(learner, places)
    assert np.array_equal(state["last_nearest"], [1, 2, 3, 4])
    state = follow(learner, np.repeat(near, 6, axis=0))  # row 10: 8 rows since the second landmark was nearest
    assert state["moves"] == 0
    early = learner_with(engine, engine.Expiring(0.03, 2.0), 4, threshold=4.0)
    early.restore(state | {"rows": 9.0})
    moved = follow(early, far)  # row 10: not more than 2 x 4, so as kmeans
    assert np.allclose(moved["landmarks"][0], [0, 1.2])
    assert np.array_equal(moved["landmarks"][1:], places[1:])
    state = follow(learner, near)
    assert state["moves"] == 0  # row 11: expired, but the row is near
    moved = follow(learner, far)  # row 12
    assert np.array_equal(moved["landmarks"], [[0, 0], [0, 2.4], [0, 5], [5, 5]])
    assert moved["counts"][1] == 1
    assert np.array_equal(moved["last_nearest"], [12, 12, 3, 4])


@engines
def test_a_new_row_replaces_the_oldest(engine):
    learner = learner_with(engine, engine.Window(0.03, 0.05), 3, features=1)
    state = follow(learner, np.array([[0.0], [10], [20], [0], [10]]))
    assert state["moves"] == 0  # known rows
    assert state["tolerance"] == 0.02
    state = follow(learner, np.array([[30.0]]))
    assert np.array_equal(state["landmarks"][:, 0], [30, 10, 20])
    assert np.array_equal(state["placed"], [6, 2, 3])
    assert state["tolerance"] == pytest.approx(0.02 * np.exp(0.095))
    state = follow(learner, np.array([[30.0], [40], [50]]))
    assert np.array_equal(state["landmarks"][:, 0], [30, 40, 50])
    assert state["tolerance"] == pytest.approx(0.02 * np.exp(0.095 - 0.005 + 2 * 0.095))


@engines
def test_window_keeps_its_rate(engine, rng):
    """Where every row is new, a share `rate` of the rows replaces a landmark; where none is, none does.

    The logarithm of the tolerance sums 0.1 (moved - rate) over the rows, and it is at most 0.1.
    """
    rows = 1500 if engine is reference else 20_000
    for rate in (0.05, 0.3):
        state = follow(learner_with(engine, engine.Window(0.03, rate), 20, features=20), rng.normal(size=(rows, 20)))
        excess = np.log(state["tolerance"] / 0.02) / 0.1
        assert state["moves"] == pytest.approx(rate * (rows - 20) + excess)
        assert state["tolerance"] <= np.exp(0.1)
    state = follow(learner_with(engine, engine.Window(0.03), 20, features=1), rng.uniform(size=(rows, 1)))
    assert state["moves"] <= 2


@engines
def test_zero_rows_under_a_linear_kernel_have_finite_scores(engine):
    """k(x, x) = 0: nothing is new, nothing is divided by it."""
    for name in STATEFUL:
        learner = build_learner(engine, "linear", policy=name, capacity=3)
        learner.learn(np.ones((1, 3)), np.ones((1, 1)))
        assert np.isfinite(learner.learn(np.zeros((9, 3)), np.ones((9, 1)))).all()


@pytest.mark.parametrize("build", core_builds(), ids=lambda m: m.__name__.split(".")[-1])
def test_a_policy_with_a_state_belongs_to_one_map(build):
    for policy in (build.Weighted(0.03), build.Expiring(0.03), build.Window(0.03)):
        build.LandmarkMap(2, 3, build.RBF(), policy)
        with pytest.raises(ValueError, match="one map only"):
            build.LandmarkMap(2, 3, build.RBF(), policy)


WRONG = {
    "weighted": {"count_unit": [0.0, -1.0, np.nan]},
    "expiring": {"last_nearest": [np.zeros(5), np.full(6, -1.0), np.full(6, 0.5), np.full(6, np.nan), 1.0]},
    "window": {"placed": [np.zeros(7), np.full(6, -1.0), np.full(6, 1e300)], "tolerance": [0.0, np.nan]},
}


@engines
@pytest.mark.parametrize("policy", STATEFUL)
def test_restore_refuses_states_that_no_policy_reaches(engine, policy, rng):
    learner = build_learner(engine, policy=policy, capacity=6)
    learner.learn(rng.normal(size=(40, 3)), np.ones((40, 1)))
    state = learner.state()
    for name, values in WRONG[policy].items():
        for value in values:
            with pytest.raises((ValueError, TypeError), match=name):
                learner.restore(state | {name: value})
            assert same_state(learner.state(), state)
        with pytest.raises(ValueError, match=f"{name} is missing"):
            learner.restore({key: value for key, value in state.items() if key != name})


def moving_clusters(rows, features, speed, seed, clusters=20, spread=0.25):
    """Gaussians of two classes that move through a cube and bounce off its walls."""
    rng = np.random.default_rng(seed)
    centres, step = rng.uniform(size=(clusters, features)), rng.normal(size=(clusters, features))
    step *= speed / np.linalg.norm(step, axis=1, keepdims=True)
    own, noise, x = rng.integers(clusters, size=rows), spread * rng.normal(size=(rows, features)), []
    for i in range(rows):
        x.append(centres[own[i]] + noise[i])
        centres = centres + step
        step = np.where((centres < 0) | (centres > 1), -step, step)
    return np.array(x), own % 2


def accuracy(model, x, y, skip):
    scores = model.learn(x, y)[skip:]
    return (model.classes_[np.nanargmax(scores, axis=1)] == y[skip:]).mean()


def test_each_policy_tracks_moving_clusters():
    """Means over three streams of 12,000 rows, measured: fixed 0.852, the others 0.897 to 0.913."""
    found = {}
    for policy in ("fixed", "kmeans", *STATEFUL):
        models = [NolanaClassifier(n_landmarks=50, landmarks=policy, optimizer="sgd", scale=False) for _ in range(3)]
        streams = [moving_clusters(12_000, 10, 3e-4, seed, spread=0.15) for seed in range(3)]
        found[policy] = np.mean([accuracy(m, *s, 2000) for m, s in zip(models, streams, strict=True)])
    assert found.pop("fixed") < 0.87, found
    assert min(found.values()) > 0.885, found


@pytest.mark.parametrize("policy", ["expiring", "window"])
def test_replacing_policies_track_a_travelling_stream(policy):
    """Nothing comes back to where landmarks are. Measured on four: fixed, kmeans 0.49 to 0.63, the others 0.97 to 1."""
    x, y = moving_clusters(12_000, 10, 0.0, 1, clusters=6, spread=0.1)
    x = x + np.linspace(0, 10, len(x))[:, None]
    assert accuracy(NolanaClassifier(landmarks="fixed", scale=False), x, y, 2000) < 0.7
    assert accuracy(NolanaClassifier(landmarks=policy, scale=False), x, y, 2000) > 0.95


@pytest.mark.parametrize("policy", ["kmeans", "weighted", "expiring"])
def test_landmarks_move_also_while_places_are_free(policy, rng):
    x = rng.uniform(size=(6000, 2))
    y = (x > 0.5).sum(axis=1) == 1
    model = NolanaClassifier(n_landmarks=100, landmarks=policy, scale=False)
    model.learn(x[:511], y[:511])
    assert model.threshold_ == np.inf
    model.learn(x[511:512], y[511:512])  # the first power of two from 4 m on
    nearest = [((u - model.landmarks_[:i]) ** 2).sum(axis=1).min() for i, u in enumerate(model.landmarks_) if i]
    assert model.threshold_ == pytest.approx(np.median(nearest))
    model.learn(x[512:], y[512:])
    assert len(model.landmarks_) < 100
    assert model.n_moves_ > 0
    never = NolanaClassifier(n_landmarks=100, landmarks=policy, threshold=np.inf, scale=False)
    never.learn(x, y)
    assert never.n_moves_ == 0
    assert model.score(x, y) > never.score(x, y) - 0.005


@pytest.mark.parametrize("solver", ["inverse", "exact", "rank2", "randomized"])
@pytest.mark.parametrize("policy", STATEFUL)
def test_map_without_learner_tracks_moving_clusters(policy, solver):
    x, _ = moving_clusters(2500, 5, 2e-3, 4)
    x += np.linspace(0, 1, len(x))[:, None]
    makers = [OnlineNystroem(n_landmarks=25, landmarks=p, solver=solver, scale=False) for p in ("fixed", policy)]
    maps = [each.partial_fit(x) for each in makers]
    errors = [map.approximation_error(x[-300:]) for map in maps]
    assert errors[1] < 0.9 * errors[0]


@pytest.mark.parametrize("policy", STATEFUL)
def test_states_stay_legal_and_copies_continue(policy):
    """Pickles and files in mid-stream, from initial landmarks too; ages and counts stay in their ranges."""
    x, y = moving_clusters(3000, 3, 1e-3, 5)
    for start in (None, x[:30]):
        model = NolanaClassifier(n_landmarks=30, landmarks=policy, initial_landmarks=start, scale=start is None)
        model.learn(x[:1501], y[:1501])
        twin = pickle.loads(pickle.dumps(model))
        assert np.array_equal(model.learn(x[1501:], y[1501:]), twin.learn(x[1501:], y[1501:]))
        state = model._learner.state()
        assert same_state(state, twin._learner.state())
        assert model.n_moves_ > 10
        for name in state.keys() & {"last_nearest", "placed"}:
            assert state[name].min() >= 0
            assert state[name].max() <= 3000
        if policy == "weighted":
            assert model.counts_.sum() == pytest.approx(20 * 30 + 1, rel=0.02)
        else:
            assert model.counts_.min() >= 1
        assert state.get("tolerance", 1.0) >= 0.02


@pytest.mark.parametrize("policy", STATEFUL)
def test_regression_scores_stay_finite_when_rows_outgrow_the_kernel(policy, rng):
    """A polynomial kernel whose rows outgrow it starts anew, with the state of the policy."""
    x = rng.normal(size=(900, 3)) * np.where(np.arange(900) < 450, 1, 1e6)[:, None]
    model = NolanaRegressor(n_landmarks=10, kernel="polynomial", landmarks=policy)
    assert np.isfinite(model.learn(x, x[:, 0])).all()


def test_a_file_with_an_illegal_argument_is_refused(rng):
    x = rng.normal(size=(60, 2))
    for policy, name, wrong in (("weighted", "memory", 0.5), ("expiring", "patience", 1e300), ("window", "rate", 1.5)):
        model = NolanaClassifier(n_landmarks=5, landmarks=policy).fit(x, x[:, 0] > 0)
        record = record_of(model)
        arguments = record["learner"]["spec"]["maps"][0]["policy"]
        assert arguments[name] == {"memory": 20.0, "patience": 20.0, "rate": 0.05}[name]
        arguments[name] = wrong
        with pytest.raises(ModelFileError, match=name):
            estimator_of(NolanaClassifier, Node(record, "model"), {})


def test_user_policy_moves_landmarks(stream):
    x, y = stream

    class Farthest(Policy):
        """The landmark farthest from a far row takes its place."""

        def propose(self, x, distances, landmarks, counts, threshold):
            assert distances.shape == counts.shape == (len(landmarks),)
            return Proposal(int(distances.argmax()), x, 1.0) if distances.min() > 2 else None

    model = NolanaClassifier(n_landmarks=15, landmarks=Farthest(novelty=0.03)).partial_fit(x, y)
    assert model.n_moves_ > 0
    with pytest.raises(ValueError, match="'expiring', 'fixed', 'kmeans', 'weighted', 'window'"):
        NolanaClassifier(landmarks="oldest").fit(x, y)
