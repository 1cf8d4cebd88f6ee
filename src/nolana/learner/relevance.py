"""The relevance of the features, and when distances are measured by it.

Two measures. The *slopes* are those of the landmarks' slow head f = sum_i alpha_i k(z, u_i) at the landmarks:

    a_j = mean over landmarks, sum over outputs, of (df/dz_j)^2,   over their geometric mean

The landmarks see interactions of features long before the cells do, and the slope of a feature that does not matter is
small after a few hundred rows. At 512, 1,024 and 2,048 rows each feature is multiplied by sqrt(a_j), in [0.1, 2], over
the root of the mean square, so that distances in a grid stay what its pitch was made for. Measured again with such
distances, the slopes tell the features apart better (Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature
learning in neural networks and backpropagation-free machine learning models", Science 2024).

Where stored rows are sketches, which a redraw forgets, only at 512.

*Probes* of the cells measure how much the loss increases when a feature is replaced. At 2048 4^k rows, once, if each
feature had 100 of them and few features matter, the geometric mean of both measures takes the place of a_j. Where the
landmarks are too few, or not where recent rows are, the root of what the probes say does.
"""

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.experts.landmarks.kernels import decayed
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.neighbours.neighbour_map import WIDEST
from nolana.learner.driver import Array, State
from nolana.learner.layout import argument_of, experts_with, probing
from nolana.modelfile.specs import Spec

FIRST_REDRAW, REDRAW_FACTOR = 2048, 4
CONCENTRATED = 0.3  # share of the features that effectively matter, below which the grids are drawn again
LEAST_RELEVANCE = 0.1
SLOPES_AT = 512, 1024, 2048
SMALLEST_SLOPE = 1e-6  # squared, of the largest
FEWEST_PROBES = 100.0  # of each feature
FEWEST_LANDMARKS = 25  # that the memory allows
AWAY, LEAST_AWAY = 3.0, 0.5  # standard deviations of the landmarks; of the feature
MANY_AWAY = 8  # more than one of so many features, and more than one at all
METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC = 0.5, 0.1, 2.0


def relevance_of(spec: Spec, state: State, features: int) -> Array:  # (d,)
    """The relevance of each feature, 1 on average: its share of the increases of the loss."""
    measured = [state[f"expert{e}/relevance"] for e in probing(spec)]
    increase = np.maximum(0.0, np.mean(measured, axis=0)) if measured else np.ones(features)
    total = float(increase.sum())
    if total <= 0:
        return np.ones(features)
    return np.asarray(LEAST_RELEVANCE + (1 - LEAST_RELEVANCE) * features * increase / total)


def is_probed(spec: Spec, state: State) -> bool:
    """Whether probes are enough to tell the relevance of each feature."""
    return all(bool((state[f"expert{e}/probed"] >= FEWEST_PROBES).all()) for e in probing(spec))


def slope_rows(features: int) -> tuple[int, ...]:
    """After which rows slopes are measured."""
    return SLOPES_AT if features <= WIDEST else SLOPES_AT[:1]


def is_concentrated(relevance: Array) -> bool:
    """Whether few features matter."""
    share = np.maximum(0.0, relevance - LEAST_RELEVANCE)
    return bool(share.sum() > 0 and share.sum() ** 2 / (share**2).sum() < CONCENTRATED * len(relevance))


def metric_of(relevance: Array) -> Array:
    """By what each feature is multiplied; 1 in root mean square."""
    metric = np.clip(relevance**METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC)
    return np.asarray(metric / np.sqrt(np.mean(metric**2)))


def slopes_of(spec: Spec, state: State, metric: Array, middle: Array) -> Array | None:  # (d,)
    """Mean squared slopes over their geometric mean, before the metric; 1 for a constant feature.

    None where there are fewer landmarks than features, or room for few: their slopes are noise.

    middle (d,): the mean of recent rows. A feature whose recent rows are away from all landmarks tells the time, and
    its slope says how the kernel decays: it gets the smallest slope. Where several are, the landmarks are those of
    rows that do not come any more, and no slope counts.
    """
    heads = experts_with(spec, Newton)
    if not heads:
        return None
    i = spec.arguments["experts"][heads[0]].arguments["map"]
    places, gamma = state[f"map{i}/landmarks"], state[f"map{i}/gamma"]
    if len(places) < places.shape[1] or argument_of(spec, i, "capacity") < FEWEST_LANDMARKS:
        return None
    kernel = decayed(gamma, argument_of(spec, i, "kernel").build(numpy_engine).pairwise(places))
    weights = state[f"expert{heads[0]}/weights"]  # (c, m)
    if len(weights) > len(places):  # the sum over the outputs depends on weights' weights alone
        weights = np.linalg.qr(weights, mode="r")
    squares = np.zeros(places.shape[1])
    for alpha in weights:
        terms = kernel * alpha
        slope = terms.sum(axis=1)[:, None] * places - terms @ places  # over -2 gamma
        squares += (slope**2).sum(axis=0)
    squares *= metric**2
    varies = squares > 0
    if not varies.any():
        return None
    squares = np.where(varies, np.maximum(squares, SMALLEST_SLOPE * squares.max()), 0.0)
    away = varies & (np.abs(middle - places.mean(axis=0)) > np.maximum(LEAST_AWAY, AWAY * places.std(axis=0)))
    if away.sum() > max(1, len(away) // MANY_AWAY):
        return None
    squares = np.where(away, squares[varies].min(), squares)
    return np.where(varies, squares / np.exp(np.log(squares[varies]).mean()), 1.0)


def next_redraw(t: int) -> int:
    """The first row after t at which grids may be drawn again."""
    row = FIRST_REDRAW
    while row <= t:
        row *= REDRAW_FACTOR
    return row
