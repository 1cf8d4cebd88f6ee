"""Targets whose unit becomes smaller so slowly, or in the parts of a merge, that their usual steps do too."""

import numpy as np
import pytest

import nolana
from nolana import StreamRegressor, backend
from nolana import engine as reference


def function(x):
    return x[:, 0] + np.sin(2 * x[:, 1])


def r2(y, predicted):
    return 1 - np.mean((y - predicted) ** 2) / y.var()


@pytest.mark.parametrize("half_life", [1000, 3000])
def test_targets_that_shrink_slowly_by_1000_are_learned_in_their_unit(half_life):
    """Without an anchor R2 is -.8 and -.7."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12 * half_life + 1000, 3))
    t = np.clip(np.arange(len(x)) - 1000, 0, 10 * half_life)
    y = 2.0 ** (-t / half_life) * (function(x) + 0.1 * rng.normal(size=len(x)))
    scores = StreamRegressor(memory="64KB", random_state=0).learn(x, y)
    assert r2(y[-1500:], scores[-1500:]) >= 0.95


def test_targets_in_a_smaller_unit_in_all_parts_are_learned_in_it_after_the_merge():
    """Without an anchor R2 stays below .4."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    base = StreamRegressor(memory="64KB", random_state=0)
    base.learn(x, function(x))
    parts = base.split(2)
    for part in parts:
        x = rng.normal(size=(3000, 3))
        part.learn(x, 0.001 * function(x))
    x = rng.normal(size=(3000, 3))
    y = 0.001 * function(x)
    scores = nolana.merge(parts, base=base).learn(x, y)
    assert r2(y[1000:], scores[1000:]) >= 0.95


def test_unit_of_targets_is_the_same_after_a_constant_stretch():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(6000, 1))
    y[2000:5000] = 0.0
    scaling = reference.RobustScaling(1, follows_level=False)
    factors = []
    for row in y:
        scaling.observe(row[None])
        if scaling.rows <= 512 or scaling.rows % 64 == 0:
            scaling.anchor()
        factors.append(float(scaling.factor[0]))
    assert len(set(factors[512:])) == 1


def test_core_and_reference_set_the_same_anchors_of_shrinking_targets():
    rng = np.random.default_rng(0)
    y = 2.0 ** (-np.arange(9000) / 800)[:, None] * rng.normal(size=(9000, 1))
    both = [module.RobustScaling(1, follows_level=False) for module in (reference, backend.backend())]
    late = 0
    for i in range(0, len(y), 64):
        due = []
        for scaling in both:
            scaling.observe(np.ascontiguousarray(y[i : i + 64]))
            due.append(bool(np.asarray(scaling.anchor()).any()))
        assert due[0] == due[1]
        late += due[0] and i + 64 > 512
        assert np.allclose(both[0].state()["factor"], both[1].state()["factor"], rtol=1e-9)
    assert late > 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_targets_that_change_their_size_again_and_again_are_learned(seed):
    """600 rows, 600 of a hundredth, and so on: R2 of the large ones, .63 to .80; -8.5 if a unit is followed twice."""
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(12_000, 3)), np.arange(12_000)
    y = x[:, 0] + np.sin(2 * x[:, 1]) + 0.1 * rng.normal(size=len(x))
    small = t // 600 % 2 == 1
    y = np.where(small, 0.01 * y, y)
    error = StreamRegressor(memory="64KB", random_state=0).learn(x, y) - y
    large = ~small & (t >= 1000)
    assert 1 - np.mean(error[large] ** 2) / y[large].var() > 0.5
