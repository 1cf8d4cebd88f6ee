"""The relevance of the features, and how distances are measured by it.

Two measures. The *slopes* are those of the landmarks (`Landmarks.slopes`): they see interactions of features long
before the bins do, and the slope of a feature that does not matter is small after a few hundred rows. At 512, 1,024 and
2,048 rows each feature is multiplied by sqrt(a_j), in [0.1, 2], over the root of the mean square, so that distances in
a grid stay what its pitch was made for. Measured again with such distances, the slopes tell the features apart better
(Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature learning in neural networks and backpropagation-free
machine learning models", Science 2024). If stored rows are sketches, which a redraw forgets, only at 512.

*Probes* of the bins measure how much the loss increases when a feature is replaced. At 2048 4^k rows, once, if each
feature had 100 of them and few features matter, the geometric mean of both measures takes the place of a_j. If the
landmarks are too few, or not where recent rows are, the root of what the probes say does.
"""

from collections.abc import Sequence

import numpy as np

from nolana.experts.base import Array
from nolana.experts.bins import LEAST_RELEVANCE

CONCENTRATED = 0.3  # share of the features that effectively matter, below which the grids are drawn again
FEWEST_PROBES = 100.0  # of each feature
METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC = 0.5, 0.1, 2.0


def relevance(increases: Sequence[Array], features: int) -> Array:  # (d,)
    """The relevance of each feature, 1 on average: its share of the increases of the loss."""
    increase = np.maximum(0.0, np.mean(increases, axis=0)) if len(increases) else np.ones(features)
    total = float(increase.sum())
    if total <= 0:
        return np.ones(features)
    return np.asarray(LEAST_RELEVANCE + (1 - LEAST_RELEVANCE) * features * increase / total)


def is_concentrated(relevance: Array) -> bool:
    """Whether few features matter."""
    share = np.maximum(0.0, relevance - LEAST_RELEVANCE)
    return bool(share.sum() > 0 and share.sum() ** 2 / (share**2).sum() < CONCENTRATED * len(relevance))


def metric(relevance: Array) -> Array:
    """By what each feature is multiplied; 1 in root mean square."""
    clipped = np.clip(relevance**METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC)
    return np.asarray(clipped / np.sqrt(np.mean(clipped**2)))
