"""The slots of a `FeatureTable` when the table becomes smaller: the most frequent features keep one."""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.experts.sparse_linear.feature_table import bucket_of, counter_of
from nolana.learner.driver import Array, State
from nolana.learner.layout import experts_on, head_of, with_argument
from nolana.modelfile.specs import Spec

KEYS, SCALES, FREQUENCIES = "features/keys", "features/scales", "features/frequencies"


def slots_of(features: int, table: State) -> State:
    """What `shrink_features` needs of the state of a table: for each slot its feature, its scale and its count."""
    counts, frequencies = table["counts"], np.zeros(len(table["keys"]))
    for slot in np.flatnonzero(table["keys"] >= 0):
        frequencies[slot] = counts[counter_of(int(table["keys"][slot]), len(counts), features)]
    return {KEYS: table["keys"], SCALES: table["scales"], FREQUENCIES: frequencies}


def shrink_features(spec: Spec, state: State, i: int, table: int) -> Spec:
    """A table of so many slots for map i; changes the state of its experts, and what `slots_of` added to it."""
    sources, keys = moved_slots(state[KEYS], state[FREQUENCIES], table)
    filled = keys >= 0
    state[KEYS] = keys
    for name in (SCALES, FREQUENCIES):
        state[name] = np.where(filled, state[name][sources], 0).astype(state[name].dtype)
    for e in experts_on(spec, i):
        start = np.float32(head_of(spec, e).arguments["variance"])
        weights = np.where(filled[:, None], state[f"expert{e}/slots"][sources], np.float32(0))
        state[f"expert{e}/slots"] = np.ascontiguousarray(weights)
        state[f"expert{e}/variances"] = np.where(filled, state[f"expert{e}/variances"][sources], start)
    return with_argument(spec, i, table=table)


def moved_slots(keys: Array, frequencies: Array, table: int) -> tuple[NDArray[np.intp], Array]:
    """For each of `table` slots the old one that it comes from, and its feature (-1: empty)."""
    sources, new_keys = np.zeros(table, dtype=np.intp), np.full(table, -1.0)
    old = np.flatnonzero(keys >= 0)
    for slot in old[np.argsort(-frequencies[old], kind="stable")]:
        key = int(keys[slot])
        free = [each for each in bucket_of(key, table) if new_keys[each] < 0]
        if free:
            sources[free[0]], new_keys[free[0]] = slot, key
    return sources, new_keys
