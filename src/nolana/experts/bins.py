"""Random binning features: random grids whose bins are hashed into a table. Fine local structure at one look-up a grid.

A head with a variance for each weight converges, one with a constant gain tracks drift. The first also measures the
relevance of the features by probes, and the grids are drawn again by it. The table takes the memory that the other
experts leave; when a new class needs memory it is folded: slots 2i and 2i + 1 become one, weighted by precision.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nolana.engine.base.bounds import Count
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.bins.heads import FOLD, ConstantBins, DiagonalBins
from nolana.engine.experts.neighbours.neighbour_map import LARGEST
from nolana.experts.base import (
    KB,
    Anchors,
    Array,
    Budget,
    Expert,
    ExpertState,
    HeadEntry,
    Outputs,
    Sizes,
    losses,
)
from nolana.experts.diagonal import floored, mean_variance, merge_diagonal
from nolana.experts.draw_0_2 import drawn_again
from nolana.experts.parts import Parts
from nolana.modelfile.specs import Spec

SMALL, LARGE = 200 * KB, 1024 * KB  # memory below and from which the number of grids differs
GRIDS = 64, 128, 256  # of a small, usual and large memory
FEWEST_GRIDS = 8
FEW_OUTPUTS = 2  # with more of them slots are wide, so there are three quarters of the grids
SLOTS = 64  # the table is a multiple of this, so that it can be halved
SMALLEST_TABLE = 8  # slots; a multiple of it can be halved, with the table of the constant gain
VARIANCE = {"classification": 3.2, "regression": 1.28}  # prior, of a score
LINEAR_VARIANCE, FLOOR = 0.1, 1e-4
GAIN = 6.4  # of a score
LEAST_RELEVANCE = 0.1
SHARED = 0.15  # of the variance of a row's score, when parts are merged


@dataclass(frozen=True, kw_only=True)
class Bins(Expert):
    """Random grids hashed into a table: fine local structure, at one table look-up for each grid.

    The table gets the memory that no other expert takes.

    Parameters
    ----------
    fast : bool, default=True
        Whether a head with constant gain stands beside the one that converges.
    grids : int, default=None
        None: 128; 64 below 200 KB of memory, 256 from 1 MB on. With three classes or more three quarters of that.
    relevance : bool, default=True
        Measure the relevance of the features and use it.
    """

    elastic = True

    fast: bool = True
    grids: Count | None = None
    relevance: bool = True

    number_bytes: ClassVar[Mapping[str, int]] = {"cells": 2, "variances": 2}

    def usual_grids(self, memory: int, outputs: int) -> int:
        """Grids that a memory of so many bytes is best used with."""
        usual = GRIDS[0] if memory < SMALL else GRIDS[2] if memory >= LARGE else GRIDS[1]
        return self.grids or (usual * 3 // 4 if outputs > FEW_OUTPUTS else usual)

    def sizes(self, budget: Budget) -> Sizes:
        grids = max(FEWEST_GRIDS, round(budget.fraction * self.usual_grids(budget.memory, budget.outputs)))
        return {"table": SLOTS, "grids": grids}

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        own = {"features": features, "table": sizes["table"], "grids": sizes["grids"]}
        return Spec(BinMap, own | {"seed": seed, "relevance": None, "drawn": None})

    def with_categories(self, map: Spec, categories: Array) -> Spec:
        return replace(map, arguments={**map.arguments, "categories": categories})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        loss, grids = losses(task)[1], map.arguments["grids"]
        steps = {"loss": loss, "variance": VARIANCE[task] / grids, "linear": LINEAR_VARIANCE, "floor": FLOOR}
        slow = Spec(DiagonalBins, steps | {"probes": self.relevance})
        fast = Spec(ConstantBins, {"loss": loss, "gain": GAIN / grids, "offset": first})
        return [HeadEntry(slow, 0.5, 10.0, "slow")] + [HeadEntry(fast, 0.5, 10.0, "fast")] * self.fast

    def regrid(self, own: ExpertState, memory: int, before: int, after: int, first: int) -> None:
        """The grids of `after` outputs instead of `before`, in a classification whose tables are cleared."""
        grids = own.map.arguments["grids"]
        usual = [self.usual_grids(memory, outputs) for outputs in (after, before)]
        own.resize(grids=max(min(grids, FEWEST_GRIDS), grids * usual[0] // usual[1]))
        own.map = drawn_again(own.map)
        own.heads = [entry.head for entry in self.heads(own.map, "classification", first)]

    def with_table(self, map: Spec, slots: int) -> Spec:
        return replace(map, arguments={**map.arguments, "table": slots})

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """A table that cannot be folded to its size is emptied."""
        while own.map.arguments["table"] > sizes["table"] and self.fold(own):
            pass
        if own.map.arguments["table"] != sizes["table"]:
            own.resize(table=sizes["table"])
            self._clear(own)

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        return {"table": min(own.map.arguments["table"] for own in states)}

    def fold(self, own: ExpertState) -> bool:
        """An odd table begins again, half as large."""
        table = own.map.arguments["table"]
        if table <= SMALLEST_TABLE:
            return False
        if table % SMALLEST_TABLE:
            own.resize(table=max(SMALLEST_TABLE, table // 2 // SMALLEST_TABLE * SMALLEST_TABLE))
            self._clear(own)
            return True
        own.resize(table=table // 2)
        for head, state in zip(own.heads, own.head_states, strict=True):
            if "cells" not in state:
                continue
            cells = state["cells"]
            pairs = cells.reshape(len(cells) // 2, 2, -1)
            if head.kind is DiagonalBins:
                start = head.arguments["variance"]
                variances = state["variances"].astype(np.float64).reshape(-1, 2)
                precision = 1 / variances - 1 / start + 1e-3
                total = precision[:, 0] + precision[:, 1]  # sum(axis=1) of two numbers is many times slower
                folded = pairs[:, 0] * precision[:, :1]
                folded += pairs[:, 1] * precision[:, 1:]
                folded /= total[:, None]
                state["variances"] = (1 / (total + 1 / start)).astype(np.float32)
            else:
                folded = (pairs[:, 0] + pairs[:, 1]) / 2
            state["cells"] = np.ascontiguousarray(folded, dtype=np.float32)
        return True

    def _clear(self, own: ExpertState) -> None:
        """Tables of the size that the map has, with nothing learned in them."""
        table = own.map.arguments["table"]
        for head, state in zip(own.heads, own.head_states, strict=True):
            if "cells" not in state:
                continue
            slow, outputs = head.kind is DiagonalBins, state["cells"].shape[1]
            slots = table if slow else -(-table // FOLD)
            state["cells"] = np.zeros((slots, outputs), dtype=np.float32)
            if slow:
                state["variances"] = np.full(slots, head.arguments["variance"], dtype=np.float32)

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        """Grids are those of the old scale: the learner clears the tables, and the linear part learns on."""

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        state = own.head_states[0]
        state["linear"][:, :-1] /= metric
        state["linear_variances"][:-1] /= metric**2
        if own.heads[0].arguments["probes"]:
            steps = np.rint(state["sample"] * metric)
            state["sample"] = np.clip(steps, -LARGEST, LARGEST).astype(np.float32)

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        for state in own.head_states:
            if "cells" in state:
                state["cells"] *= np.float32(g)
        slow = own.head_states[0]
        slow["linear"] *= g
        slow["linear"][:, -1] += shift

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        own.rearrange(outputs, outputs.logit)
        own.head_states[0]["linear"][outputs.new, -1] = -math.log(outputs.rows + 1)

    def probes(self, own: ExpertState) -> tuple[Array, Array] | None:
        if not own.heads[0].arguments["probes"]:
            return None
        return own.head_states[0]["relevance"], own.head_states[0]["probed"]

    def redrawn(self, map: Spec, relevance: Array) -> Spec:
        grids_by = np.maximum(LEAST_RELEVANCE, np.sqrt(relevance))
        return drawn_again(replace(map, arguments={**map.arguments, "relevance": grids_by}))

    def freeze(self, own: ExpertState) -> None:
        still = {"floor": 0.0, "probes": False}
        own.heads = [
            replace(head, arguments={**head.arguments, **still}) if head.kind is DiagonalBins else head
            for head in own.heads
        ]

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        """The table, and the linear part, which every row meets: the mean by what the parts learned."""
        slow = heads[0]
        v = own.map.arguments["grids"] * mean_variance(slow.base["variances"], own.heads[0].arguments["variance"])
        own.head_states[0] |= merge_diagonal(slow, "linear", "linear_variances", 0, np.inf)
        own.head_states[0] |= merge_diagonal(slow, "cells", "variances", 1, SHARED * v)
        for state, parts in zip(own.head_states[1:], heads[1:], strict=True):
            state["cells"] = merge_constant(parts)

    def thaw(self, own: ExpertState, rows: int) -> None:
        own.head_states[0] |= floored(own.head_states[0], own.heads[0].arguments["floor"], ("variances",))

    def names(self, own: ExpertState) -> list[str]:
        return ["bins" if head.kind is DiagonalBins else "bins, fast" for head in own.heads]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {"slots": int(map.arguments["table"]), "grids": int(map.arguments["grids"])}


def merge_constant(parts: Parts, name: str = "cells") -> Array:
    """A head of constant gain: a slot that only some parts changed is the mean of those, by their rows."""
    base = parts.base[name].astype(np.float64)
    change, rows = np.zeros_like(base), np.zeros_like(base)
    for i, state in enumerate(parts.states):
        changed = (state[name] != parts.base[name]).any(axis=1)
        own = parts.rows[i] * parts.saw(i, base.shape[1])
        change[changed] += own * (state[name][changed] - base[changed])
        rows[changed] += own
    merged = base + change / np.maximum(rows, 1.0)
    return np.ascontiguousarray(merged, dtype=np.float32)
