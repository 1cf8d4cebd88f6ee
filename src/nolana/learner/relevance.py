"""The relevance of the features, and how distances are measured by it.

Three measures. The *slopes* are those of the landmarks (`Landmarks.slopes`): they see interactions of features long
before the bins do, and the slope of a feature that does not matter is small after a few hundred rows. At 512, 1,024 and
2,048 rows each feature is multiplied by sqrt(a_j), in [0.1, 2], over the root of the mean square, so that distances in
a grid stay what its pitch was made for. Measured again with such distances, the slopes tell the features apart better
(Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature learning in neural networks and backpropagation-free
machine learning models", Science 2024). If stored rows are sketches, which a redraw forgets, only at 512.

*Probes* of the bins measure how much the loss increases when a feature is replaced. At 2048 4^k rows, once, if each
feature had 100 of them and few features matter, the geometric mean of both measures takes the place of a_j. If the
landmarks are too few, or not where recent rows are, the root of what the probes say does.

The *screen* finds features that act only together, which neither slopes nor probes see among many others. The stored
rows are cut at the quartiles of each feature; the 4 x 4 means of the target by a pair of features are compared with the
sum of a function of each (two-way analysis of variance, for tables that are not balanced):

    share_jk = (SS_cells - SS_sum - f s^2)/SS_total,  if (SS_cells - SS_sum)/s^2 > f + 2 sqrt(f x) + 2 x,  else 0

with f degrees of freedom, s^2 the variance within the cells, and x = ln(pairs/0.01): rows of noise have a pair about
once in 100 screens, more often if few of them are of a rare class (Laurent, Massart, "Adaptive estimation of a
quadratic functional by model selection", Annals of Statistics 2000, Lemma 1). share_jj is that of the main effect. A
scalar target counts by its rank, classes as 0 and 1. With p_j the part of feature j in all pairs, 1 on average, and w
the part of pairs in all shares,

    a_j^(1 - w) p_j^w

takes the place of a_j, if nearest neighbours confirm it: the older half of the stored rows must predict the newer half
better by these distances. This is part of every redraw, and at 128 and 256 rows, when tables are cleared in any case,
a redraw of its own.
"""

import math
from collections.abc import Sequence

import numpy as np

from nolana.experts.base import Array
from nolana.experts.bins import LEAST_RELEVANCE

CONCENTRATED = 0.3  # share of the features that effectively matter, below which the grids are drawn again
FEWEST_PROBES = 100.0  # of each feature
METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC = 0.5, 0.1, 2.0
QUARTILES = 0.25, 0.5, 0.75
BINS = len(QUARTILES) + 1
FALSE_PAIRS = 0.01  # of a screen of noise
FEWEST_ROWS, MOST_ROWS = 100, 2048  # of a screen; the most recent ones
MOST_CLASSES = 16  # that the screen looks at: the most frequent
LEAST_SCREENED = 0.01  # relevance of a feature in no pair
NEIGHBOURS, MOST_QUERIES = 5, 512
CONFIRMED = 2.0  # standard errors by which they must predict better


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


def screened(relevance: Array | None, rows: Array, targets: Array, task: str) -> Array | None:  # (d,), (n, d), (n,)
    """`relevance`, with that of pairs of features if nearest neighbours confirm it; None is not known."""
    if len(rows) < FEWEST_ROWS:
        return relevance
    rows, columns = rows[-MOST_ROWS:], target_columns(targets[-MOST_ROWS:], task)
    shares = screen(rows, columns)
    main, pairs = np.diag(shares).sum(), (shares - np.diag(np.diag(shares))).sum(axis=1) / 2
    if not pairs.any():
        return relevance
    known = np.ones(len(pairs)) if relevance is None else relevance
    by_pairs = LEAST_SCREENED + (1 - LEAST_SCREENED) * len(pairs) * pairs / pairs.sum()
    weight = pairs.sum() / (main + pairs.sum())
    both = known ** (1 - weight) * by_pairs**weight
    gain = neighbour_losses(rows * metric(known), columns) - neighbour_losses(rows * metric(both), columns)
    return both if gain.mean() > CONFIRMED * gain.std() / math.sqrt(len(gain)) else relevance


def target_columns(targets: Array, task: str) -> Array:  # (n,) -> (n, c)
    """Ranks in [0, 1], or 0 and 1 for each class."""
    if task == "regression":
        values, places = np.unique(targets, return_inverse=True)
        return np.asarray(places[:, None] / max(1, len(values) - 1))
    classes, counts = np.unique(targets, return_counts=True)
    frequent = classes[np.argsort(-counts, kind="stable")[:MOST_CLASSES]]
    return np.asarray(targets[:, None] == frequent, dtype=np.float64)


def screen(rows: Array, targets: Array) -> Array:  # (n, d), (n, c) -> (d, d)
    """Shares of the variance: of each feature, and of each pair beyond its two features; 0 for what may be noise."""
    n, d = rows.shape
    shares, (i, j) = np.zeros((d, d)), np.triu_indices(d, 1)
    mean = targets.mean(axis=0)
    covariance = (targets - mean).T @ (targets - mean)
    total = float(np.trace(covariance))
    if d < 2 or not total > 0:
        return shares
    bins = np.sum([rows > cut for cut in quartiles(rows)], axis=0, dtype=np.uint8)
    active = np.eye(BINS, dtype=np.float32).take(bins, axis=0).reshape(n, d * BINS)

    joint = (active.T @ active).astype(np.float64)
    counts = np.diag(joint).reshape(d, BINS)
    sums, squares = np.zeros((targets.shape[1], d, BINS)), np.zeros(joint.shape)
    others = np.zeros(joint.shape)  # minus the sum of the tables so far; those of classes that cover all rows sum to 0
    partition = targets.shape[1] > 1 and bool((targets.sum(axis=1) == 1).all())
    for k, (column, own) in enumerate(zip(targets.T, sums, strict=True)):
        if partition and k == len(sums) - 1:
            table = others
        else:
            part, values = active[column != 0], column[column != 0, None].astype(np.float32)  # the rows of a class
            table = (part.T @ (part if (values == 1).all() else part * values)).astype(np.float64) - mean[k] * joint
            others -= table
        own[:] = np.diag(table).reshape(d, BINS)
        squares += table**2
    of_one = (sums**2 / np.maximum(1.0, counts)).sum(axis=(0, 2))
    of_cells = (squares / np.maximum(1.0, joint)).reshape(d, BINS, d, BINS).sum(axis=(1, 3))[i, j]
    levels, used = (counts > 0).sum(axis=1), (joint > 0).reshape(d, BINS, d, BINS).sum(axis=(1, 3))[i, j]
    outputs = total**2 / float((covariance**2).sum())  # effective number: classes depend on each other

    def noise(freedom: Array, explained: Array, used: Array) -> tuple[Array, Array]:
        """The sum of squares that noise has on average, and the one that it exceeds rarely."""
        variance = np.maximum((total - explained) / np.maximum(1, n - used), 1e-12 * total / n)
        f, x = outputs * np.maximum(0, freedom), math.log(len(freedom) / FALSE_PAIRS)
        most = variance / outputs * (f + 2 * np.sqrt(f * x) + 2 * x)
        return freedom * variance, np.where(freedom > 0, most, np.inf)

    usual, most = noise(levels - 1, of_one, levels)
    shares[np.diag_indices(d)] = np.where(of_one > most, np.maximum(0.0, of_one - usual) / total, 0.0)
    usual, most = noise(used - levels[i] - levels[j] + 1, of_cells, used)
    ridge = 1e-6 * n
    alone = (sums**2 / (counts + ridge)).sum(axis=(0, 2))  # a sum of two functions explains no less than one of them
    possible = of_cells - np.maximum(alone[i], alone[j]) > most
    i, j, of_cells, usual, most = i[possible], j[possible], of_cells[possible], usual[possible], most[possible]
    cells = joint.reshape(d, BINS, d, BINS).transpose(1, 3, 0, 2)[:, :, i, j]
    sums = sums.transpose(2, 0, 1)
    found = of_cells - additive(counts[i].T + ridge, counts[j].T + ridge, cells, sums[:, :, i], sums[:, :, j])
    shares[i, j] = shares[j, i] = np.where(found > most, np.maximum(0.0, found - usual) / total, 0.0)
    return shares


def quartiles(rows: Array) -> list[Array]:  # (n, d) -> three of (d,)
    """Of each feature, between two rows by interpolation."""
    ordered, places = np.sort(rows.T.copy()), np.multiply(QUARTILES, len(rows) - 1)
    pairs = [(place - int(place), ordered[:, int(place)], ordered[:, math.ceil(place)]) for place in places]
    return [below + share * (above - below) for share, below, above in pairs]


def additive(first: Array, second: Array, cells: Array, sums: Array, others: Array) -> Array:
    """Sums of squares of the sum of a function of each feature of a pair, over all outputs.

    Counts of both features with a ridge (4, p) and of their cells (4, 4, p); sums of the targets by both (4, c, p). The
    normal equations are solved for the first function, then by elimination for the second.
    """
    left = np.eye(BINS)[:, :, None] * second
    right = others.copy()
    for counts, own, total in zip(cells, sums, first, strict=True):  # of the bins of the first feature
        share = counts / total
        left -= counts[:, None] * share
        right -= share[:, None] * own
    squares = (sums**2 / first[:, None]).sum(axis=(0, 1))
    for k in range(BINS):
        squares += (right[k] ** 2).sum(axis=0) / left[k, k]
        factors = left[k + 1 :, k] / left[k, k]
        right[k + 1 :] -= factors[:, None] * right[k]
        left[k + 1 :] -= factors[:, None] * left[k]
    return np.asarray(squares)


def neighbour_losses(rows: Array, targets: Array) -> Array:  # (n, d), (n, c) -> (queries,)
    """Squared errors of the newer half of the rows by their nearest neighbours in the older half."""
    queries = min(len(rows) // 2, MOST_QUERIES)
    old, new = rows[:-queries].astype(np.float32), rows[-queries:].astype(np.float32)
    distances = new @ (-2 * old.T)
    distances += (old**2).sum(axis=1)  # less the square of the query
    total, each = np.zeros((queries, targets.shape[1])), np.arange(queries)
    for _ in range(NEIGHBOURS):  # the nearest, the second nearest, ...: five times as fast as a partition
        nearest = distances.argmin(axis=1)
        total += targets[nearest]
        distances[each, nearest] = np.inf
    return np.asarray(((total / NEIGHBOURS - targets[-queries:]) ** 2).sum(axis=1))
