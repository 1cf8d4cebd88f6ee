"""Streams on which the default learner meets all its events, and what tests of it share."""

import numpy as np
import pytest

from conftest import same_state
from nolana import StreamClassifier, StreamRegressor, experts

KB = 1024
ROWS = 3000


def stream(name):
    """X, y, weights and the estimator: two relevant features of 12, so that the grids are drawn again at row 2,048."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 12))
    two, row = (x[:, 0] * x[:, 1] > 0).astype(int), np.arange(ROWS)
    number = x[:, 0] * x[:, 1] + 1e4 * (rng.random(ROWS) < 0.01)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0, 1e6], ROWS, p=[0.2, 0.2, 0.39, 0.2, 0.01])
    late = rng.integers(0, 50, ROWS) % np.select([row < 40, row < 300, row < 2500], [2, 3, 10], 50)
    return {
        "redraw": (x, two, None, StreamClassifier(random_state=0)),
        "late classes": (x, late, None, StreamClassifier(random_state=0, memory="64KB")),
        "weights": (x, two, weight, StreamClassifier(random_state=0)),
        "balanced": (x, late % 11, weight, StreamClassifier(random_state=0, class_weight="balanced")),
        "number": (x, number, None, StreamRegressor(random_state=0)),
        "weighted number": (x, number, weight, StreamRegressor(random_state=0, memory="100KB")),
    }[name]


STREAMS = ("redraw", "late classes", "weights", "balanced", "number", "weighted number")
streams = pytest.mark.parametrize("name", STREAMS)


def learn(model, x, y, weight, rows):
    return model.learn(x[rows], y[rows], sample_weight=None if weight is None else weight[rows])


def same(first, second):
    """Bit for bit: what was learned, its sizes and what it says."""
    assert same_state(first._learner.state(), second._learner.state())
    assert first.memory_bytes_ == second.memory_bytes_
    assert first.sizes_ == second.sizes_
    assert first.experts_ == second.experts_
    assert first.drift_ == second.drift_
    assert np.array_equal(first.relevance_, second.relevance_)


SETS = {
    "cells": [experts.Bins()],
    "landmarks": [experts.Landmarks()],
    "neighbours": [experts.Neighbours()],
    "trees": [experts.Trees()],
    "one expert": [experts.Landmarks(fast=False)],
    "default": None,
    "window": [*experts.DEFAULT, experts.Landmarks(policy="window", forgetting=0.999, fast=False, share=0.2)],
    "expiring": [experts.Landmarks(policy="expiring"), experts.Bins(relevance=False, fast=False)],
}
