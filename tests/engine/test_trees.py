"""Trees: core against reference at every trigger, splits against an exhaustive search, backfitting, contracts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.experts.trees.leaves import FOLD, SCORE_STEPS
from nolana.engine.experts.trees.tree_map import COARSE, best_split, candidates, leaves_of
from splitting import check_split

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])
cases = pytest.mark.parametrize(("loss", "outputs"), [("Logistic", 1), ("Logistic", 4), ("Squared", 1)])

TRIGGERS = 129, 257, 513, 576, 768, 1024
AROUND = [row + i for row in TRIGGERS for i in (-1, 0, 1)]


def learner(
    module,
    loss="Logistic",
    outputs=1,
    features=6,
    trees=17,
    depth=4,
    rows=400,
    refits=True,
    stacked=False,
    trials=False,
):
    map = module.TreeMap(features, trees, depth, rows, seed=3, refits=refits, trials=trials)
    kind = getattr(module, loss)()
    slow = module.DiagonalLeaves(kind, variance=0.03, floor=1e-4)
    heads = [module.Expert(0, slow), module.Expert(0, module.ConstantLeaves(kind, gain=0.05))]
    start = np.array([0.9, 0.1])
    stack = module.Stack(kind, np.ones(2), np.full(2, 10.0), start, 0.999, 1.0) if stacked else module.Mean()
    made = module.Learner([map], heads, stack)
    made.clear(outputs)
    return made


def rows(n, outputs=1, loss="Logistic", features=6, seed=0):
    """Regions parallel to the axes; weights of 0 too."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    a, b = x[:, 0] > 0.3, x[:, 1] > -0.4
    if loss == "Squared":
        y = (np.where(a, 1.0, -1.0) * np.where(b, 1.0, 0.2) + 0.1 * rng.normal(size=n))[:, None]
    elif outputs == 1:
        y = np.where(a ^ b, 1.0, -1.0)[:, None]
    else:
        y = np.where((2 * a + b)[:, None] == np.arange(outputs), 1.0, -1.0)
    return x, y, rng.choice([0.0, 0.5, 1.0, 3.0], size=n, p=[0.1, 0.1, 0.7, 0.1])


@builds
@cases
@pytest.mark.parametrize("features", [6, 70])
def test_core_equals_reference_at_every_trigger(build, loss, outputs, features):
    """From equal states 20 rows before each trigger. More than 64 features are drawn for each node. Trees are equal;
    scores are sums of integers, so a rounding that went the other way would show as 1e-4."""
    core, mine = (learner(module, loss, outputs, features) for module in (build, reference))
    x, y, _ = rows(1100, outputs, loss, features)
    done = 0
    for row in TRIGGERS:
        core.learn(x[done : row - 20], y[done : row - 20])
        mine.restore(core.state())
        part = slice(row - 20, row + 5)
        assert np.abs(core.learn(x[part], y[part]) - mine.learn(x[part], y[part])).max() < 1e-7
        done = row + 5
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for name in a:
            assert np.asarray(a[name]).dtype == np.asarray(b[name]).dtype, name
            assert np.allclose(a[name], b[name], rtol=0, atol=1e-7), name
    assert core.state()["map0/grown"] == 17
    assert core.state()["map0/oldest"] == 1


@builds
@cases
def test_split_at_every_trigger_and_restore_changes_no_bit(build, loss, outputs):
    data = rows(1400, outputs, loss)
    learned = np.cumsum(data[2] > 0)
    cuts = [int(np.searchsorted(learned, row)) + 1 for row in AROUND]
    whole, parts = check_split(lambda: learner(build, loss, outputs), *data, cuts, restored=True)
    assert whole.memory_bytes == parts.memory_bytes


@builds
@cases
def test_split_around_a_trial_and_restore_changes_no_bit(build, loss, outputs):
    data = rows(2500, outputs, loss)
    learned = np.cumsum(data[2] > 0)
    cuts = [int(np.searchsorted(learned, row)) + 1 for row in (1023, 1024, 1500, 2047, 2048, 2049)]
    check_split(lambda: learner(build, loss, outputs, trials=True), *data, cuts, restored=True)


@builds
@cases
@pytest.mark.parametrize("spoiled", ["now", "before"])
def test_a_tree_on_trial_goes_if_the_one_before_was_clearly_better(build, loss, outputs, spoiled):
    """Core and reference alike. One of the two trees gets leaves that say nothing."""
    x, y, _ = rows(2048, outputs, loss)
    start = learner(build, loss, outputs, trials=True)
    start.learn(x[:1900], y[:1900])
    state = start.state()
    assert state["map0/on_trial"] == 1
    q, last = int(state["map0/oldest"] - 1) % 17, 17
    splits, leaves = state["map0/split_features"], state["expert0/leaves"].reshape(18, 16, outputs)
    noise = np.where(np.add.outer(np.arange(16), np.arange(outputs)) % 2, 1.5, -1.5).astype(np.float32)
    if spoiled == "before":
        leaves[last] += noise
    else:
        leaves[q] += noise
        own = leaves_of(state["map0/codes"], splits[q].astype(int), state["map0/thresholds"][q], [])
        state["expert0/fitted"] += noise[own]
    state["expert0/leaves"] = leaves.reshape(-1, outputs)
    ends = []
    for module in (build, reference):
        made = learner(module, loss, outputs, trials=True)
        made.restore(state)
        made.learn(x[1900:], y[1900:])
        ends.append(made.state())
    for end in ends:
        came_back = (end["map0/split_features"][q] == splits[last]).all()
        came_back &= (end["map0/thresholds"][q] == state["map0/thresholds"][last]).all()
        came_back &= (end["expert0/leaves"].reshape(18, 16, outputs)[q] == leaves[last]).all()
        assert came_back == (spoiled == "now")
        assert end["map0/on_trial"] == 1
        assert end["map0/oldest"] == (q + 2) % 17
    for name in ends[0]:
        assert np.allclose(ends[0][name], ends[1][name], rtol=0, atol=1e-3), name  # a rounding may go the other way


@builds
def test_a_new_class_is_as_unlikely_in_the_tree_before_the_one_on_trial(build):
    core, mine = (learner(module, "Logistic", 4, trials=True) for module in (build, reference))
    x, y, _ = rows(1500, 4)
    core.learn(x, y)
    state = core.state()
    for each in (core, mine):
        each.reserve(5)
        each.restore(state)
        each.append_output()
    a, b = core.state(), mine.state()
    assert a["map0/on_trial"] == 1
    assert (a["expert0/leaves"][:, 4] < 0).all()
    for name in a:
        assert np.allclose(a[name], b[name], rtol=0, atol=1e-7), name


@builds
@pytest.mark.parametrize("loss", ["Logistic", "Squared"])
def test_after_a_drift_alarm_all_trees_are_renewed_every_64_rows(build, loss):
    """Core and reference alike; one tree every 1,024 rows before and afterwards."""
    core, mine = (learner(module, loss, trees=9, stacked=True) for module in (build, reference))
    x, y, _ = rows(3500, loss=loss)
    y[2000:] *= -1
    core.learn(x[:2000], y[:2000])
    mine.restore(core.state())
    assert core.state()["map0/stale"] == 0
    stale = []
    for i in range(2000, 3000, 50):
        part = slice(i, i + 50)
        assert np.abs(core.learn(x[part], y[part]) - mine.learn(x[part], y[part])).max() < 1e-6
        stale.append(core.state()["map0/stale"])
        assert stale[-1] == mine.state()["map0/stale"]
    alarm = int(core.alarms[-1])
    assert 2000 < alarm < 2200
    renewed = [len([row for row in range(alarm + 1, i + 51) if row % 64 == 0]) for i in range(2000, 3000, 50)]
    assert stale == [
        max(0, 9 - n) if i + 50 >= alarm else 0 for i, n in zip(range(2000, 3000, 50), renewed, strict=True)
    ]


def gain_of(codes, g, h, ridge, feature, threshold):
    left = codes[:, feature] <= threshold
    sums = [(g[side].sum() / 1024, h[side].sum() / 1024) for side in (left, ~left, np.ones(len(g), bool))]
    below, above, before = (a * a / (b + ridge) for a, b in sums)
    return below + above - before, min(left.sum(), (~left).sum())


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(16, 90), levels=st.integers(2, 60))
@settings(max_examples=40)
def test_best_split_is_that_of_an_exhaustive_search(seed, n, levels):
    """Over thresholds at borders of bins, of 2 or 4 codes in nodes of few rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-levels, levels + 1, size=(n, 3))
    g = np.where(codes[:, 1] > 3, 500, -400) + rng.integers(-600, 600, n)
    h = rng.integers(1, 1024, n)
    size = 4 if n < COARSE else 2
    gains = [
        gain_of(codes, g, h, 1.0, j, (k + 1) * size - 128) for j in range(3) for k in range(256 // size - 1)
    ]  # bin k has the codes from 4k - 127, or 2k - 127, on
    best = max((gain for gain, rows in gains if rows >= 8), default=0.0)
    split = best_split(codes, g, h, 1.0, np.arange(3), [])
    if best <= 1:
        assert split is None
    else:
        assert gain_of(codes, g, h, 1.0, *split)[0] == pytest.approx(best, rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(16, 90), values=st.integers(2, 12))
@settings(max_examples=40)
def test_categories_are_split_by_one_value_against_all_others(seed, n, values):
    rng = np.random.default_rng(seed)
    codes = rng.integers(values, size=(n, 2))
    g = np.where(codes[:, 1] == 1, 500, -400) + rng.integers(-600, 600, n)
    h = rng.integers(1, 1024, n)
    gains = {(j, v): gain_of(2 * (codes == v) - 1, g, h, 1.0, j, 0) for j in range(2) for v in range(values)}
    best = max((gain for gain, rows in gains.values() if rows >= 8), default=0.0)
    split = best_split(codes, g, h, 1.0, np.arange(2), [0, 1])
    if best <= 1:
        assert split is None
    else:
        assert gains[split][0] == pytest.approx(best, rel=1e-12)
        feature, value = split
        leaf = leaves_of(codes, np.array([feature]), np.array([value]), [0, 1])
        assert np.array_equal(leaf, codes[:, feature] == value)


def test_candidates_of_a_node_are_distinct_and_differ_between_nodes():
    some = [candidates(100, word=9, node=i) for i in range(20)]
    assert all(len(set(each.tolist())) == 64 for each in some)
    assert len({tuple(each) for each in some}) == 20
    assert candidates(64, 9, 0).tolist() == list(range(64))


@cases
def test_stored_scores_after_a_restart_are_those_of_the_trees(loss, outputs):
    """F <- F - w + w of the new tree, from 0: each of 8 trees is rounded to half a step."""
    made = learner(BUILDS[-1], loss, outputs)
    x, y, _ = rows(129, outputs, loss)
    made.learn(x, y)
    state = made.state()
    codes, leaves = state["map0/codes"], state["expert0/leaves"]
    assert state["map0/grown"] == 8
    expected = np.zeros((len(codes), outputs))
    for q in range(8):
        tree = (state[f"map0/{name}"][q].astype(int) for name in ("split_features", "thresholds"))
        expected += leaves[16 * q + leaves_of(codes, *tree, [])]
    assert np.abs(state["expert0/fitted"] - expected).max() <= 8 * 0.5 / SCORE_STEPS + FOLD / 8192
    assert (state["expert1/leaves"] == 0).all()


def test_weight_of_a_row_counts_as_copies_of_it():
    """Gradients are sums of weights: a tree grown on rows of weight 2 is that of each row twice."""
    x, y, _ = rows(64, seed=4)
    codes = np.rint(40 * x).astype(np.int64)
    g, h = np.where(y[:, 0] > 0, 512, -512), np.full(64, 256)
    once = best_split(codes, 2 * g, 2 * h, 1.0, np.arange(6), [2])
    assert once == best_split(np.repeat(codes, 2, axis=0), np.repeat(g, 2), np.repeat(h, 2), 1.0, np.arange(6), [2])


@engines
def test_rows_that_are_predicted_well_are_stored_rarely(engine):
    """All of 129 rows before the first tree; fewer once the regions are known, with a larger weight."""
    n = 1000 if engine is reference else 4000
    made = learner(engine, rows=n)
    x, y, _ = rows(n)
    made.learn(x[:129], y[:129])
    assert made.state()["map0/kept"] == 129
    made.learn(x[129:], y[129:])
    state = made.state()
    assert state["map0/kept"] == len(state["map0/codes"]) < 0.8 * n
    assert state["expert0/row_weights"].sum() == pytest.approx(n, rel=0.1)  # the sum of 1/q is n on average


@engines
@cases
def test_trees_that_do_not_refit_stay_and_store_rows(engine, loss, outputs):
    made, still = learner(engine, loss, outputs), learner(engine, loss, outputs, refits=False)
    x, y, _ = rows(700, outputs, loss)
    made.learn(x[:600], y[:600])
    still.restore(made.state())
    before = still.state()
    still.learn(x[600:], y[600:])
    after = still.state()
    for name in ("map0/split_features", "map0/thresholds", "map0/grown", "map0/oldest"):
        assert np.array_equal(before[name], after[name])
    assert after["map0/kept"] > before["map0/kept"]
    assert not np.array_equal(before["expert0/leaves"], after["expert0/leaves"])


@engines
def test_trees_learn_an_exclusive_or_of_thresholds(engine):
    n = 1500 if engine is reference else 6000
    x, y, _ = rows(n)
    scores = learner(engine, trees=24).learn(x, y)
    assert (np.sign(scores[n // 2 :]) == y[n // 2 :]).mean() > 0.95


@engines
@cases
def test_no_trees_score_nothing(engine, loss, outputs):
    made = learner(engine, loss, outputs, trees=0, rows=1)
    x, y, weight = rows(300, outputs, loss)
    assert (made.learn(x, y, weight) == 0).all()
    again = learner(engine, loss, outputs, trees=0, rows=1)
    again.restore(made.state())
    assert same_state(again.state(), made.state())


@engines
def test_mismatched_maps_and_heads_are_refused(engine):
    for wrong in ({"features": 257}, {"depth": 0}, {"depth": 11}, {"rows": 0}):
        with pytest.raises(ValueError, match=r"256 features|depth|rows"):
            engine.TreeMap(**({"features": 4, "trees": 3, "depth": 2, "rows": 20, "seed": 0} | wrong))
    dense = engine.IdentityMap(4)
    with pytest.raises(ValueError, match="the map has no trees"):
        engine.Learner([dense], [engine.Expert(0, engine.DiagonalLeaves(engine.Logistic(), 0.1, 0.0))])
    map = engine.TreeMap(4, 3, 2, 20, 0)
    with pytest.raises(ValueError, match="first head on trees"):
        engine.Learner([map], [engine.Expert(0, engine.ConstantLeaves(engine.Logistic(), 0.1))])
