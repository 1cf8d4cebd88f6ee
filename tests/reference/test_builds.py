"""Every build of the core computes the same bits: a model may move between machines."""

import numpy as np
import pytest

from conftest import HEADS, KERNELS, build_learner, core_builds, same_state

BUILDS = core_builds()
pytestmark = pytest.mark.skipif(len(BUILDS) < 2, reason="one build is installed; make endurance compiles all")


@pytest.mark.parametrize("head", HEADS, ids="-".join)
@pytest.mark.parametrize("kernel", KERNELS)
def test_builds_learn_the_same_bits(kernel, head):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 5)), np.sign(rng.normal(size=(400, 3)))
    first, *others = (build_learner(build, kernel, *head, capacity=20, features=5, outputs=3) for build in BUILDS)
    expected = first.learn(x, y)
    for other in others:
        assert np.array_equal(other.learn(x, y), expected)
        assert same_state(first.state(), other.state())
