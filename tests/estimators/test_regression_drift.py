"""The drift alarm of StreamRegressor: silent while nothing changes, however the targets depend on the last ones."""

import numpy as np
import pytest

from nolana import StreamRegressor

ROWS, CHANGE = 20_000, 12_000


def autocorrelated(rng, rows, weight):
    noise = rng.normal(size=rows)
    for i in range(1, rows):
        noise[i] = weight * noise[i - 1] + np.sqrt(1 - weight**2) * noise[i]
    return noise


STATIONARY = {
    "independent": lambda rng: 0.2 * rng.normal(size=ROWS),
    "autocorrelated": lambda rng: autocorrelated(rng, ROWS, 0.9),
    "nearly a random walk": lambda rng: autocorrelated(rng, ROWS, 0.99),
    "period": lambda _: 2 * np.sin(2 * np.pi * np.arange(ROWS) / 500),
}
CHANGED = {
    "level": lambda _, y: y + 20,
    "sign": lambda _, y: -y,
    "unit": lambda _, y: 1000 * y,
    "function": lambda x, _: x[:, 2] + np.sin(2 * x[:, 0]),
}


def stream(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 3))
    return rng, x, x[:, 0] + np.sin(2 * x[:, 1])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", STATIONARY)
def test_drift_alarm_of_stationary_regression_is_silent(name, seed):
    rng, x, y = stream(seed)
    model = StreamRegressor(memory="64KB", random_state=seed)
    model.learn(x, y + STATIONARY[name](rng))
    assert model.drift_ == []


@pytest.mark.parametrize("name", CHANGED)
def test_drift_alarm_of_regression_rings_once_soon_after_a_change(name):
    """In at least 11 of 12 runs; a level that is tracked at once is missed by 1 to 3 % of the seeds."""
    rang = 0
    for seed in range(3):
        rng, x, y = stream(seed)
        y = np.where(np.arange(ROWS) < CHANGE, y, CHANGED[name](x, y)) + 0.2 * rng.normal(size=ROWS)
        for state in range(4):
            model = StreamRegressor(memory="64KB", random_state=state)
            model.learn(x, y)
            assert len(model.drift_) <= 1
            assert all(CHANGE <= row < CHANGE + 50 for row in model.drift_)
            rang += len(model.drift_)
    assert rang >= 11
