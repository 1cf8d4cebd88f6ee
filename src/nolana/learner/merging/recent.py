"""Rows that are stored: those of the parts by turns, the most recent last, then those of the base before them.

Row number a of the n rows of a part, counted from its last one, has the age (a + 1/2)/n. So parts of different sizes
are spread over the same time, and a window has as many rows of each part as it would have of one stream.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State
from nolana.learner.merging.parts import Parts


def by_age(parts: Parts, name: str, most: int) -> NDArray[np.float32]:
    """The last `most` of the stored rows of base and parts, the oldest first."""
    ages, stored = [], []
    for own, state in zip(parts.rows.astype(int), parts.states, strict=True):
        rows = state[name][::-1][: min(own, most)]
        ages.append((np.arange(len(rows)) + 0.5) / max(own, 1))
        stored.append(rows)
    ages.append(np.full(len(parts.base[name]), 2.0))
    stored.append(parts.base[name][::-1])
    newest_first = np.argsort(np.concatenate(ages), kind="stable")[:most]
    return np.ascontiguousarray(np.concatenate(stored)[newest_first][::-1])


def merge_recent(parts: Parts, windows: NDArray[np.float64]) -> State:
    """`NeighbourMap`."""
    return {"recent": by_age(parts, "recent", int(windows[-1]))}


def merge_vote(parts: Parts, window: int) -> State:
    """`Vote`, whose targets are those of the stored rows of its window."""
    return {"targets": by_age(parts, "targets", window), "counts": parts.sum("counts")}
