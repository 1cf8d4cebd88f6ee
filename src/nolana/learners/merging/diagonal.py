"""Heads with a variance for each weight: information is added element by element.

    1/s = 1/s_0 + sum_i (1/s_i - 1/s_0),   w = w_0 + s sum_i (w_i - w_0)/s_i

Variances of parts have no floor (`nolana.learners.freezing`), so that each says how much its part learned; the merged
learner has it again when it learns (`floored`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.learners.merging.parts import Parts
from nolana.reference.state import State

Array = NDArray[np.float64]


def merge_diagonal(parts: Parts, weights: str, variances: str, axis: int) -> State:
    """Weights with their variances; outputs are along `axis` of the weights."""
    base_s = np.asarray(parts.base[variances], dtype=np.float64)
    base_w = np.asarray(parts.base[weights], dtype=np.float64)
    precision, pull = 1 / base_s, np.zeros_like(base_w)
    touched = np.zeros(base_s.shape, dtype=bool)
    for state in parts.states:
        s = np.asarray(state[variances], dtype=np.float64)
        change = np.asarray(state[weights], dtype=np.float64) - base_w
        precision = precision + (1 / s - 1 / base_s)
        pull += change / np.expand_dims(s, axis)
        touched |= (s != base_s) | change.any(axis=axis)
    s = np.where(touched, 1 / precision, base_s)
    merged = base_w + pull * np.expand_dims(s, axis)
    like = {weights: parts.base[weights], variances: parts.base[variances]}
    return {name: _as(like[name], value) for name, value in ((weights, merged), (variances, s))}


def _as(like: Any, value: Array) -> Any:
    return np.ascontiguousarray(value, dtype=like.dtype) if isinstance(like, np.ndarray) else float(value)


def merge_cells(parts: Parts) -> State:
    """`DiagonalCells`: the table, and the linear part."""
    return merge_diagonal(parts, "cells", "variances", 1) | merge_diagonal(parts, "linear", "linear_variances", 0)


def merge_linear(parts: Parts) -> State:
    """`DiagonalLinear`: the slots, and the bias."""
    return merge_diagonal(parts, "slots", "variances", 1) | merge_diagonal(parts, "bias", "bias_variance", 0)


def floored(state: State, floor: float, names: tuple[str, ...]) -> State:
    """These variances, not below the floor of their head."""
    return {
        name: np.maximum(state[name], np.float32(floor))
        if isinstance(state[name], np.ndarray)
        else max(state[name], floor)
        for name in names
    }
