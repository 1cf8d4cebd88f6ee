"""Progressive validation."""

import numpy as np
import pytest

from nolana import NolanaClassifier, NolanaRegressor
from nolana.evaluate import progressive


class Echo:
    """Predicts the last label it learned."""

    classes_ = np.array(["a", "b"])

    def __init__(self):
        self.last = None

    def learn(self, x, y):
        scores = np.full((len(x), 2), np.nan)
        for i, label in enumerate(y):
            if self.last is not None:
                scores[i] = [self.last == "a", self.last == "b"]
            self.last = label
        return scores


def blocks(x, y, size):
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


def test_by_hand():
    y = np.array(list("aabbbaab"))
    x = np.zeros((8, 1))
    hits = [0, 1, 0, 1, 1, 0, 1, 0]  # the first row cannot be known
    told = []
    result = progressive(Echo(), blocks(x, y, 3), window=4, callback=told.append)
    assert result.rows == 8
    assert result.metrics == {"accuracy": np.mean(hits)}
    assert [p.rows for p in result.history] == [4, 8]
    assert [p.window["accuracy"] for p in result.history] == [0.5, 0.5]
    assert [p.overall["accuracy"] for p in result.history] == [0.5, 0.5]
    assert [p.rows for p in told] == [3, 6, 8]
    assert result.seconds >= 0
    assert result.microseconds_per_row >= 0


def test_a_last_short_window_counts():
    y = np.array(list("aabbb"))
    result = progressive(Echo(), blocks(np.zeros((5, 1)), y, 2), window=3)
    assert [p.rows for p in result.history] == [3, 5]
    assert result.history[-1].window["accuracy"] == 1.0
    assert [p.rows for p in progressive(Echo(), blocks(np.zeros((5, 1)), y, 2)).history] == [2, 4, 5]


def test_same_whatever_the_blocks(stream):
    x, y = stream
    metrics = [progressive(NolanaClassifier(n_landmarks=20), blocks(x, y, s)).metrics for s in (1, 7, 100, 600)]
    assert all(m == metrics[0] for m in metrics)


def test_regression_metrics(stream):
    x, _ = stream
    y = x[:, 0] * x[:, 1]
    result = progressive(NolanaRegressor(n_landmarks=30), blocks(x, y, 50), metrics=["rmse", "mae"])
    scores = NolanaRegressor(n_landmarks=30).learn(x, y)
    assert result.metrics["rmse"] == pytest.approx(np.sqrt(np.mean((scores - y) ** 2)))
    assert result.metrics["mae"] == pytest.approx(np.abs(scores - y).mean())


def test_blocks_may_be_objects(stream):
    x, _y = stream

    class Block:
        X, y = x[:100], stream[1][:100]

    assert progressive(NolanaClassifier(n_landmarks=5), [Block()]).rows == 100
    assert progressive(NolanaClassifier(), []).rows == 0


def test_errors_are_clear(stream):
    x, y = stream
    with pytest.raises(ValueError, match="choose from accuracy, mae, rmse"):
        progressive(NolanaClassifier(), [(x, y)], metrics=["auc-ish"])
    with pytest.raises(ValueError, match="window=0"):
        progressive(NolanaClassifier(), [(x, y)], window=0)
