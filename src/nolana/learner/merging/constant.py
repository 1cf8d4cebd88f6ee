"""Heads of constant gain: the mean of the parts by their rows.

A head of constant gain forgets its base after few rows, and so has each part: the sum of their changes would overshoot
as often as there are parts. A cell that only some parts changed is the mean of those, an output whose class only some
parts saw is the mean of those.
"""

import numpy as np

from nolana.engine.base.state import State
from nolana.learner.merging.parts import Parts


def merge_lms(parts: Parts) -> State:
    """`LMS`."""
    base = parts.base["weights"]
    change, rows = np.zeros_like(base), np.zeros((len(base), 1))
    for i, state in enumerate(parts.states):
        own = parts.rows[i] * parts.saw(i, len(base))[:, None]
        change += own * (state["weights"] - base)
        rows += own
    return {"weights": np.ascontiguousarray(base + change / np.maximum(rows, 1.0))}


def merge_constant_cells(parts: Parts) -> State:
    """`ConstantBins`."""
    base = parts.base["cells"].astype(np.float64)
    change, rows = np.zeros_like(base), np.zeros_like(base)
    for i, state in enumerate(parts.states):
        changed = (state["cells"] != parts.base["cells"]).any(axis=1)
        own = parts.rows[i] * parts.saw(i, base.shape[1])
        change[changed] += own * (state["cells"][changed] - base[changed])
        rows[changed] += own
    merged = base + change / np.maximum(rows, 1.0)
    return {"cells": np.ascontiguousarray(merged, dtype=np.float32)}
