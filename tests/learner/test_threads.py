"""Threads that predict while one learns see a model that existed between two blocks, never a mixture."""

import threading

import numpy as np
import pytest

from concurrent_readers import models_between_blocks, read_while_learning
from nolana import NolanaClassifier, NolanaRegressor


@pytest.mark.parametrize("parameters", [{}, {"optimizer": "sgd"}, {"threshold": 0.0}], ids=str)
def test_readers_see_consistent_models(parameters):
    rng = np.random.default_rng(0)
    rows = 6000
    x = rng.normal(size=(rows, 6))
    y = (x[:, 0] * x[:, 1] > 0).astype(int) + 2 * (np.arange(rows) > 2500) * (x[:, 2] > 0.5)  # classes come later
    probe = rng.normal(size=(20, 6))

    def read(model):
        return model.decision_function(probe).tobytes()

    model, replay = (NolanaClassifier(n_landmarks=60, **parameters) for _ in range(2))
    allowed = models_between_blocks(replay, x, y, 60, read)
    seen = read_while_learning(model, x, y, 60, read)
    assert len(seen) > 1
    # A new class within a block is a state of its own, between two rows of that block.
    assert len(seen - allowed) <= 4, "readers saw models that never existed"
    assert np.array_equal(model.decision_function(probe), replay.decision_function(probe))


def test_reader_gets_the_lock_during_one_long_call():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300_000, 8))
    y = x[:, 0] * x[:, 1]
    model = NolanaRegressor(n_landmarks=100)
    model.learn(x[:200], y[:200])
    rows_seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            model.predict(x[:5])
            rows_seen.append(model.n_rows_)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    model.learn(x, y)
    done.set()
    reader.join(60)
    assert not reader.is_alive()
    within = {r for r in rows_seen if 200 < r < 300_200}
    assert len(within) >= 10


def test_two_writers_lose_no_row():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 5))
    y = (x[:, 0] > 0).astype(int)
    model = NolanaClassifier(n_landmarks=30).partial_fit(x[:10], y[:10], classes=[0, 1])

    def write(part):
        for i in range(part, 4000, 40):
            model.learn(x[i : i + 20], y[i : i + 20])

    writers = [threading.Thread(target=write, args=(start,), daemon=True) for start in (0, 20)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert not writer.is_alive()
    assert model.n_rows_ == 4010
    assert model.score(x, y) > 0.95
