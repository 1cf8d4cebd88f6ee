"""The watch on growing features: core against reference, split anywhere, and what counts as growth."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])
FACTOR = 1 / 50  # a unit is 50


def columns(n, seed=0):
    """By name: what grows, then what does not."""
    rng = np.random.default_rng(seed)
    count = np.arange(float(n))
    grows = {
        "row number": count,
        "falling": -count,
        "time": 1.7e9 + np.cumsum(rng.exponential(30.0, n)),
        "day": np.floor(count / 20),
        "one outlier": np.where(count == 300, -9999.0, count),
        "some steps back": count - 1.5 * (count % 150 == 0),
    }
    stays = {
        "noise": rng.normal(size=n) * 50,
        "random walk": np.cumsum(rng.normal(size=n)) * 50,
        "starts again": count % 400,
        "hour": np.floor(count / 4) % 24,
        "constant": np.full(n, 3.0),
        "one level": np.where(count < 200, 0.0, 1.0),
    }
    return grows, stays


def follow(watch, x, weight=None, factor=None):
    """Rows learned, with checks where they are due; the rows of the checks that found a change."""
    factor = np.full(x.shape[1], FACTOR) if factor is None else factor
    changed = []
    for i in range(len(x)):
        watch.observe(x[i : i + 1], None if weight is None else weight[i : i + 1], factor)
        if watch.check():
            changed.append(int(watch.rows))
    return changed


@engines
def test_growing_features_are_detected_and_others_are_not(engine):
    grows, stays = columns(900)
    watch = engine.GrowthWatch(len(grows) + len(stays))
    follow(watch, np.column_stack([*grows.values(), *stays.values()]))
    found = dict(zip([*grows, *stays], watch.state()["growing"], strict=True))
    assert found == dict.fromkeys(grows, 1.0) | dict.fromkeys(stays, 0.0)


@engines
def test_a_feature_is_released_when_it_starts_again_or_turns_to_noise(engine):
    rng = np.random.default_rng(0)
    n = 2000
    back = np.arange(float(n)) % 1000
    noise = np.where(np.arange(n) < 600, np.arange(n), rng.normal(size=n) * 50)
    watch = engine.GrowthWatch(3)
    assert follow(watch, np.column_stack([back, noise, rng.normal(size=n)])) == [128, 640, 1024]
    assert not watch.state()["growing"].any()


@engines
def test_none_counts_as_growing_if_all_features_grow(engine):
    watch = engine.GrowthWatch(2)
    assert follow(watch, np.column_stack([np.arange(600.0), np.arange(600.0) ** 2])) == []


@engines
def test_rows_of_weight_0_are_ignored(engine):
    rng = np.random.default_rng(0)
    x = np.column_stack([np.arange(600.0), rng.normal(size=600)])
    weight = np.ones(600)
    weight[::3] = 0
    x[::3, 0] = -1e6
    watch, plain = engine.GrowthWatch(2), engine.GrowthWatch(2)
    follow(watch, x, weight)
    follow(plain, x[weight > 0])
    assert same_state(watch.state(), plain.state())
    assert watch.state()["growing"].tolist() == [1.0, 0.0]


@builds
def test_core_equals_reference_however_rows_are_cut(build):
    grows, stays = columns(700)
    x = np.ascontiguousarray(np.column_stack([*grows.values(), *stays.values()]))
    factor = np.random.default_rng(1).uniform(0, 0.1, x.shape[1])
    core, mine = build.GrowthWatch(x.shape[1]), reference.GrowthWatch(x.shape[1])
    follow(mine, x, factor=factor)
    for start in range(0, 700, 4):  # every check is at a multiple of 4 rows
        core.observe(x[start : start + 4], None, factor)
        core.check()
        copy = build.GrowthWatch(x.shape[1])
        copy.restore(core.state())
        core = copy
    assert same_state(core.state(), mine.state())
