"""Why this prediction: Shapley values of the columns of a row, against the centre of the rows that were learned.

A set S of columns plays f(S): the score of the row whose columns in S are its own, and all others those of the centre.

    phi_j = mean over all orders of the columns of f(columns up to j) - f(columns before j)
    sum over j of phi_j = f(row) - f(centre)

Only columns that differ from the centre take part; the others have 0. Up to 10 of them all 2^p sets are played, and phi
is exact. Otherwise 16 orders are drawn, always the same ones, each forwards and backwards (antithetic): every order
adds up to the same difference, so their mean does.

Shapley, "A value for n-person games", 1953; Sundararajan, Najmi, "The many Shapley values for model explanation", ICML
2020 (the baseline); Mitchell, Cooper, Frank, Holmes, "Sampling permutations for Shapley value estimation", JMLR 2022.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Sets = NDArray[np.bool_]

MOST_EXACT = 10  # columns of which all sets are played
ORDERS = 16  # drawn, each of them forwards and backwards
MOST_PLAYED = 4096  # rows of a call of the learner; of a very wide row as many as two orders need


def contributions(
    scores: Callable[[Array], Array], x: Array, centre: Array, columns: Sequence[slice]
) -> Array:  # (n, d), (d,) -> (n, columns, c)
    """phi of each column of each row; `scores` maps rows (m, d) to (m, c) and is called for whole rows of x.

    columns: where each of them is among the d numbers of a row.
    """
    if not len(x):
        return np.zeros((0, len(columns), scores(centre[None]).shape[1]))
    differs = (x != centre) & ~(np.isnan(x) & np.isnan(centre))
    playing = np.array([differs[:, place].any(axis=1) for place in columns]).T.reshape(len(x), len(columns))
    found: list[Array] = []
    start = 0
    while start < len(x):
        stop, rows = start, 0
        while stop < len(x) and (stop == start or rows + played(int(playing[stop].sum())) <= MOST_PLAYED):
            rows += played(int(playing[stop].sum()))
            stop += 1
        games = [np.flatnonzero(playing[i]) for i in range(start, stop)]
        asked = [rows_of(x[i], centre, columns, game) for i, game in zip(range(start, stop), games, strict=True)]
        values = np.split(scores(np.concatenate(asked)), np.cumsum([len(each) for each in asked])[:-1])
        for game, value in zip(games, values, strict=True):
            own = np.zeros((len(columns), value.shape[1]))
            own[game] = shapley(value, len(game))
            found.append(own)
        start = stop
    return np.array(found)


def rows_of(x: Array, centre: Array, columns: Sequence[slice], game: NDArray[np.intp]) -> Array:  # (d,) -> (sets, d)
    """The rows that the sets of these columns stand for."""
    own = np.zeros((len(game), len(x)), dtype=bool)
    for k, j in enumerate(game.tolist()):
        own[k, columns[j]] = True
    return np.where(sets(len(game)).astype(np.float32) @ own > 0, x, centre)


def played(p: int) -> int:
    """Rows that a row costs of which p columns differ from the centre."""
    return int(2**p if p <= MOST_EXACT else len(orders(p)) * (p + 1))


@lru_cache(maxsize=16)
def sets(p: int) -> Sets:  # (played, p)
    """All sets of p columns, or those that grow along the orders, from the empty one to the full one."""
    if p <= MOST_EXACT:
        return np.asarray(np.arange(2**p)[:, None] >> np.arange(p) & 1, dtype=bool)
    place = np.argsort(orders(p), axis=1)  # of a column in its order
    return np.asarray(place[:, None, :] < np.arange(p + 1)[:, None]).reshape(-1, p)


@lru_cache(maxsize=16)
def orders(p: int) -> NDArray[np.intp]:  # (orders, p)
    """Orders of p columns, each of them also backwards; fewer if rows are very wide."""
    count = max(1, min(ORDERS, MOST_PLAYED // (2 * (p + 1))))
    drawn = np.argsort(np.random.default_rng(0).random((count, p)), axis=1, kind="stable")
    return np.concatenate([drawn, drawn[:, ::-1]])


def shapley(values: Array, p: int) -> Array:  # (played, c) -> (p, c)
    """phi from the scores of the sets."""
    if p > MOST_EXACT:
        steps = np.diff(values.reshape(-1, p + 1, values.shape[1]), axis=1)  # (orders, p, c), in their order
        by_column = np.take_along_axis(steps, np.argsort(orders(p), axis=1)[:, :, None], axis=1)
        return np.asarray(by_column.mean(axis=0))
    members = sets(p)
    size = members.sum(axis=1)
    with_one = np.array([1 / (p * math.comb(p - 1, s - 1)) if s else 0.0 for s in range(p + 1)])
    without = np.array([1 / (p * math.comb(p - 1, s)) if s < p else 0.0 for s in range(p + 1)])
    return np.asarray(np.where(members, with_one[size][:, None], -without[size][:, None]).T @ values)
