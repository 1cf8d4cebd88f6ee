"""The rules of merging against what they stand for: simulations, closed forms, all rows at once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolana
from nolana.engine import RobustScaling
from nolana.engine.learner.losses import Squared
from nolana.engine.learner.stack import Stack
from nolana.experts.information import forgotten
from nolana.experts.parts import Gain, Parts
from nolana.learner.moments import merge_scaling, merge_v01_scaling
from nolana.learner.stack import merge_stack
from nolana.modelfile.specs import Spec

GAINS = [Gain(1 / 256), Gain(1 / 256, 3.0, 3.0), Gain(0.002, 1.0, 10.0), Gain(0.001, 1.0)]


def running_mean(start, before, gain, values):
    for t, value in enumerate(values, before + 1):
        start += min(1.0, max(gain.slowest, gain.first / (t + gain.offset))) * (value - start)
    return start


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("before", [0, 3, 700, 5000])
@pytest.mark.parametrize("rows", [1, 40, 3000])
def test_the_share_of_the_last_rows_is_that_of_the_running_mean(gain, before, rows):
    assert gain.share(before, rows) == pytest.approx(running_mean(0.0, before, gain, np.ones(rows)), abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.floats(-5, 5)), min_size=3, max_size=6),
    st.sampled_from(GAINS),
    st.integers(2, 4000),
)
def test_running_means_may_be_merged_in_any_order(parts, gain, before):
    """A part whose rows all have one value; merging some of them first changes nothing."""
    rows = np.array([n for n, _ in parts], dtype=float)
    states = [{"m": running_mean(1.0, before, gain, [value] * n)} for n, value in parts]
    flat = Parts({"m": 1.0}, states, rows, before).running("m", gain)
    some = Parts({"m": 1.0}, states[:2], rows[:2], before).running("m", gain)
    tree = Parts({"m": 1.0}, [{"m": some}, *states[2:]], np.append(rows[:2].sum(), rows[2:]), before).running("m", gain)
    assert tree == pytest.approx(flat, abs=1e-9)
    if rows.sum():
        mean = sum(n * value for n, value in parts) / rows.sum()
        assert flat == pytest.approx(running_mean(1.0, before, gain, [mean] * int(rows.sum())), abs=1e-9)


def test_merged_scaling_of_one_part_equals_the_part():
    rng = np.random.default_rng(0)
    base = RobustScaling(3)
    base.advance(rng.normal(size=(700, 3)))
    part = RobustScaling(3)
    part.restore(base.state())
    part.advance(5 + 2 * rng.normal(size=(100, 3)), late_anchors=False)
    merged = merge_scaling(Parts(base.state(), [part.state()], np.array([100.0]), 700))
    for name, value in part.state().items():
        assert np.allclose(merged[name], value, atol=1e-9), name


def test_moments_of_the_scaling_are_those_of_all_parts():
    """Parts with other means: the variance between them counts (Chan)."""
    rng = np.random.default_rng(0)
    base = RobustScaling(2)
    base.advance(rng.normal(size=(1000, 2)))
    states = []
    for mean in (-2.0, 2.0):
        part = RobustScaling(2)
        part.restore(base.state())
        part.advance(mean + rng.normal(size=(4000, 2)), late_anchors=False)
        states.append(part.state())
    merged = merge_scaling(Parts(base.state(), states, np.array([4000.0, 4000.0]), 1000))
    # Of about 256 rows each: the mean deviates by 1/sqrt(2 128), the variance 1 + 4 by about 10 %.
    assert np.abs(merged["mean"]).max() < 0.3
    assert np.abs(merged["variance"] - 5).max() < 1.0
    assert merged["rows"] == 9000
    assert np.array_equal(merged["center"], base.state()["center"])


def test_moments_of_the_first_version_are_exact():
    rng = np.random.default_rng(0)
    first, *others = (rng.normal(i, 1 + i, size=(n, 3)) for i, n in enumerate((50, 70, 30)))

    def state(x):
        return {
            "scaling_count": float(len(x)),
            "scaling_mean": x.mean(axis=0),
            "scaling_squares": ((x - x.mean(axis=0)) ** 2).sum(axis=0),
        }

    parts = Parts(state(first), [state(np.vstack([first, x])) for x in others], np.array([70.0, 30.0]), 50)
    wanted = state(np.vstack([first, *others]))
    for name, value in merge_v01_scaling(parts).items():
        assert np.allclose(value, wanted[name], rtol=1e-12), name


def test_merge_of_a_scaling_model_of_the_first_version_has_the_moments_of_all_rows():
    whole = nolana.load(Path(__file__).parents[1] / "modelfile/golden/regressor.v2.safetensors")
    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, size=(90, 3))
    parts = whole.split(2)
    for part, rows in zip(parts, (slice(0, 30), slice(30, 90)), strict=True):
        part.learn(x[rows], x[rows, 0])
    whole.learn(x, x[:, 0])
    merged, wanted = nolana.merge(parts)._learner.state(), whole._learner.state()
    for name in ("scaling_count", "scaling_mean", "scaling_squares"):
        assert np.allclose(merged[name], wanted[name], rtol=1e-12), name


@pytest.mark.parametrize("mu", [1e-5, 1e-3])
@pytest.mark.parametrize("information", [1e-6, 1e-3, 0.5])
def test_forgetting_at_once_is_forgetting_row_by_row(mu, information):
    """R <- R/(1 + g R), then (1 - mu) R + mu, for each row; the continuous solution is off by the size of a step."""
    rows, r = 5000, 1.0
    for _ in range(rows):
        r = r / (1 + information * r)
        r = (1 - mu) * r + mu
    without = 1 / (1 + information * rows)
    assert forgotten(np.array([without]), rows, mu)[0] == pytest.approx(r, rel=0.02)


def test_stack_of_regression_merges_exactly_if_the_noise_is_constant():
    """H and H theta are sums over rows: only the decay of a row's age differs from one process."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(400, 2, 1))
    y = 0.7 * scores[:, 0] + 0.2 * scores[:, 1] + 0.1 * rng.normal(size=(400, 1))

    def stack():
        new = Stack(Squared(), np.ones(2), np.full(2, 9.0), np.full(2, 0.5), 0.999, 100.0, slow=0.9999)
        new.clear(2, 1)
        new.lowest, new.highest, new.variance.residual_variance = -8.0, 8.0, 0.01
        return new

    def learn(one, rows):
        for i in rows:
            one.learn(scores[i], y[i], one.combine(scores[i]), 1.0)
            one.variance.residual_variance = 0.01
        return {field.key: field.get() for field in one.fields()}

    base, whole = learn(stack(), range(100)), stack()
    wanted = learn(whole, range(400))
    states = []
    for part in range(3):
        one = stack()
        learn(one, range(100))
        states.append(learn(one, range(100 + part, 400, 3)))
    merged = merge_stack(
        Parts(base, states, np.full(3, 100.0), 100), Spec(Stack, {"forgetting": 0.999, "slow": 0.9999})
    )
    assert np.allclose(merged["stack_weights"], wanted["stack_weights"], atol=2e-3)
    assert np.allclose(merged["information"], wanted["information"], rtol=0.1, atol=300)
    assert np.allclose(merged["slow_weights"], wanted["slow_weights"], atol=2e-3)
    assert np.allclose(merged["slow_information"], wanted["slow_information"], rtol=0.02, atol=30)
    assert merged["stacked"] == 400
