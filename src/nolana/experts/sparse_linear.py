"""A linear model of wide sparse rows: the most frequent features have a slot of a table each, with a variance.

A row costs its non-zeros. The table of the features (`FeatureTable`) is the learner's, because all other experts learn
on a sketch of the same scaled non-zeros. When the table becomes smaller, the most frequent features keep their slots.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Share
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.engine.experts.sparse_linear.feature_table import WAYS, bucket_of, counter_of
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.experts.base import Anchors, Array, Budget, Expert, ExpertState, HeadEntry, Outputs, Sizes, State, losses
from nolana.experts.diagonal import floored, mean_variance, merge_diagonal
from nolana.experts.parts import Parts
from nolana.modelfile.specs import Spec

WIDE = 256  # features, above which rows may be sparse
SKETCH = 64  # sums that stand for a wide sparse row; neighbours store no more
SHARE, COUNTERS_SHARE = 0.6, 0.1  # of the memory; counters have a byte each
VARIANCE, BIAS_VARIANCE, FLOOR = 6.0, 1.0, 6e-3


@dataclass(frozen=True, kw_only=True)
class SparseLinear(Expert):
    """A linear model of the non-zeros of wide rows; `Linear` chooses it.

    Parameters
    ----------
    share : float, default=None
        Of the memory, at most, for the table; None: 0.6.
    """

    share: Share | None = None

    def sizes(self, budget: Budget) -> Sizes:
        share = SHARE if self.share is None else self.share
        left = budget.fraction * share * budget.memory - counters(budget.memory, budget.all_features)
        slots = WAYS * max(1, int(left) // (WAYS * slot_bytes(budget.outputs)))
        return {"table": min(budget.all_features, slots)}

    def bytes(self, sizes: Sizes, budget: Budget) -> int:
        """Bytes that the other experts cannot have."""
        return int(sizes["table"]) * slot_bytes(budget.outputs) + counters(budget.memory, budget.all_features)

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        return Spec(LinearMap, {"table": sizes["table"]})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        steps = {"loss": losses(task)[1], "variance": VARIANCE, "bias": BIAS_VARIANCE, "floor": FLOOR}
        return [HeadEntry(Spec(DiagonalLinear, steps), 0.5, 10.0, "slow")]

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """The state has the entries of `slot_features` beside those of the map."""
        table = sizes["table"]
        if table >= own.map.arguments["table"]:
            return
        own.resize(table=table)
        if not own.map_state:
            return
        features, state = own.map_state, own.head_states[0]
        sources, keys = moved_slots(features["keys"], features["frequencies"], table)
        filled = keys >= 0
        features["keys"] = keys
        for name in ("scales", "frequencies"):
            features[name] = np.where(filled, features[name][sources], 0).astype(features[name].dtype)
        start = np.float32(own.heads[0].arguments["variance"])
        weights = np.where(filled[:, None], state["slots"][sources], np.float32(0))
        state["slots"] = np.ascontiguousarray(weights)
        state["variances"] = np.where(filled, state["variances"][sources], start)

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        return {"table": min(own.map.arguments["table"] for own in states)}

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        """The table of features scales its rows itself."""

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        """Only sketches are measured by relevance."""

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        state = own.head_states[0]
        state["slots"] *= np.float32(g)
        state["bias"] = g * state["bias"] + shift

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        state = own.head_states[0]
        own.rearrange(outputs, outputs.logit)
        state["bias"] = np.where(outputs.new, -math.log(outputs.rows + 1), state["bias"])

    def freeze(self, own: ExpertState) -> None:
        own.heads = [replace(head, arguments={**head.arguments, "floor": 0.0}) for head in own.heads]

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        """The slots, and the bias, which every row meets. Rows have length 1: v is the mean variance of a slot."""
        v = mean_variance(heads[0].base["variances"], own.heads[0].arguments["variance"])
        own.head_states[0] |= merge_diagonal(heads[0], "slots", "variances", 1, v)
        own.head_states[0] |= merge_diagonal(heads[0], "bias", "bias_variance", 0, np.inf)

    def thaw(self, own: ExpertState, rows: int) -> None:
        names = ("variances", "bias_variance")
        own.head_states[0] |= floored(own.head_states[0], own.heads[0].arguments["floor"], names)

    def names(self, own: ExpertState) -> list[str]:
        return ["linear"]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {"features with a slot": int(map.arguments["table"])}


def slot_bytes(outputs: int) -> int:
    """Of a slot: a feature, its scale, a variance and its weights."""
    return 4 * (3 + outputs)


def counters(memory: int, features: int) -> int:
    """Counters of the frequencies of features."""
    return min(features, int(COUNTERS_SHARE * memory))


def slot_features(features: int, table: State) -> State:
    """What `SparseLinear.shrink` needs of the state of a `FeatureTable`: for each slot its feature, scale and count."""
    counts, frequencies = table["counts"], np.zeros(len(table["keys"]))
    for slot in np.flatnonzero(table["keys"] >= 0):
        frequencies[slot] = counts[counter_of(int(table["keys"][slot]), len(counts), features)]
    return {"keys": table["keys"], "scales": table["scales"], "frequencies": frequencies}


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
