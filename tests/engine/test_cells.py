"""Cells: core against reference, the kernel they stand for, contracts, and what they learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.experts.bins.grids import Grids, level
from splitting import check_split

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


def learner(module, loss="Logistic", outputs=1, features=5, grids=12, table=300, probes=False, relevance=None):
    map = module.BinMap(features=features, table=table, grids=grids, seed=0, relevance=relevance)
    kind = getattr(module, loss)()
    slow = module.DiagonalBins(kind, variance=3.2 / grids, linear=0.1, floor=1e-4, probes=probes)
    fast = module.ConstantBins(kind, gain=6.4 / grids, offset=0)
    made = module.Learner([map], [module.Expert(0, slow), module.Expert(0, fast)], module.Mean())
    made.clear(outputs)
    return made


def rows(n, outputs=1, loss="Logistic", features=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    y = x[:, :1] * x[:, 1:2] + 0.3 * x[:, 2:3] if loss == "Squared" else np.sign(x[:, :1] * x[:, 1:2])
    if outputs > 1:
        own = ((x[:, 0] > 0) + (x[:, 1] > 0)).astype(int)
        y = np.where(own[:, None] == np.arange(outputs), 1.0, -1.0)
    return x, y, rng.choice([0.0, 0.5, 1.0, 3.0], size=n)


CASES = [("Logistic", 1), ("Logistic", 3), ("Squared", 1)]
cases = pytest.mark.parametrize(("loss", "outputs"), CASES)


@builds
@cases
def test_core_equals_reference(build, loss, outputs):
    """Bound: single precision in the table, so a last bit of a cell may differ, 6e-8 of its size."""
    core, mine = learner(build, loss, outputs), learner(reference, loss, outputs)
    for seed in range(4):
        mine.restore(core.state())
        data = rows(60, outputs, loss, seed=seed)
        assert np.abs(core.learn(*data) - mine.learn(*data)).max() < 1e-6
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for name in a:
            assert np.asarray(a[name]).dtype == np.asarray(b[name]).dtype, name
            assert np.allclose(a[name], b[name], rtol=1e-6, atol=1e-6), name


@builds
@pytest.mark.parametrize("features", [1, 3, 8, 13, 64, 65, 130])
def test_bin_of_a_row_is_the_same_in_core_and_numpy(build, features):
    """Learning one row changes the same slots."""
    arguments = {"features": features, "table": 1000, "grids": 40}
    core, mine = learner(build, **arguments), learner(reference, **arguments)
    for seed in range(20):
        x, y, _ = rows(1, features=max(3, features), seed=seed)
        x = np.ascontiguousarray(3 * x[:, :features])
        core.clear(1)
        mine.clear(1)
        core.learn(x, y)
        mine.learn(x, y)
        for name in ("expert0/cells", "expert1/cells"):
            assert np.array_equal(core.state()[name] != 0, mine.state()[name] != 0)


def test_share_of_common_bins_approximates_the_kernel():
    """Pitches of level L over n features are Gamma(2, L sqrt(n)/2), for which two rows share a cell with probability
    exp(-2 |d|_1/(L sqrt n)); over two features the smaller grids take each of them twice, or both."""
    grids = 8000
    map = reference.BinMap(features=2, table=2**30, grids=grids, seed=5)
    levels = 4.0 * (1 / 8) ** (np.arange(grids // 2) / (grids // 2 - 1))
    x = np.zeros(2)
    for z in (np.array([0.5, 0.0]), np.array([1.0, -1.0]), np.array([3.0, 2.0])):
        both, first, second = (
            np.exp(-2 * distance / (levels * np.sqrt(2))).mean() for distance in (np.abs(z).sum(), *(2 * np.abs(z)))
        )
        shared = map.slots_of(x) == map.slots_of(z)
        # 4,000 draws: a deviation is below 0.008; the smallest pitch, and a common value of two pitches, add 0.01.
        assert shared[: grids // 2].mean() == pytest.approx(both, abs=0.035)
        assert shared[grids // 2 :].mean() == pytest.approx((2 * both + first + second) / 4, abs=0.035)


@builds
@cases
def test_split_anywhere_and_restore(build, loss, outputs):
    data, cuts = rows(300, outputs, loss), (1, 2, 5, 77, 78, 150, 299)
    whole, parts = check_split(lambda: learner(build, loss, outputs), *data, cuts, restored=True)
    assert whole.memory_bytes == parts.memory_bytes


@engines
def test_bins_learn_xor_in_one_pass(engine):
    """XOR in one pass, and again after the labels swap."""
    rng = np.random.default_rng(7)
    n = 1500 if engine is reference else 6000
    x = rng.uniform(-1.5, 1.5, size=(n, 2))
    y = np.sign(x[:, :1] * x[:, 1:])
    made = learner(engine, features=2, grids=64, table=4000)
    scores = made.learn(x, y)
    assert (np.sign(scores[n // 2 :]) == y[n // 2 :]).mean() > 0.93


@engines
def test_restore_refuses_float64_tables(engine):
    made = learner(engine)
    state = made.state()
    with pytest.raises(ValueError, match="state: expert0/cells is not an array of float32"):
        made.restore(state | {"expert0/cells": state["expert0/cells"].astype(np.float64)})
    with pytest.raises(ValueError, match="state: expert0/linear is not an array of float64"):
        made.restore(state | {"expert0/linear": state["expert0/linear"].astype(np.float32)})
    assert same_state(made.state(), state)


@engines
def test_mismatched_grids_and_heads_are_refused(engine):
    for wrong in (np.ones(4), np.ones(6), np.zeros(5), np.array([1.0, 1, -1, 1, 1]), np.full(5, np.nan)):
        with pytest.raises(ValueError, match="relevance has one positive number for each feature"):
            learner(engine, relevance=wrong)
    for wrong in ({"features": 0}, {"grids": 0}, {"table": 0}, {"table": 2**31 + 1}):
        with pytest.raises(ValueError, match=r"map needs|slots"):
            engine.BinMap(**({"features": 5, "table": 300, "grids": 12, "seed": 0} | wrong))
    dense = engine.LandmarkMap(5, 4, engine.RBF(), engine.Fixed(0.0))
    with pytest.raises(ValueError, match="sparse features"):
        engine.Learner([dense], [engine.Expert(0, engine.DiagonalBins(engine.Logistic(), 0.1, 0.1, 0.0))])
    map = engine.BinMap(features=5, table=300, grids=12, seed=0)
    with pytest.raises(ValueError, match="offset of constant cells"):
        engine.Learner([map], [engine.Expert(0, engine.ConstantBins(engine.Logistic(), 0.1, 0))])


@engines
@cases
def test_restore_without_tables_continues_with_empty_ones(engine, loss, outputs):
    """A state without tables continues with empty ones, of another size too; one that is refused changes nothing."""
    made, other = learner(engine, loss, outputs), learner(engine, loss, outputs, table=200)
    data = rows(80, outputs, loss)
    made.learn(*data)
    whole, state = made.state(), made.state(tables=False)
    tables = {"expert0/cells", "expert0/variances", "expert1/cells"}
    assert whole.keys() - state.keys() == tables
    assert same_state(state, {name: whole[name] for name in state})
    with pytest.raises(ValueError, match="state: expert0/cells is missing"):
        made.restore(state)
    with pytest.raises(ValueError, match="state: rows holds"):
        made.restore(state | {"rows": -1.0}, tables=False)
    assert same_state(made.state(), whole)
    for each in (made, other):
        each.restore(state, tables=False)
        after = each.state()
        assert same_state({name: after[name] for name in state}, state)
        assert not after["expert0/cells"].any()
        assert not after["expert1/cells"].any()
        assert np.ptp(after["expert0/variances"]) == 0
        assert after["expert0/variances"][0] == learner(engine).state()["expert0/variances"][0]


# The draw


@builds
@given(
    features=st.sampled_from([1, 2, 3, 5, 8, 20, 63, 64, 65, 200]),
    grids=st.integers(1, 300),
    seed=st.integers(0, 2**53),
    relevant=st.booleans(),
    mixed=st.booleans(),
)
def test_grids_of_the_core_are_those_of_the_reference(build, features, grids, seed, relevant, mixed):
    relevance = np.sqrt(np.arange(1.0, features + 1)) if relevant else None
    drawn = build.draw_grids(features, grids, seed, relevance, mixed)
    assert np.array_equal(drawn, reference.draw_grids(features, grids, seed, relevance, mixed))


@engines
def test_grids_that_are_drawn_never_change(engine):
    """A file holds the seed alone: these sums were written down when the draw was."""
    sums = []
    for features, relevance in ((3, None), (20, np.arange(1.0, 21)), (100, None)):
        drawn = engine.draw_grids(features, 40, 12345, relevance)
        sums.append(int((drawn.astype(np.uint64) * np.arange(1, len(drawn) + 1, dtype=np.uint64)).sum()))
    assert sums == [22432956193928, 31567122469294, 274339357234968]


def test_features_of_smaller_grids_come_up_by_their_relevance():
    """90 % by relevance, 10 % evenly; without a relevance all evenly. Chi-squared of 9 degrees: 28 once in 1,000."""
    relevance = np.arange(1.0, 11)
    for own, chances in ((relevance, 0.9 * relevance / relevance.sum() + 0.01), (None, np.full(10, 0.1))):
        drawn = Grids.of(10, 2000, reference.draw_grids(10, 2000, 3, own))
        small = [index[:, : b.used].ravel() for b, index in zip(drawn.bundles, drawn.index, strict=True) if b.half]
        counts = np.bincount(np.concatenate(small), minlength=10)
        assert ((counts - counts.sum() * chances) ** 2 / (counts.sum() * chances)).sum() < 28


def test_pitches_are_gamma_and_offsets_uniform():
    """Inverse pitches of level L, one feature: 2048/(L max(0.05, e)), e of Gamma(2, 1/2), to a step (Kolmogorov)."""
    drawn = Grids.of(1, 32_000, reference.draw_grids(1, 32_000, 1, None))
    levels = np.array([level(b.first + lane * b.stride, b.count) for b in drawn.bundles for lane in range(b.used)])
    used = [slice(0, b.used) for b in drawn.bundles]
    pitch = np.concatenate([p[0, u] for p, u in zip(drawn.inverse_pitch, used, strict=True)])
    e = 2048 / pitch / levels
    order = np.sort(e)
    wanted = 1 - np.exp(-2 * order) * (1 + 2 * order)  # of Gamma(2, 1/2)
    above = order > 0.06
    assert np.abs(wanted - np.arange(len(e)) / len(e))[above].max() < 2 / np.sqrt(len(e))
    offset = np.concatenate([p[0, u] for p, u in zip(drawn.offset, used, strict=True)])
    assert np.abs(np.bincount(offset, minlength=64) / len(offset) - 1 / 64).max() < 5 * np.sqrt(1 / 64 / len(offset))


@engines
def test_grids_that_are_given_are_used_and_checked(engine):
    drawn = engine.draw_grids(5, 12, 0)
    maps = [engine.BinMap(features=5, table=300, grids=12, seed=seed, drawn=drawn if seed else None) for seed in (0, 9)]
    cells = []
    for map in maps:
        made = engine.Learner(
            [map], [engine.Expert(0, engine.DiagonalBins(engine.Logistic(), 0.1, 0.1, 0.0))], engine.Mean()
        )
        made.clear(1)
        made.learn(*rows(30))
        cells.append(made.state()["expert0/cells"])
    assert np.array_equal(*cells)
    changed = {0: 2.0**16, 128: 2.0**32, -1: -1.0, 1: 0.5, 2: np.nan, 3: np.inf, -2: 5 * 2.0**21}  # a sixth feature
    wrong = [np.where(np.arange(len(drawn)) == p % len(drawn), value, drawn) for p, value in changed.items()]
    for each in (drawn[:-1], np.append(drawn, 0.0), *wrong):
        with pytest.raises(ValueError, match="drawn is not the list"):
            engine.BinMap(features=5, table=300, grids=12, seed=0, drawn=each)
