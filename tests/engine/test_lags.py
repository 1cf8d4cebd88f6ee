"""Lags: both engines, blocks that are split anywhere, states, seasons and the table of series."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.learner.lags import COLUMNS, season

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])
CASES = {  # lag, rows of the ring, outputs (0: a number), slots
    "last value": (1, 64, 0, 0),
    "horizon of 5": (5, 64, 0, 0),
    "series": (1, 2, 0, 8),
    "series, horizon of 3": (3, 6, 0, 8),
    "two classes": (1, 2, 1, 0),
    "three classes, horizon of 2": (2, 4, 3, 0),
    "three classes, series": (1, 2, 3, 8),
}
cases = pytest.mark.parametrize("case", CASES)
FEATURES = 3  # the last one is the key of the series


def learner_of(module, case):
    lag, rows, outputs, slots = CASES[case]
    loss = module.Squared() if outputs == 0 else module.Logistic()
    width = FEATURES + (COLUMNS if outputs == 0 else 0)
    maps = [module.BinMap(features=width, table=64, grids=6, seed=0), module.IdentityMap(width)]
    heads = [
        module.DiagonalBins(loss, variance=0.1, linear=0.1, floor=1e-4),
        module.FullLinear(loss, variance=0.1, forgetting=0.9999),
    ]
    start = np.full(2, 0.5)
    stack = module.Stack(loss, np.ones(2), np.full(2, 10.0), start, 0.999, 1.0, follows=outputs == 0, knows=True)
    units = {"scaling": module.RobustScaling(width), "lags": module.Lags(lag, rows, outputs > 0, slots, FEATURES - 1)}
    if outputs == 0:
        units["target_scaling"] = module.RobustScaling(1, follows_level=False)
    learner = module.Learner(maps, [module.Expert(i, head) for i, head in enumerate(heads)], stack, **units)
    if outputs:
        learner.clear(outputs)
    return learner


def rows_of(case, n=300, seed=0):
    outputs = CASES[case][2]
    rng = np.random.default_rng(seed)
    x = np.c_[rng.normal(size=(n, 2)), rng.integers(0, 12, n).astype(float)]
    walk = np.cumsum(rng.normal(size=n)) + x[:, 0] + 1000
    weight = ((rng.random(n) > 0.1) | (np.arange(n) < 16)).astype(float)  # anchors need 16 learned rows
    if outputs == 0:
        return x, walk[:, None], weight
    labels = (np.abs(walk).astype(int) // 3) % max(2, outputs)
    y = np.where(labels == 1, 1.0, -1.0)[:, None] if outputs == 1 else np.where(np.eye(outputs)[labels] > 0, 1.0, -1.0)
    return x, y, weight


def anchored(learner, x, y, weight, cuts):
    """Scores of blocks that end at these rows, with anchors after row 16, and of three rows that are not learned."""
    scores = []
    for start, stop in zip([0, *cuts], [*cuts, len(x)], strict=True):
        scores.append(learner.learn(x[start:stop], y[start:stop], weight[start:stop]))
        if stop == 16:
            learner.scaling.anchor()
            if learner.target_scaling is not None:
                learner.target_scaling.anchor()
    return np.concatenate([*scores, learner.scores(x[:3])])


@builds
@cases
def test_learner_with_lags_core_equals_numpy(build, case):
    core, mine = learner_of(build, case), learner_of(reference, case)
    x, y, weight = rows_of(case)
    a, b = anchored(core, x, y, weight, [16]), anchored(mine, x, y, weight, [16])
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)
    mine_state, state = mine.state(), core.state()
    assert state.keys() == mine_state.keys()
    for name in (name for name in state if name.startswith("lags/")):
        np.testing.assert_allclose(state[name], mine_state[name], rtol=1e-6, atol=1e-6, err_msg=name)


def learned_late(learner, x, y, delay=5):
    """Scores of rows that are learned so many rows later, each with the moment of its score."""
    waiting, scores = [], []
    for i in range(len(x)):
        row = np.hstack([x[i : i + 1], learner.moments(x[i : i + 1])])
        scores.append(learner.scores(row))
        waiting.append((row, y[i : i + 1]))
        if len(waiting) > delay:
            learner.learn(*waiting.pop(0))
    return np.concatenate(scores)


@builds
@cases
def test_rows_learned_late_with_their_moments_core_equals_numpy(build, case):
    x, y, weight = rows_of(case, 120)
    core, mine = learner_of(build, case), learner_of(reference, case)
    for learner in (core, mine):
        anchored(learner, x[:20], y[:20], weight[:20], [16])
    np.testing.assert_allclose(learned_late(core, x[20:], y[20:]), learned_late(mine, x[20:], y[20:]), atol=1e-7)
    state = mine.state()
    for name, value in core.state().items():
        if name.startswith("lags/"):
            np.testing.assert_allclose(value, state[name], rtol=1e-6, atol=1e-6, err_msg=name)


@engines
@cases
def test_moment_is_what_the_prediction_knew(engine, case):
    """A row that is scored with its moment scores the same, also when others have been learned since."""
    x, y, weight = rows_of(case, 100)
    learner = learner_of(engine, case)
    anchored(learner, x[:60], y[:60], weight[:60], [16])
    moment = learner.moments(x[60:61])
    expected = learner.scores(x[60:61])
    np.testing.assert_allclose(learner.scores(np.hstack([x[60:61], moment])), expected, rtol=1e-9)
    weights = learner.state(["stack_weights"])["stack_weights"]
    learner.learn(x[61:], y[61:])
    assert not np.allclose(learner.scores(x[60:61]), expected, rtol=1e-3)
    if CASES[case][2] == 0:  # the experts are remembered; the stack has learned
        columns = moment[0, :COLUMNS]
        assert np.array_equal(learner.moments(x[60:61])[0, :COLUMNS], columns, equal_nan=True) is False
        assert not np.array_equal(learner.state(["stack_weights"])["stack_weights"], weights)


@engines
@cases
def test_row_with_an_infinite_moment_is_learned_as_if_it_came_now(engine, case):
    x, y, weight = rows_of(case, 80)
    plain, marked = learner_of(engine, case), learner_of(engine, case)
    wide = np.hstack([x, np.full((len(x), plain.moments(x[:1]).shape[1]), np.inf)])
    expected = plain.learn(x, y, weight)
    assert np.array_equal(marked.learn(wide, y, weight), expected)
    assert same_state(marked.state(), plain.state())


@engines
@cases
def test_block_split_anywhere_same_bits(engine, case):
    x, y, weight = rows_of(case, 80)
    whole = learner_of(engine, case)
    expected = anchored(whole, x, y, weight, [16])
    for cut in (17, 18, 19, 21, 50):
        parts = learner_of(engine, case)
        assert np.array_equal(anchored(parts, x, y, weight, [16, cut]), expected)
        assert same_state(parts.state(), whole.state())


@engines
@cases
def test_restored_state_continues_same_bits(engine, case):
    x, y, weight = rows_of(case, 120)
    whole, first, second = (learner_of(engine, case) for _ in range(3))
    expected = anchored(whole, x, y, weight, [16])
    anchored(first, x[:60], y[:60], weight[:60], [16])
    before = first.state()
    second.restore(before)
    assert same_state(second.state(), before)
    assert np.array_equal(second.learn(x[60:], y[60:], weight[60:]), expected[60:-3])


@engines
@cases
def test_scores_change_no_state(engine, case):
    learner = learner_of(engine, case)
    x, y, weight = rows_of(case, 50)
    anchored(learner, x, y, weight, [16])
    before = learner.state()
    learner.scores(x)
    learner.learn(x, y, np.zeros(len(x)))
    assert same_state(learner.state(), before)


def test_columns_by_hand():
    """Those of two rows before, as long as the targets persist."""
    lags = reference.Lags(2, 64)
    y = np.cumsum(np.random.default_rng(0).normal(size=100))
    x = np.zeros(1)
    for t, target in enumerate(y):
        columns = lags.look(x, True).columns
        if not lags.persists:
            assert columns.tolist() == [y[0], 0.0, 0.0, 0.0]
        elif t < 2:
            assert np.isnan(columns).all()
        elif t > 2:
            assert columns[:2] == pytest.approx([y[t - 2], y[t - 2] - y[t - 3]])
        lags.observe(x, target, 0.0)
    assert lags.persists
    assert lags.look(x, False).columns[0] == y[-1]  # a row that is scored alone: two rows after the last learned one


def test_independent_targets_have_constant_columns():
    lags = reference.Lags(1, 256)
    y = np.random.default_rng(0).lognormal(size=2000)
    for t, target in enumerate(y):
        lags.observe(np.zeros(1), target, 0.0)
        assert t < 63 or lags.look(np.zeros(1), True).columns.tolist() == [y[0], 0.0, 0.0, 0.0]


def test_series_have_their_own_last_target():
    """Two series of other levels; a third one is unknown."""
    lags = reference.Lags(1, 2, slots=8, group=0)
    for i in range(10):
        lags.observe(np.array([float(i % 2)]), 100.0 * (i % 2) + i, 0.0)
    assert lags.look(np.array([0.0]), True).columns[0] == 8
    assert lags.look(np.array([1.0]), True).columns[0] == 109
    assert np.isnan(lags.look(np.array([2.0]), True).columns).all()


def test_least_recently_learned_series_is_forgotten_first():
    lags = reference.Lags(1, 2, slots=8, group=0)
    for key in (*range(8), 0, 8):
        lags.observe(np.array([float(key)]), 10.0 + key, 0.0)
    known = [key for key in range(9) if not np.isnan(lags.look(np.array([float(key)]), True).columns[0])]
    assert known == [0, *range(2, 9)]


def test_noise_and_random_walks_have_no_season():
    found = 0
    for seed in range(100):
        noise = np.random.default_rng(seed).normal(size=1024)
        found += season(noise) > 0
        found += season(np.cumsum(noise)) > 0
    assert found <= 4  # of 200; five standard errors, about 500 periods each


@pytest.mark.parametrize("period", [7, 24, 168])
def test_season_of_a_periodic_target_is_found(period):
    rng = np.random.default_rng(period)
    shape = rng.normal(size=period)
    y = np.tile(shape, 1024 // period + 1)[:1024] + 0.5 * rng.normal(size=1024)
    assert season(y) == period


@engines
@pytest.mark.parametrize("arguments", [(0, 64), (2049, 8192), (40, 64), (1, 64, False, 6)])
def test_invalid_arguments_are_refused(engine, arguments):
    if engine is reference and arguments[0] in (0, 2049):
        pytest.skip("ranges of the NumPy engine are type hints, which specs check")
    with pytest.raises(ValueError, match=r"lag|ring|table"):
        engine.Lags(*arguments)
