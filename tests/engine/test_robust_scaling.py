"""Robust scaling: core against reference, split anywhere, outliers, counters, features that wake up."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.learner.schedule import any_anchor_row

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


def rows(n=900, seed=0):
    """A normal feature, heavy tails, a counter, a constant that wakes up, one that shrinks, one wild early value."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    x[:, 1] = rng.standard_cauchy(n)
    x[:, 2] = 1.7e9 + np.arange(n)
    x[:600, 3] = 4.0
    x[600:, 4] *= 1e-3
    x[2, 5] = -9999.0
    return x


def follow(scaling, x):
    """Scaled rows, with anchors set where they are due."""
    out, start = [], 0
    while start < len(x):
        stop = min(len(x), start + any_anchor_row(scaling.rows) - scaling.rows)
        out.append(scaling.apply(x[start:stop]))
        scaling.observe(x[start:stop])
        scaling.anchor()
        start = stop
    return np.concatenate(out)


@engines
def test_rows_before_the_first_anchor_stay_as_they_are(engine):
    """Those alone, however they come: the state is that of a scaling that takes them to 0."""
    x = rows(40)
    one, plain = engine.RobustScaling(6, keeps_first=True), engine.RobustScaling(6)
    weight = np.array([0.0, 1.0, 0.0, 1.0])
    assert np.array_equal(one.advance(x[:4], weight), x[:4])
    assert np.array_equal(plain.advance(x[:4], weight), 0 * x[:4])
    assert same_state(one.state(), plain.state())
    for each in (one, plain):
        each.anchor()
    assert np.array_equal(one.apply(x), plain.apply(x))
    assert np.array_equal(one.advance(x), plain.advance(x))
    assert same_state(one.state(), plain.state())


@builds
def test_core_equals_reference(build):
    core, mine = build.RobustScaling(6), reference.RobustScaling(6)
    a, b = follow(core, rows()), follow(mine, rows())
    assert np.allclose(a, b, rtol=1e-9, atol=1e-9)
    first, second = core.state(), mine.state()
    assert first.keys() == second.keys()
    for name in first:
        assert np.allclose(first[name], second[name], rtol=1e-9, atol=1e-12), name


@engines
def test_split_anywhere_and_restore(engine):
    x = rows(700)
    whole, parts = engine.RobustScaling(6), engine.RobustScaling(6)
    expected = follow(whole, x)
    found = []
    for i in range(0, 700, 7):
        copy = engine.RobustScaling(6)
        copy.restore(parts.state())
        parts = copy
        for row in x[i : i + 7]:
            found.append(parts.apply(row[None]))
            parts.observe(row[None])
            if parts.rows >= 2 and (parts.rows & (parts.rows - 1) == 0 or parts.rows % 64 == 0):
                parts.anchor()
    assert np.array_equal(np.concatenate(found), expected)
    assert same_state(whole.state(), parts.state())


@engines
def test_scaled_rows_are_bounded_and_standard(engine):
    rng = np.random.default_rng(1)
    x = 1e6 + 50 * rng.normal(size=(2000, 2))
    scaling = engine.RobustScaling(2)
    follow(scaling, x[:1000])
    z = scaling.apply(x[1000:])
    assert np.abs(z.mean(axis=0)).max() < 0.2
    assert np.abs(z.std(axis=0) - 0.9).max() < 0.2  # the tail is logarithmic from one deviation on
    assert np.abs(scaling.apply(np.array([[1e300, -1e300]]))).max() <= 13
    assert np.isfinite(scaling.apply(np.array([[1e300, -1e300]]))).all()


@engines
@pytest.mark.parametrize("place", [2, 50, 900])
def test_one_outlier_does_not_set_the_scale(engine, place):
    x = np.random.default_rng(2).normal(size=(2000, 1))
    wild = x.copy()
    wild[place] = -9999.0
    clean, dirty = engine.RobustScaling(1), engine.RobustScaling(1)
    follow(clean, x)
    follow(dirty, wild)
    assert dirty.state()["factor"][0] == pytest.approx(clean.state()["factor"][0], rel=0.35)


@engines
def test_a_constant_feature_is_zero_until_it_wakes_up(engine):
    x = np.full((2000, 1), 3.0)
    x[1000:, 0] += np.random.default_rng(3).normal(size=1000)
    scaling = engine.RobustScaling(1)
    z = follow(scaling, x)
    assert (z[:1000] == 0).all()
    assert z[1700:].std() > 0.3


@builds
def test_metric_scales_the_result_of_apply_alone(build):
    x, metric = rows(), np.array([0.1, 0.5, 1.0, 1.5, 2.0, 0.7])
    for engine in (build, reference):
        plain, scaled = engine.RobustScaling(6), engine.RobustScaling(6)
        follow(plain, x[:300])
        follow(scaled, x[:300])
        scaled.restore(scaled.state() | {"metric": metric})
        assert np.allclose(scaled.apply(x), metric * plain.apply(x), rtol=1e-15)
        follow(plain, x[300:])
        follow(scaled, x[300:])
        assert same_state(plain.state() | {"metric": metric}, scaled.state())
        assert (np.abs(scaled.apply(np.full((1, 6), 1e300))) <= 13 * metric + 1e-12).all()


@engines
def test_restore_refuses_out_of_range_states(engine):
    scaling = engine.RobustScaling(6)
    follow(scaling, rows(10))
    state = scaling.state()
    wrong = [{"metric": np.append(np.ones(5), value)} for value in (0.0, -1.0, np.nan)]
    wrong += [{name: np.ones(5)} for name in state if name not in ("rows", "first")]
    wrong += [{"rows": value} for value in (-1.0, 0.5, np.nan)]
    wrong += [{"first": np.zeros((17, 6))}, {"first": np.zeros((3, 5))}]
    for each in wrong:
        with pytest.raises(ValueError, match=f"state: {next(iter(each))}"):
            scaling.restore(state | each)
        assert same_state(scaling.state(), state)


@engines
@pytest.mark.parametrize("change", [lambda x: 1000 * x, lambda x: x + 5000], ids=["unit", "level"])
def test_a_feature_that_leaves_its_range_has_a_new_anchor(engine, change):
    x = 10 * np.random.default_rng(4).normal(size=(1200, 1)) + 100
    x[700:] = change(x[700:])
    scaling = engine.RobustScaling(1)
    follow(scaling, x[:840])
    z = scaling.apply(x[840:])
    assert abs(z.mean()) < 0.5
    assert 0.5 < z.std() < 1.5


@engines
def test_a_counter_has_few_new_anchors(engine):
    scaling = engine.RobustScaling(1)
    follow(scaling, np.arange(40_000.0)[:, None])
    assert 1 <= scaling.state()["moved"][0] <= 8  # 6
