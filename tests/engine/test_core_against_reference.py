"""The compiled core against the NumPy reference, from equal states, block by block.

Bound: scores and weights agree to 1e-7 of their size after a block of 40 rows that starts from equal states.
Measured worst over the whole grid: about 1e-10; the rest is room for kernels whose matrices are near singular.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolana.engine as reference
from conftest import HEADS, KERNELS, POLICIES, build_learner, core_builds, full_covariance

BOUND = 1e-7
BUILDS = core_builds()


def gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0.0) / (1 + np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("head", HEADS, ids="-".join)
@pytest.mark.parametrize("kernel", KERNELS)
def test_core_equals_reference_block_by_block(build, kernel, head, policy):
    rng = np.random.default_rng([KERNELS.index(kernel), HEADS.index(head), POLICIES.index(policy)])
    for features, capacity, outputs in ((3, 13, 1), (5, 20, 3), (1, 4, 2), (9, 33, 1)):
        shape = {"capacity": capacity, "features": features, "outputs": outputs}
        core = build_learner(build, kernel, *head, policy, **shape)
        mine = build_learner(reference, kernel, *head, policy, **shape)
        for _ in range(6):
            x, y = rng.normal(size=(40, features)), np.sign(rng.normal(size=(40, outputs)))
            weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=40)
            mine.restore(core.state())
            assert gap(core.learn(x, y, weight), mine.learn(x, y, weight)) < BOUND
            a, b = core.state(), mine.state()
            assert a.keys() == b.keys()
            for name in ("landmarks", "counts", "weights"):
                assert gap(a[name], b[name]) < BOUND, name
            assert gap(a["inverse"], b["inverse"]) < BOUND
            if "covariance" in a:
                assert gap(full_covariance(a), full_covariance(b)) < BOUND
            for name in a.keys() & {"last_nearest", "placed"}:
                assert np.array_equal(a[name], b[name]), name
            for name in a.keys() & {"count_unit", "tolerance"}:
                assert a[name] == pytest.approx(b[name], rel=1e-12), name
            for name in ("rows", "moves", "since_refresh", "gamma", "threshold", "ridge"):
                assert a[name] == b[name], name
            assert gap(core.scores(x), mine.scores(x)) < BOUND
            assert gap(core.maps[0].transform(x), mine.maps[0].transform(x)) < 1e-13


@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(KERNELS),
    head=st.sampled_from(HEADS),
    policy=st.sampled_from(POLICIES),
    features=st.integers(1, 12),
    capacity=st.integers(1, 40),
    outputs=st.integers(1, 5),
    rows=st.integers(1, 70),
    gamma=st.floats(1e-3, 10.0),
    threshold=st.sampled_from([0.0, 0.5, 5.0, np.inf]),
)
def test_equal_on_any_shape(seed, kernel, head, policy, features, capacity, outputs, rows, gamma, threshold):
    rng = np.random.default_rng(seed)
    shape = {"capacity": capacity, "features": features, "outputs": outputs, "gamma": gamma, "threshold": threshold}
    core = build_learner(BUILDS[-1], kernel, *head, policy, **shape)
    mine = build_learner(reference, kernel, *head, policy, **shape)
    x, y = rng.normal(size=(2 * rows, features)), np.sign(rng.normal(size=(2 * rows, outputs)))
    core.learn(x[:rows], y[:rows])
    mine.restore(core.state())
    assert gap(core.learn(x[rows:], y[rows:]), mine.learn(x[rows:], y[rows:])) < 1e-6
    assert core.maps[0].size == mine.maps[0].size
    assert core.maps[0].moves == mine.maps[0].moves


@pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
def test_exponential_to_the_last_places(build, rng):
    """exp in the core against NumPy's over its whole range, through the RBF kernel with one landmark at 0."""
    learner = build_learner(build, capacity=1, features=1, gamma=1.0, threshold=np.inf, outputs=0)
    learner.learn(np.zeros((1, 1)), np.zeros((1, 0)))
    x = np.sqrt(np.concatenate([np.linspace(0, 700, 20001), 10 ** rng.uniform(-18, 2.8, 2000)]))[:, None]
    exact = np.exp(-(x[:, 0] ** 2))
    assert np.abs(learner.maps[0].transform(x)[:, 0] / exact - 1).max() < 4e-16 * 710
    assert learner.maps[0].transform(np.zeros((1, 1)))[0, 0] == 1.0
    assert (learner.maps[0].transform(np.array([[27.0], [1e3], [1e200]]))[:, 0] == 0).all()


@pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
def test_moments_and_bounds_core_equals_reference(build, rng):
    x = rng.normal(size=(50, 3)) * [1, 1e6, 1e-6] + [0, 1e6, 0]
    mine, theirs = [np.zeros(3), np.zeros(3)], [np.zeros(3), np.zeros(3)]
    assert build.add_moments(0.0, *mine, x) == reference.add_moments(0.0, *theirs, x) == 50
    assert np.allclose(mine, theirs, rtol=1e-12)
    assert np.allclose(mine[0], x.mean(axis=0))
    assert np.allclose(mine[1] / 50, x.var(axis=0))
    for bad in (np.nan, np.inf, -np.inf, 11.0):
        values = np.zeros((4, 3))
        values[2, 1] = bad
        assert build.first_beyond(values, 10.0) == reference.first_beyond(values, 10.0) == 7
    assert build.first_beyond(np.zeros((4, 3)), 10.0) == reference.first_beyond(np.zeros((4, 3)), 10.0) == -1


@pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
def test_restore_refuses_states_of_other_sizes(build):
    learner = build_learner(build)
    state = learner.state()
    for wrong in (
        {"landmarks": np.zeros((0, 4))},
        {"landmarks": np.zeros((13, 3))},
        {"landmarks": np.zeros((2, 3))},
        {"counts": np.zeros(5)},
        {"inverse": np.zeros(7)},
        {"waiting_left": np.zeros((9, 0)), "waiting_right": np.zeros((9, 0))},
    ):
        with pytest.raises(ValueError, match="state"):
            learner.restore(state | wrong)
