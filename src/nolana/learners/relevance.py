"""The relevance of the features, and when distances are measured by it.

Heads that probe measure how much the loss increases when a feature is replaced. At 2048 4^k rows, once, if few features
matter, each feature is multiplied by relevance^(1/4), within [0.1, 2].
"""

import numpy as np

from nolana.learners.driver import Array, State
from nolana.learners.layout import probing
from nolana.specs import Spec

FIRST_REDRAW, REDRAW_FACTOR = 2048, 4
CONCENTRATED = 0.3  # share of the features that effectively matter, below which the grids are drawn again
LEAST_RELEVANCE = 0.1
METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC = 0.25, 0.1, 2.0


def relevance_of(spec: Spec, state: State, features: int) -> Array:  # (d,)
    """The relevance of each feature, 1 on average: its share of the increases of the loss."""
    measured = [state[f"expert{e}/relevance"] for e in probing(spec)]
    increase = np.maximum(0.0, np.mean(measured, axis=0)) if measured else np.ones(features)
    total = float(increase.sum())
    if total <= 0:
        return np.ones(features)
    return np.asarray(LEAST_RELEVANCE + (1 - LEAST_RELEVANCE) * features * increase / total)


def is_concentrated(relevance: Array) -> bool:
    """Whether few features matter."""
    share = np.maximum(0.0, relevance - LEAST_RELEVANCE)
    return bool(share.sum() > 0 and share.sum() ** 2 / (share**2).sum() < CONCENTRATED * len(relevance))


def metric_of(relevance: Array) -> Array:
    """By what each feature is multiplied."""
    return np.clip(relevance**METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC)


def next_redraw(t: int) -> int:
    """The first row after t at which grids may be drawn again."""
    row = FIRST_REDRAW
    while row <= t:
        row *= REDRAW_FACTOR
    return row
