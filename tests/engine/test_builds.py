"""The builds with AVX2 and with AVX-512 learn the same bits; the baseline has no fused multiply-add."""

import numpy as np
import pytest

from conftest import HEADS, KERNELS, build_learner, core_builds, same_state

BUILDS = {build.__name__.rpartition("_")[2]: build for build in core_builds()}


def learned(build, kernel, head):
    """Scores and state of 400 rows."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 5)), np.sign(rng.normal(size=(400, 3)))
    learner = build_learner(build, kernel, *head, capacity=20, features=5, outputs=3)
    return learner.learn(x, y), learner.state()


@pytest.mark.skipif(not {"avx2", "avx512"} <= BUILDS.keys(), reason="make endurance compiles all builds")
@pytest.mark.parametrize("head", HEADS, ids="-".join)
@pytest.mark.parametrize("kernel", KERNELS)
def test_avx2_and_avx512_learn_the_same_bits(kernel, head):
    (scores, state), (others, other) = (learned(BUILDS[name], kernel, head) for name in ("avx2", "avx512"))
    assert np.array_equal(scores, others)
    assert same_state(state, other)
