"""Trees over the features: regions whose borders are parallel to the axes, and features of which few matter.

They are fitted to the residuals of each other like the trees of gradient boosting, but one at a time and from the most
recent rows; between that their leaves learn every row. A leaf with a variance converges, one with a constant gain
tracks drift. A tree that was grown again is on trial until the next one is: the tree before comes back if it would have
predicted the rows since clearly better. Trees see features without the relevance metric, so that a redraw of the grids
leaves them as they are; a new anchor of the scaling up to row 512 starts them again. They see categories themselves,
not their effects. Parts of a merge do not grow trees: their leaves are merged like those of other diagonal heads, and
the stored rows by their age.

Wide rows and small memories have trees of fewer levels, with 16 to 20 stored rows for each leaf. If that leaves fewer
than four levels (five below 512 KB, where wide rows leave the bins little), or there is no room for 16 trees, as with
many classes, there is none: other experts have more use for the memory. Nor are there trees below 128 KB, where what
their heads need besides would cost new classes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nolana.engine.base.bounds import Count, Share
from nolana.engine.experts.trees.leaves import ConstantLeaves, DiagonalLeaves
from nolana.engine.experts.trees.tree_map import (
    LARGEST,
    LARGEST_NUMBER,
    MISSING,
    MOST_FEATURES,
    STEPS,
    TreeMap,
    leaves_of,
)
from nolana.experts.base import Anchors, Array, Budget, Expert, ExpertState, HeadEntry, Outputs, Sizes, losses
from nolana.experts.bins import SHARED, merge_constant
from nolana.experts.diagonal import floored, mean_variance, merge_diagonal
from nolana.experts.neighbours import by_age
from nolana.experts.parts import Parts
from nolana.modelfile.specs import Spec

SHARE, OF_TREES = 90 / 512, 0.37  # of the memory; and of that: the rest has the stored rows
MOST_ROWS, FEWEST_TREES = 3072, 16
FEWEST_ROWS, ENOUGH_ROWS = 16, 20  # for each leaf of a tree; of trees that have lost levels to have that many
SMALLEST_MEMORY, LARGE_MEMORY = 128 << 10, 512 << 10
DEPTH, DEPTH_OF_CLASSES = 6, 5  # of one output, of several
LEAST_DEPTH, LEAST_IN_LARGE_MEMORY = 5, 4
VARIANCE, FLOOR = 0.03, 1e-4  # of a leaf
GAIN = 0.05  # of a leaf
NONE = {"trees": 0, "rows": 1}


@dataclass(frozen=True, kw_only=True)
class Trees(Expert):
    """Trees that are refitted one at a time from the most recent rows: regions parallel to the axes.

    Parameters
    ----------
    fast : bool, default=True
        Whether a head with constant gain stands beside the one that converges.
    most : int, default=64
        Trees at most.
    share : float, default=None
        Of the memory, at most; None: 0.18.
    """

    sized_by_outputs = True

    fast: bool = True
    most: Count = 64
    share: Share | None = None

    number_bytes: ClassVar[Mapping[str, int]] = {
        "split_features": 1, "thresholds": 1, "codes": 1, "leaves": 2, "variances": 2, "row_weights": 2, "fitted": 2,
    }  # fmt: skip

    def sizes(self, budget: Budget) -> Sizes:
        outputs, share = budget.outputs, SHARE if self.share is None else self.share
        memory = budget.fraction * share * budget.memory
        usual = depth = DEPTH if outputs == 1 else DEPTH_OF_CLASSES
        rows = min(MOST_ROWS, int((1 - OF_TREES) * memory) // row_bytes(budget.features, outputs))
        least = LEAST_IN_LARGE_MEMORY if budget.memory >= LARGE_MEMORY else LEAST_DEPTH
        while depth > least and rows < FEWEST_ROWS << depth:
            depth -= 1
        if depth < usual:
            rows = min(rows, ENOUGH_ROWS << depth)
        trees = min(self.most, int(OF_TREES * memory) // tree_bytes(depth, outputs, self.fast) - 1)  # one on trial
        too_few = trees < min(self.most, FEWEST_TREES) or rows < FEWEST_ROWS << depth
        if too_few or budget.features > MOST_FEATURES or budget.memory < SMALLEST_MEMORY:
            return NONE | {"depth": depth}
        return {"trees": trees, "rows": rows, "depth": depth}

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        own = {"features": features, "trees": sizes["trees"], "depth": sizes["depth"], "rows": sizes["rows"]}
        return Spec(TreeMap, own | {"seed": seed, "refits": True, "trials": True})

    def with_categories(self, map: Spec, categories: Array) -> Spec:
        return replace(map, arguments={**map.arguments, "categories": categories})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        loss = losses(task)[1]
        slow = Spec(DiagonalLeaves, {"loss": loss, "variance": VARIANCE, "floor": FLOOR})
        fast = Spec(ConstantLeaves, {"loss": loss, "gain": GAIN})
        return [HeadEntry(slow, 0.5, 10.0, "late")] + [HeadEntry(fast, 0.5, 10.0, "late")] * self.fast

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """Trees lose their lowest level, then the last trees go, then the oldest rows."""
        arguments = own.map.arguments
        while own.map.arguments["depth"] > sizes["depth"]:
            self._cut_level(own)
        trees, rows = min(arguments["trees"], sizes["trees"]), min(arguments["rows"], sizes["rows"])
        if (trees, rows) == (arguments["trees"], arguments["rows"]):
            return
        own.resize(trees=trees, rows=rows)
        if not own.map_state:
            return
        state, slow = own.map_state, own.head_states[0]
        gone, places = state["grown"] > trees, trees + bool(trees and own.map.arguments.get("trials"))
        state |= {name: float(min(state[name], trees)) for name in ("grown", "stale")}
        state["oldest"] = float(state["oldest"] % max(1, trees))
        end_trial(own)
        for name in ("split_features", "thresholds"):
            state[name] = state[name][:places].copy()
        state["codes"] = state["codes"][-rows:].copy()
        for name in ("targets", "row_weights", "fitted"):
            slow[name] = slow[name][-rows:].copy()
        for learned in own.head_states:
            for name in ("leaves", "variances"):
                if name in learned:
                    learned[name] = learned[name][: places << own.map.arguments["depth"]].copy()
        if gone:
            slow["fitted"] = self._fitted(own)

    def _cut_level(self, own: ExpertState) -> None:
        """Two leaves become one, weighted by precision."""
        own.resize(depth=own.map.arguments["depth"] - 1)
        if not own.map_state:
            return
        for name in ("split_features", "thresholds"):
            own.map_state[name] = own.map_state[name][:, : (1 << own.map.arguments["depth"]) - 1].copy()
        slow = own.head_states[0]
        start = own.heads[0].arguments["variance"]
        learned = 1 / slow["variances"].astype(np.float64).reshape(-1, 2) - 1 / start + 1e-3
        total = learned[:, 0] + learned[:, 1]
        slow["variances"] = (1 / (total + 1 / start)).astype(np.float32)
        for state, shares in zip(own.head_states, (learned / total[:, None], np.full((1, 2), 0.5)), strict=False):
            pairs = state["leaves"].reshape(len(state["leaves"]) // 2, 2, state["leaves"].shape[1])
            merged = pairs[:, 0] * shares[:, :1] + pairs[:, 1] * shares[:, 1:]
            state["leaves"] = np.ascontiguousarray(merged, dtype=np.float32)

    def _fitted(self, own: ExpertState) -> Array:
        """The scores of the stored rows by the trees that are left."""
        state, leaves = own.map_state, own.head_states[0]["leaves"]
        codes, size = state["codes"], 1 << own.map.arguments["depth"]
        fitted = np.zeros((len(codes), leaves.shape[1]))
        for q in range(int(state["grown"])):
            features, thresholds = (state[name][q].astype(np.int64) for name in ("split_features", "thresholds"))
            fitted += leaves[q * size + leaves_of(codes, features, thresholds, categories_of(own))]
        return fitted.astype(np.float32)

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        return {name: min(own.map.arguments[name] for own in states) for name in ("trees", "rows", "depth")}

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        """Codes of the numbers in the stored rows go to the new scale; all trees start again."""
        state = own.map_state
        if not own.map.arguments["trees"]:
            return
        codes = state["codes"]
        z = anchors.moved(codes.astype(np.float64) / STEPS * state["metric"]) / state["metric"]
        moved = np.clip(np.rint(z * STEPS), -LARGEST_NUMBER, LARGEST_NUMBER).astype(np.float32)
        stays = codes == MISSING
        stays[:, categories_of(own)] = True
        state["codes"] = np.where(stays, codes, moved)
        self.restart(own)

    def restart(self, own: ExpertState) -> None:
        """All trees are grown again."""
        state = own.map_state
        state["grown"] = state["oldest"] = state["stale"] = 0.0
        end_trial(own)
        state["split_features"] = np.zeros_like(state["split_features"])
        state["thresholds"] = np.full_like(state["thresholds"], LARGEST)
        slow = own.head_states[0]
        slow["fitted"] = np.zeros_like(slow["fitted"])
        slow["variances"] = np.full_like(slow["variances"], own.heads[0].arguments["variance"])
        for learned in own.head_states:
            learned["leaves"] = np.zeros_like(learned["leaves"])

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        """Codes are without the metric."""
        own.map_state["metric"] = own.map_state["metric"] * metric

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        """The trees share the shift; g = 0 also forgets the stored rows."""
        if g == 0:
            self.restart(own)
            own.map_state["codes"] = own.map_state["codes"][:0].copy()
            for name in ("targets", "row_weights", "fitted"):
                own.head_states[0][name] = own.head_states[0][name][:0].copy()
            return
        slow, grown = own.head_states[0], int(own.map_state["grown"])
        slow["targets"] = (g * slow["targets"].astype(np.float64) + shift).astype(np.float32)
        slow["fitted"] = (g * slow["fitted"].astype(np.float64) + (shift if grown else 0.0)).astype(np.float32)
        for learned in own.head_states:
            leaves = g * learned["leaves"].astype(np.float64)
            leaves[: kept_leaves(own)] += shift / max(1, grown)
            learned["leaves"] = leaves.astype(np.float32)

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        """The trees share the low log-odds of a new class."""
        own.rearrange(outputs, outputs.logit)
        slow, grown = own.head_states[0], int(own.map_state["grown"])
        if grown:
            unseen = -math.log(outputs.rows + 1)
            slow["fitted"][:, outputs.new] = unseen
            for learned in own.head_states:
                learned["leaves"][: kept_leaves(own), outputs.new] = unseen / grown
        if outputs.old == 1:
            slow["targets"] = (slow["targets"] > 0).astype(np.float32)

    def permute_outputs(self, own: ExpertState, order: list[int]) -> None:
        """Targets are numbers of outputs."""
        super().permute_outputs(own, order)
        slow, places = own.head_states[0], np.argsort(order).astype(np.float32)
        slow["targets"] = places[slow["targets"].astype(np.intp)]

    def freeze(self, own: ExpertState) -> None:
        own.resize(refits=False)
        end_trial(own)
        own.heads[0] = replace(own.heads[0], arguments={**own.heads[0].arguments, "floor": 0.0})

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        rows, slow = own.map.arguments["rows"], heads[0]
        kept = np.array([state["kept"] - map.base["kept"] for state in map.states])
        own.map_state["kept"] = map.sum("kept")
        end_trial(own)
        if "learned_codes" in own.map_state:
            own.map_state["learned_codes"] = np.maximum.reduce([state["learned_codes"] for state in map.states])
        own.map_state["codes"] = by_age(replace(map, rows=kept), "codes", rows)
        for name in ("targets", "row_weights", "fitted"):
            own.head_states[0][name] = by_age(replace(slow, rows=kept), name, rows)
        grown = max(1.0, own.map_state["grown"])
        v = grown * mean_variance(slow.base["variances"], own.heads[0].arguments["variance"])
        own.head_states[0] |= merge_diagonal(slow, "leaves", "variances", 1, SHARED * v)
        for state, parts in zip(own.head_states[1:], heads[1:], strict=True):
            state["leaves"] = merge_constant(parts, "leaves")

    def thaw(self, own: ExpertState, rows: int) -> None:
        own.head_states[0] |= floored(own.head_states[0], own.heads[0].arguments["floor"], ("variances",))

    def names(self, own: ExpertState) -> list[str]:
        return ["trees" if head.kind is DiagonalLeaves else "trees, fast" for head in own.heads]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {"trees": int(map.arguments["trees"])}


def end_trial(own: ExpertState) -> None:
    """The tree that was grown last stays."""
    if "on_trial" in own.map_state:
        own.map_state["on_trial"] = 0.0


def kept_leaves(own: ExpertState) -> int:
    """Of all trees that are grown, and of the one that may come back."""
    return int(own.map_state["grown"] + own.map_state.get("on_trial", 0.0)) << int(own.map.arguments["depth"])


def categories_of(own: ExpertState) -> list[int]:
    """The columns that hold keys of categories."""
    categories = own.map.arguments.get("categories")
    return [] if categories is None else [int(j) for j in categories]


def tree_bytes(depth: int, outputs: int, fast: bool) -> int:
    """Of a tree: two for a node; for a leaf a variance, and the weights of both heads for each output."""
    return 2 * ((1 << depth) - 1) + (1 << depth) * (2 + 2 * outputs * (1 + fast))


def row_bytes(features: int, outputs: int) -> int:
    """Of a stored row: code, scores, target and weight; gradient and place while a tree is grown."""
    return features + 2 * outputs + 6 + 6
