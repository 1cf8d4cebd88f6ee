"""How thorough the tests are; engines to compare, and learners built alike on each of them."""

import importlib
import os
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from nolana import backend
from nolana.engine.base.state import pack

# make test is fast, make soak is thorough, make endurance has all night. Only the last one draws new examples each
# time: what it finds must not fail somebody else's change.
EFFORTS = ("fast", "thorough", "endurance")
EFFORT = os.environ.get("NOLANA_EFFORT", "fast")
settings.register_profile("fast", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=100, derandomize=True)
settings.register_profile("endurance", deadline=None, max_examples=1000)
settings.load_profile(EFFORT)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # commands inherit it, and nohup has it ignored


def effort(**counts: int) -> int:
    """How often to repeat a check: ``effort(fast=10, endurance=1000)``; a level not named takes the one below."""
    named = [level for level in EFFORTS if level in counts]
    reached = [level for level in named if EFFORTS.index(level) <= EFFORTS.index(EFFORT)]
    return counts[(reached or named[:1])[-1]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Builds first, so that no worker waits for them at the end; half an hour for a long test.

    The deadline of the others is in pyproject.toml.
    """
    items.sort(key=lambda item: item.path.name != "test_build.py")
    for item in items:
        if (EFFORT == "endurance" or item.get_closest_marker("soak")) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1800))


KERNELS = ("rbf", "laplacian", "polynomial", "cosine", "linear")
HEADS = (
    ("sgd", "hinge"),
    ("sgd", "squared_hinge"),
    ("sgd", "logistic"),
    ("sgd", "squared"),
    ("sgd", "epsilon_insensitive"),
    ("newton", "squared_hinge"),
    ("newton", "logistic"),
    ("newton", "squared"),
    ("sgd", "huber"),
    ("newton", "huber"),
)
POLICIES = ("kmeans", "fixed", "weighted", "expiring", "window")


def core_builds() -> list[Any]:
    """Every installed build of the core that this machine can run, the best last; the suite fails if there is none."""
    return [importlib.import_module(backend.PREFIX + build) for build in reversed(backend.core_builds())]


def build_learner(
    module: Any,
    kernel: str = "rbf",
    optimizer: str = "newton",
    loss: str = "squared_hinge",
    policy: str = "kmeans",
    *,
    capacity: int = 12,
    features: int = 3,
    outputs: int = 1,
    move_noise: float = 0.01,
    gamma: float = 0.2,
    threshold: float = 0.0,
    ridge: float = 1e-3,
    novelty: float = 0.01,
) -> Any:
    """A bare learner of one engine."""
    kernels = {
        "rbf": lambda: module.RBF(),
        "laplacian": lambda: module.Laplacian(),
        "polynomial": lambda: module.Polynomial(3, 1.0),
        "cosine": lambda: module.Cosine(),
        "linear": lambda: module.Linear(),
    }
    losses = {
        "hinge": lambda: module.Hinge(),
        "squared_hinge": lambda: module.SquaredHinge(),
        "logistic": lambda: module.Logistic(),
        "squared": lambda: module.Squared(),
        "epsilon_insensitive": lambda: module.EpsilonInsensitive(0.1),
        "huber": lambda: module.Squared(),  # with clipped residuals
    }
    clip = {"clip": 1.5} if loss == "huber" else {}
    head = (
        module.SGD(losses[loss](), rate=0.3, power=0.5, decay=1e-3, **clip)
        if optimizer == "sgd"
        else module.Newton(losses[loss](), noise=0.1, prior=1.0, move_noise=move_noise, **clip)
    )
    policies = {
        "kmeans": module.KMeans,
        "fixed": module.Fixed,
        "weighted": module.Weighted,
        "expiring": module.Expiring,
        "window": module.Window,
    }
    map = module.LandmarkMap(features, capacity, kernels[kernel](), policies[policy](novelty))
    map.gamma, map.threshold, map.ridge = gamma, threshold, ridge
    learner = module.Learner([map], [module.Expert(0, head)], noise=module.NoiseLevel() if clip else None)
    learner.clear(outputs)
    return learner


def full_covariance(state: dict[str, Any]) -> np.ndarray:
    """The packed covariance of a state, what waits included."""
    n = len(state["landmarks"])
    waiting = (state["waiting_left"].T @ state["waiting_right"]).reshape(n, n)
    return state["covariance"] + pack(waiting)


def same_state(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Bit for bit."""
    return a.keys() == b.keys() and all(np.array_equal(np.asarray(a[k]), np.asarray(b[k])) for k in a)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def stream() -> tuple[np.ndarray, np.ndarray]:
    """A small nonlinear stream of three classes."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 4))
    return x, ((x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 1)).astype(int)
