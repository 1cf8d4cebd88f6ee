"""How odd a row is: its distance to stored rows, as a p-value that is uniform on rows like those learned last.

The neighbours store the last W rows. With M = 3 W/4, the distance s of a row is the mean distance to the 5 nearest of
the last M. What is usual is known from the stored rows themselves, with no state of its own and nothing to do when rows
are learned: each of the last W - M rows was once a row to come, with the M rows before it,

    p = (larger + u (1 + equal))/(1 + W - M)

where so many of them had a larger, or an equal distance to the M rows before them. Distances are whole steps, so ties
are common in a few features: u in (0, 1) is a hash of the row, as a smoothed conformal predictor draws it.
Rows that follow each other, as in a series, are calibrated by rows that followed each other too, and a distribution
that drifts by a window that drifts with it. If rows are exchangeable, or a stationary sequence, p is uniform (conformal
prediction: Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005). Beyond the largest distance s_max
p continues as s_max/s, so that the oddest rows are still ordered.

Distances to the nearest neighbours as a measure of outliers: Ramaswamy, Rastogi, Shim, "Efficient algorithms for mining
outliers from large data sets", SIGMOD 2000.
"""

import numpy as np

from nolana.experts.base import Array

SHARE = 3 / 4  # of the stored rows that a row is compared with
FEWEST = 32  # stored rows: with fewer, every row has the p-value 1
MOST_CALIBRATING = 1024  # rows


def windows(stored: int) -> tuple[int, int]:
    """Rows that a row is compared with, and rows that say what is usual; none of these if too few are stored."""
    if stored < FEWEST:
        return stored, 0
    calibrating = min(stored - int(SHARE * stored), MOST_CALIBRATING)
    return stored - calibrating, calibrating


def p_values(distances: Array, usual: Array, u: Array) -> Array:  # (n,), (m,) in ascending order, (n,) -> (n,)
    """The share of usual distances that are as large."""
    not_above, below = (np.searchsorted(usual, distances, side=side) for side in ("right", "left"))
    share = u * (1 + not_above - below)
    beyond = distances > usual[-1]
    share[beyond] = usual[-1] / distances[beyond]
    return np.asarray((len(usual) - not_above + share) / (1 + len(usual)))


def hashes(x: Array) -> Array:  # (n, d) -> (n,)
    """A number in (0, 1) for each row, the same for equal rows (Steele, Lea, Flood, SplitMix, OOPSLA 2014)."""
    words = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    places = np.arange(1, x.shape[1] + 1, dtype=np.uint64)
    mixed = (words * (places * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(((mixed >> np.uint64(12)) + 0.5) * 2.0**-52)
