"""Cells: core against reference, the kernel they stand for, contracts, and what they learn."""

import itertools

import numpy as np
import pytest

import nolana.reference as reference
from conftest import core_builds, same_state

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])


def grids(features, count, seed=0, level=1.0):
    """Even grids over all features, odd ones over two."""
    rng = np.random.default_rng(seed)
    pitch = np.maximum(0.05, rng.gamma(2.0, 0.5, size=(count, features))) * level * np.sqrt(features)
    return {
        "order": rng.permutation(features).astype(float),
        "multipliers": (rng.integers(0, 2**31, features) * 2 + 1).astype(float),
        "start": np.where(np.arange(count) % 2 == 0, rng.integers(0, features, count), -1).astype(float),
        "size": np.where(np.arange(count) % 2 == 0, features, min(2, features)).astype(float),
        "salt": rng.integers(0, 2**32, count).astype(float),
        "index": rng.integers(0, features, (count, features)).astype(float),
        "inverse_pitch": 1 / pitch,
        "offset": rng.random((count, features)),
    }


def learner(module, loss="Logistic", outputs=1, features=5, count=12, table=300, **changed):
    map = module.CellMap(features=features, table=table, **(grids(features, count) | changed))
    kind = getattr(module, loss)()
    slow = module.DiagonalCells(kind, variance=3.2 / count, linear=0.1, floor=1e-4)
    fast = module.ConstantCells(kind, gain=6.4 / count, offset=0)
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
@pytest.mark.parametrize("features", [1, 3, 8, 13])
def test_a_cell_of_the_core_is_the_cell_of_the_reference(build, features):
    """Learning one row changes the same slots."""
    arguments = {"features": features, "table": 1000, "count": 40}
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


def test_shared_cells_approximate_the_kernel():
    """For pitches from a gamma distribution the share of common cells is the Laplacian kernel, prod exp(-|d|/level)."""
    rng = np.random.default_rng(5)
    count, features = 4000, 2
    drawn = grids(features, count) | {
        "inverse_pitch": 1 / rng.gamma(2.0, 1.5, size=(count, features)),
        "start": np.zeros(count),
        "size": np.full(count, 2.0),
        "order": np.arange(2.0),
    }
    map = reference.CellMap(features=features, table=2**30, **drawn)
    x = np.zeros(2)
    for z in (np.array([0.5, 0.0]), np.array([1.0, -1.0]), np.array([3.0, 2.0])):
        shared = (map.slots_of(x) == map.slots_of(z)).mean()
        assert shared == pytest.approx(np.exp(-np.abs(z).sum() / 1.5), abs=0.03)


@builds
@cases
def test_split_anywhere_and_restore(build, loss, outputs):
    x, y, weight = rows(300, outputs, loss)
    whole, parts = learner(build, loss, outputs), learner(build, loss, outputs)
    expected = whole.learn(x, y, weight)
    found = []
    for i, j in itertools.pairwise([0, 1, 2, 5, 77, 78, 150, 299, 300]):
        again = learner(build, loss, outputs)
        again.restore(parts.state())
        parts = again
        found.append(parts.learn(x[i:j], y[i:j], weight[i:j]))
    assert np.array_equal(np.concatenate(found), expected)
    assert same_state(whole.state(), parts.state())
    assert whole.memory_bytes == parts.memory_bytes


@engines
def test_what_cells_learn(engine):
    """XOR in one pass, and again after the labels swap."""
    rng = np.random.default_rng(7)
    n = 1500 if engine is reference else 6000
    x = rng.uniform(-1.5, 1.5, size=(n, 2))
    y = np.sign(x[:, :1] * x[:, 1:])
    made = learner(engine, features=2, count=64, table=4000, **grids(2, 64, level=0.5))
    scores = made.learn(x, y)
    assert (np.sign(scores[n // 2 :]) == y[n // 2 :]).mean() > 0.93


@engines
def test_float64_cells_are_refused(engine):
    made = learner(engine)
    state = made.state()
    with pytest.raises(ValueError, match="state: expert0/cells is not an array of float32"):
        made.restore(state | {"expert0/cells": state["expert0/cells"].astype(np.float64)})
    with pytest.raises(ValueError, match="state: expert0/linear is not an array of float64"):
        made.restore(state | {"expert0/linear": state["expert0/linear"].astype(np.float32)})
    assert same_state(made.state(), state)


@engines
def test_grids_and_heads_that_do_not_fit_are_refused(engine):
    for wrong in ({"order": np.zeros(5)}, {"size": np.full(12, 9.0)}, {"index": np.full((12, 5), 7.0)}):
        with pytest.raises(ValueError, match="grid"):
            learner(engine, **wrong)
    dense = engine.LandmarkMap(5, 4, engine.RBF(), engine.Fixed(0.0))
    with pytest.raises(ValueError, match="sparse features"):
        engine.Learner([dense], [engine.Expert(0, engine.DiagonalCells(engine.Logistic(), 0.1, 0.1, 0.0))])
    map = engine.CellMap(features=5, table=300, **grids(5, 12))
    with pytest.raises(ValueError, match="offset of constant cells"):
        engine.Learner([map], [engine.Expert(0, engine.ConstantCells(engine.Logistic(), 0.1, 0))])
