"""Many rows through every rival with a budget: memory stays what it was when the budget was full."""

import numpy as np
import pytest

from conftest import effort
from nolana import rivals

pytestmark = pytest.mark.soak
FEATURES, LANDMARKS = 5, 20
ROWS, BLOCK = effort(thorough=20_000, endurance=200_000), 1000
FILLING = 2000  # rows after which every budget here has been full, looked at one by one
METHODS = {
    **{name: (name, {}) for name in rivals.catalogue() if name != "KernelOGD"},  # without a budget
    "BPA, nearest": ("BPA", {"projection": "nearest"}),
    "BSGD, remove": ("BSGD", {"maintenance": "remove"}),
    "BSGD, project": ("BSGD", {"maintenance": "project", "budget": 10}),  # a decomposition for each vector that goes
    "RBP, polynomial": ("RBP", {"kernel": "polynomial"}),
    "BOGD, laplacian": ("BOGD", {"kernel": "laplacian"}),
}


def drifting(rng, start, rows, classes):
    """The border between the classes turns once in 50,000 rows, and one label in ten is drawn: no end to mistakes."""
    x = rng.normal(size=(rows, FEATURES))
    turn = 2 * np.pi * (start + np.arange(rows)) / 50_000
    along = np.cos(turn) * x[:, 0] + np.sin(turn) * x[:, 1]
    own = (along * x[:, 2] > 0).astype(int) + (classes > 2) * (along > 1)
    return x, np.where(rng.random(rows) < 0.1, rng.integers(0, classes, rows), own)


def state_bytes(model):
    return sum(np.asarray(value).nbytes for value in model._learner.state().values())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", METHODS)
def test_memory_stays_over_many_rows(name, classes):
    rng = np.random.default_rng(0)
    method, parameters = METHODS[name]
    model = rivals.at_equal_budget(
        method, n_landmarks=LANDMARKS, n_features=FEATURES, random_state=0, **({"gamma": 0.5} | parameters)
    )
    budget = getattr(model, "budget", None)
    x, y = drifting(rng, 0, FILLING, classes)
    y[:classes] = np.arange(classes)
    sizes, memory, supports = [], [], []
    for i in range(FILLING):
        model.learn(x[i : i + 1], y[i : i + 1])
        sizes.append(state_bytes(model))
        memory.append(model.memory_bytes_)
        supports.append(model.n_supports_)
    if budget is not None:
        assert max(supports) == budget
    for start in range(FILLING, ROWS, BLOCK):
        scores = model.learn(*drifting(rng, start, BLOCK, classes))
        assert np.isfinite(scores).all()
        assert model.memory_bytes_ == memory[-1]
        assert state_bytes(model) <= max(sizes)
        assert budget is None or model.n_supports_ <= budget
    assert model.n_rows_ == ROWS
