"""Long runs: memory that stays, models that stay sound, more examples of the contracts."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import HEADS, KERNELS, POLICIES, build_learner, core_builds, effort, same_state
from nolana import NolanaClassifier

pytestmark = pytest.mark.soak
REPO = Path(__file__).resolve().parents[2]


def test_memory_after_many_rows_is_that_after_twenty_thousand():
    rows = effort(thorough=200_000, endurance=2_000_000), effort(thorough=500_000, endurance=5_000_000)
    options = [f"--{name}={count}" for name, count in zip(("rows", "piped-rows"), rows, strict=True)]
    run = subprocess.run(
        [sys.executable, str(REPO / "benchmarks" / "memory.py"), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=1700,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("head", HEADS, ids="-".join)
@pytest.mark.parametrize("kernel", KERNELS)
def test_model_stays_finite_and_splittable_after_many_rows(kernel, head):
    """A move at every row for a long time: finite scores, a positive covariance, and still cut anywhere."""
    rng = np.random.default_rng(0)
    build = core_builds()[-1]
    whole = build_learner(build, kernel, *head, "kmeans", capacity=16, features=3)
    parts = build_learner(build, kernel, *head, "kmeans", capacity=16, features=3)
    for _ in range(effort(thorough=3, endurance=50)):
        x = rng.normal(size=(20_000, 3))
        y = np.sign(x[:, :1] * x[:, 1:2])
        scores = whole.learn(x, y)
        assert np.isfinite(scores).all()
        at = int(rng.integers(1, 20_000))
        assert np.array_equal(np.concatenate([parts.learn(x[:at], y[:at]), parts.learn(x[at:], y[at:])]), scores)
    assert same_state(whole.state(), parts.state())


@pytest.mark.parametrize("seed", range(effort(thorough=60, endurance=300)))
def test_split_anywhere_random_learners(seed):
    rng = np.random.default_rng(seed)
    kernel, head = KERNELS[rng.integers(5)], HEADS[rng.integers(8)]
    policy, capacity, features = POLICIES[rng.integers(2)], int(rng.integers(1, 60)), int(rng.integers(1, 20))
    outputs, threshold = int(rng.integers(1, 6)), float(rng.choice([0.0, 1.0, np.inf]))
    x, y = rng.normal(size=(500, features)), np.sign(rng.normal(size=(500, outputs)))
    shape = {"capacity": capacity, "features": features, "outputs": outputs, "threshold": threshold}
    for build in core_builds():
        whole = build_learner(build, kernel, *head, policy, **shape)
        parts = build_learner(build, kernel, *head, policy, **shape)
        cuts = np.sort(rng.integers(1, 500, 20))
        pieces = [parts.learn(a, b) for a, b in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]
        assert np.array_equal(whole.learn(x, y), np.concatenate(pieces))
        assert same_state(whole.state(), parts.state())


def test_many_classes_one_after_the_other():
    """Sixty clusters, a new one every 300 rows; the landmarks know the whole space from the start."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 5)) * 4

    def rows(clusters):
        return centres[clusters] + 0.3 * rng.normal(size=(len(clusters), 5))

    model = NolanaClassifier(n_landmarks=120, initial_landmarks=rows(np.arange(120) % 60), gamma=0.1)
    for known in range(1, 61):
        clusters = rng.integers(0, known, 300)
        clusters[:5] = known - 1
        model.learn(rows(clusters), clusters)
        assert len(model.classes_) == known
    clusters = rng.integers(0, 60, 2000)
    assert model.score(rows(clusters), clusters) > 0.97
