"""Heads with a variance for each weight: information is added element by element.

    1/s = 1/s_0 + sum_i l_i,   l_i = 1/s_i - 1/s_0: what part i learned about the weight
    w = w_0 + sum_i (p + l_i)(w_i - w_0)/(p + sum_i l_i)

With p = 1/s_0 these would be the sums of independent weights. But each row moves many weights at once to correct one
score, so parts correct the same error in all of them, and the sum of their changes overshoots: 60.2 % instead of 85.6
on 100,000 rows of covtype in 8 parts. The variance of a score is v, that of all weights of a row, so p = 1/v for sparse
rows and 1/(0.15 v) for bins: weights about which all parts learned much are their mean, weights that few rows met are
the sum of the changes. On covtype a factor of 0.03 or of 1 instead of 0.15 costs 1.1 points, on sparse rows of 600
features a factor of 0.15 instead of 1 costs 3.5.

Variances of parts have no floor (`Expert.freeze`), so that each says how much its part learned; the merged
learner has it again when it learns (`floored`).
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State
from nolana.experts.parts import Parts

Array = NDArray[np.float64]


def merge_diagonal(parts: Parts, weights: str, variances: str, axis: int, row_variance: float) -> State:
    """Weights with their variances; outputs are along `axis` of the weights. 1/row_variance is p."""
    base_s = np.asarray(parts.base[variances], dtype=np.float64)
    base_w = np.asarray(parts.base[weights], dtype=np.float64)
    first = 1 / row_variance
    learned, total, pull = np.zeros_like(base_s), np.full_like(base_w, first), np.zeros_like(base_w)
    for i, state in enumerate(parts.states):
        own = 1 / np.asarray(state[variances], dtype=np.float64) - 1 / base_s
        seen = np.expand_dims(parts.saw(i, base_w.shape[axis]), tuple(j for j in range(base_w.ndim) if j != axis))
        learned = learned + own
        total += seen * np.expand_dims(own, axis)
        pull += seen * np.expand_dims(first + own, axis) * (np.asarray(state[weights], dtype=np.float64) - base_w)
    s = np.where(learned != 0, 1 / (1 / base_s + learned), base_s)
    merged = base_w + pull / np.where(total > 0, total, 1.0)
    like = {weights: parts.base[weights], variances: parts.base[variances]}
    return {name: _as(like[name], value) for name, value in ((weights, merged), (variances, s))}


def mean_variance(variances: NDArray[np.floating], start: float) -> float:
    """The mean variance of a weight that a row meets: each by its rows, which are about 1/s - 1/start."""
    s = variances.astype(np.float64)
    rows = np.maximum(0.0, 1 / s - 1 / start)
    total = float(rows.sum())
    return float(rows @ s) / total if total > 0 else start


def _as(like: float | Array, value: Array) -> float | Array:
    return np.ascontiguousarray(value, dtype=like.dtype) if isinstance(like, np.ndarray) else float(value)


def floored(state: State, floor: float, names: tuple[str, ...]) -> State:
    """These variances, not below the floor of their head."""
    return {
        name: np.maximum(state[name], np.float32(floor))
        if isinstance(state[name], np.ndarray)
        else max(state[name], floor)
        for name in names
    }
