"""Recent neighbours: exact distances, ties, nested windows, votes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolana.engine as reference
from conftest import core_builds

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


def learner(module, features, windows=(5, 20), neighbours=3, loss="Squared", outputs=1, **arguments):
    """One vote for each window; the mean of the experts is read."""
    map = module.NeighbourMap(features, np.array(windows, dtype=float), neighbours, **arguments)
    heads = [module.Vote(getattr(module, loss)(), window=i) for i in range(len(windows))]
    made = module.Learner([map], [module.Expert(0, head) for head in heads], module.Mean())
    made.clear(outputs)
    return made


def steps(x, in_unit=40):
    """Rows as integers, whose distances NumPy's integers compute exactly."""
    return np.clip(np.rint(x * in_unit), -127, 127).astype(np.int64)


def nearest_mean(stored, targets, row, windows, neighbours):
    """The mean over the windows of the mean target of the nearest, the more recent first; all in integers."""
    means = []
    for window in windows:
        inside, own = stored[-window:][::-1], targets[-window:][::-1]
        distances = np.abs(inside - row).sum(axis=1)
        means.append(own[np.argsort(distances, kind="stable")[:neighbours]].mean())
    return np.mean(means)


@engines
@pytest.mark.parametrize("features", [1, 3, 8, 13, 64])
@pytest.mark.parametrize("windows", [(3,), (5, 20), (7, 8, 100), (4, 500)])
def test_neighbours_equal_those_of_integer_arithmetic(engine, features, windows):
    """Targets are powers of two, so that each set of neighbours has its own mean."""
    rng = np.random.default_rng(features)
    n = 60 if engine is reference else 300
    x = rng.integers(-3, 4, (n, features)) / 40 if features < 4 else rng.normal(size=(n, features))  # ties, or none
    y = 2.0 ** rng.integers(-17, 3, n)
    made = learner(engine, features, windows)
    scores = made.learn(x, y[:, None])[:, 0]
    whole = steps(x)
    assert scores[0] == 0
    for i in range(1, n):
        expected = nearest_mean(whole[:i], y[:i], whole[i], windows, 3)
        assert scores[i] == pytest.approx(expected, rel=1e-12), i


@engines
def test_rows_are_stored_in_steps_of_any_length(engine):
    rng = np.random.default_rng(0)
    x, y = 8 * rng.normal(size=(60, 3)), 2.0 ** rng.integers(-17, 3, 60)
    made = learner(engine, 3, steps=4.5)
    scores = made.learn(x, y[:, None])[:, 0]
    whole = steps(x, 4.5)
    assert np.array_equal(made.state()["map0/recent"], whole[-20:])
    assert scores[-1] == pytest.approx(nearest_mean(whole[:-1], y[:-1], whole[-1], (5, 20), 3), rel=1e-12)
    for wrong in (0.0, -1.0):
        with pytest.raises(ValueError, match="steps are a positive number"):
            engine.NeighbourMap(3, np.array([5.0]), 3, steps=wrong)


@builds
@given(
    features=st.integers(1, 64),
    neighbours=st.integers(1, 9),
    extra=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    spread=st.sampled_from([0.02, 1.0, 100.0]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_neighbours_of_any_shape_equal_those_of_integer_arithmetic(build, features, neighbours, extra, spread, seed):
    """Also rows that reach the end of the fixed point, and ties."""
    rng = np.random.default_rng(seed)
    windows = tuple(np.cumsum([neighbours, *extra]).tolist())
    x, y = spread * rng.normal(size=(90, features)), 2.0 ** rng.integers(-17, 3, 90)
    scores = learner(build, features, windows, neighbours).learn(x, y[:, None])[:, 0]
    whole = steps(x)
    for i in range(1, 90):
        assert scores[i] == pytest.approx(nearest_mean(whole[:i], y[:i], whole[i], windows, neighbours), rel=1e-12)


@engines
def test_more_recent_row_wins_a_tie_of_distances(engine):
    made = learner(engine, 1, windows=(20,), neighbours=1)
    x = np.zeros((10, 1))
    scores = made.learn(x, np.arange(10.0)[:, None])[:, 0]
    assert scores.tolist() == [0, *range(9)]


@engines
def test_the_largest_distances_are_exact(engine):
    """Opposite corners: 254^2 for each of 64 features is beyond 16 bits and exact in 32."""
    features = 64
    made = learner(engine, features, windows=(4,), neighbours=2)
    corners = np.full((3, features), 1e9)
    corners[1, 0] = -1e9  # one step from the first corner, and nearer to the opposite one by 254^2
    made.learn(corners, np.array([[1.0], [2.0], [8.0]]))
    assert made.scores(-corners[:1])[0, 0] == pytest.approx((2 + 8) / 2)


@engines
def test_votes_equal_their_formula(engine):
    """1.5 - (D/D_k)^2 for each of three neighbours; f_c = (log(votes_c + 0.1) - mean)/2."""
    x = np.array([[0.0], [1.0], [2.0]])
    made = learner(engine, 1, windows=(5,), neighbours=3, loss="Logistic", outputs=3)
    made.learn(x, np.where(np.array([0, 0, 2])[:, None] == np.arange(3), 1.0, -1.0))
    votes = np.array([1.5 + 1.5 - 1 / 4, 0.0, 1.5 - 1.0])
    logs = np.log(votes + 0.1)
    assert made.scores(np.zeros((1, 1)))[0] == pytest.approx((logs - logs.mean()) / 2, rel=1e-12)
    two = learner(engine, 1, windows=(5,), neighbours=3, loss="Logistic")
    two.learn(x, np.array([[-1.0], [-1.0], [1.0]]))
    logs = np.log(votes[[0, 2]] + 0.1)
    assert two.scores(np.zeros((1, 1)))[0, 0] == pytest.approx((logs[1] - logs.mean()) / 2, rel=1e-12)


@engines
def test_invalid_windows_are_refused(engine):
    for windows in ([5.0, 5.0], [9.0, 5.0], [2.0, 5.0], [5.5, 9.0], [np.nan], [-3.0, 4.0]):
        with pytest.raises(ValueError, match=r"windows|convert"):
            engine.NeighbourMap(2, np.array(windows), 3)
    dense = engine.LandmarkMap(2, 4, engine.RBF(), engine.Fixed(0.0))
    with pytest.raises(ValueError, match="votes by neighbours"):
        engine.Learner([dense], [engine.Expert(0, engine.Vote(engine.Logistic(), 0))])
    map = engine.NeighbourMap(2, np.array([5.0]), 3)
    with pytest.raises(ValueError, match="window that does not exist"):
        engine.Learner([map], [engine.Expert(0, engine.Vote(engine.Logistic(), 1))])


@engines
def test_rows_of_many_features_are_sketched(engine):
    """More than 64 features: 64 signed sums of them, whose squared distances are right on average."""
    features, rng = 200, np.random.default_rng(0)
    made = learner(engine, features, windows=(4,), neighbours=2)
    made.learn(rng.normal(size=(4, features)), np.ones((4, 1)))
    stored = made.state()["map0/recent"]
    assert stored.shape == (4, 64)
    drawn = engine.draw_sketch(features, 0)
    places, factors = np.abs(drawn) - 1, np.sign(drawn) / np.sqrt(features / 64)
    x, z = rng.normal(size=(2, 500, features))
    sketches = [np.array([np.bincount(places.astype(int), row * factors, 64) for row in rows]) for rows in (x, z)]
    ratio = ((sketches[0] - sketches[1]) ** 2).sum(axis=1) / ((x - z) ** 2).sum(axis=1) * features / 64
    assert ratio.mean() == pytest.approx(1.0, abs=0.03)


@builds
@pytest.mark.parametrize("features", [65, 128, 200, 1000])
def test_sketch_of_the_core_is_that_of_the_reference_and_balanced(build, features):
    for seed in (0, 1, 2**53):
        drawn = build.draw_sketch(features, seed)
        assert np.array_equal(drawn, reference.draw_sketch(features, seed))
        counts = np.bincount(np.abs(drawn).astype(int), minlength=65)
        assert counts[0] == 0
        assert np.ptp(counts[1:]) <= 1
        assert abs(np.sign(drawn).sum()) < 5 * np.sqrt(features)


@engines
def test_sketch_that_is_given_is_used_and_checked(engine):
    """A map of a sketch that is given stores the rows of the map that drew it."""
    x, windows, drawn = np.random.default_rng(0).normal(size=(4, 100)), np.array([4.0]), engine.draw_sketch(100, 7)
    stored = []
    for arguments in ({"seed": 7}, {"seed": 0, "drawn": drawn}, {"seed": 0, "drawn": -drawn}):
        map = engine.NeighbourMap(100, windows, 2, **arguments)
        made = engine.Learner([map], [engine.Expert(0, engine.Vote(engine.Logistic(), 0))], engine.Mean())
        made.clear(1)
        made.learn(x, np.ones((4, 1)))
        stored.append(made.state()["map0/recent"])
    assert np.array_equal(stored[0], stored[1])
    assert np.array_equal(stored[0], -stored[2])
    for wrong in (drawn[:-1], 0 * drawn, drawn + 0.5, 65 * np.sign(drawn), np.full(100, np.nan), np.full(100, np.inf)):
        with pytest.raises(ValueError, match="drawn is not the sketch"):
            engine.NeighbourMap(100, windows, 2, drawn=wrong)
    with pytest.raises(ValueError, match="drawn is not the sketch"):
        engine.NeighbourMap(3, windows, 2, drawn=np.ones(3))
