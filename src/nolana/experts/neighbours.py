"""The most recent rows: the nearest of them vote, in windows of the last 100, 316, 1,000, ... rows.

The rows of the parts of a merge are taken by turns. Row number a of the n rows of a part, counted from its last one,
has the age (a + 1/2)/n: parts of different sizes are spread over the same time, and a window has as many rows of each
part as it would have of one stream.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Share
from nolana.engine.experts.neighbours.neighbour_map import LARGEST, STEPS, WIDEST, NeighbourMap
from nolana.engine.experts.neighbours.vote import LARGEST_TARGET, UNLABELLED, Vote
from nolana.experts.base import Anchors, Array, Budget, Expert, ExpertState, HeadEntry, Outputs, Sizes, losses
from nolana.experts.landmarks import small_share
from nolana.experts.parts import Parts
from nolana.modelfile.specs import Spec

SHARE, LEAST_SHARE = 0.2, 0.1  # of the memory, and of a small one
WIDE = 2.0  # largest standard deviation of a feature for which steps are 1/40: 1.6 of them are not clipped
FIRST_WINDOW = 100  # rows; each further one is sqrt(10) times as long


@dataclass(frozen=True, kw_only=True)
class Neighbours(Expert):
    """The most recent rows: the nearest of them vote, in windows of the last 100, 316, 1,000, ... rows.

    Parameters
    ----------
    neighbours : int, default=5
        How many vote.
    most : int, default=4096
        Rows at most.
    share : float, default=None
        Of the memory, at most; None: 0.2, less if a small memory has few landmarks.
    """

    stores_rows = True

    neighbours: Count = 5
    most: Count = 4096
    share: Share | None = None

    number_bytes: ClassVar[Mapping[str, int]] = {"recent": 1}

    def sizes(self, budget: Budget) -> Sizes:
        share = self.share
        if share is None:
            share = small_share(SHARE, LEAST_SHARE, budget) if budget.small else SHARE
        fits = int(budget.fraction * share * budget.memory) // row_bytes(budget.features)
        return {"windows": windows(max(4 * self.neighbours, min(self.most, fits)))}

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        own = {"features": features, "windows": sizes["windows"], "neighbours": self.neighbours}
        return Spec(NeighbourMap, own | {"seed": seed, "drawn": None, "steps": STEPS})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        votes = [Spec(Vote, {"loss": losses(task)[1], "window": i}) for i in range(len(map.arguments["windows"]))]
        return [HeadEntry(vote, 1.0, 2.0, "vote") for vote in votes]

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """Only the most recent rows stay, in as many windows as before."""
        old: Array = own.map.arguments["windows"]
        rows = sizes["windows"][-1]
        if rows >= old[-1]:
            return
        order = np.arange(len(old))
        shorter = np.maximum(np.floor(old * min(1.0, rows / old[-1])), own.map.arguments["neighbours"] + order)
        ascending = np.asarray(np.maximum.accumulate(shorter - order) + order)
        own.resize(windows=ascending)
        if not own.map_state:
            return
        own.map_state["recent"] = np.ascontiguousarray(own.map_state["recent"][-int(ascending[-1]) :])
        for head, state in zip(own.heads, own.head_states, strict=True):
            size = int(ascending[head.arguments["window"]])
            state["targets"] = np.ascontiguousarray(state["targets"][-size:])

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        return {"windows": min((own.map.arguments["windows"] for own in states), key=lambda windows: windows[-1])}

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        self._move(own, anchors.moved)

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        """Steps become longer if a feature has become so wide that many rows would be clipped."""
        self._move(own, lambda z: z * metric, longer=True)

    def _move(self, own: ExpertState, moved: Callable[[Array], Array], longer: bool = False) -> None:
        """Stored rows go to other places; sketches cannot, and are forgotten."""
        recent = own.map_state["recent"]
        if recent.shape[1] < own.map.arguments["features"]:
            own.map_state["recent"] = np.zeros((0, recent.shape[1]), dtype=np.float32)
            return
        places = moved(recent.astype(np.float64) / steps_in_unit(own.map))
        if longer and len(places) and "steps" in own.map.arguments:
            own.resize(steps=STEPS / max(1.0, float(places.std(axis=0).max()) / WIDE))
        steps = np.clip(np.rint(places * steps_in_unit(own.map)), -LARGEST, LARGEST)
        own.map_state["recent"] = np.ascontiguousarray(steps, dtype=np.float32)

    def recent_rows(self, own: ExpertState) -> tuple[Array, Array] | None:
        """None for sketches, whose sums have no single features."""
        recent, targets = own.map_state["recent"], own.head_states[-1]["targets"]
        if recent.shape[1] < own.map.arguments["features"] or "steps" not in own.map.arguments:
            return None
        n = min(len(recent), len(targets))
        recent, targets = recent[len(recent) - n :], targets[len(targets) - n :]
        known = targets != UNLABELLED
        return recent[known] / steps_in_unit(own.map), targets[known].astype(np.float64)

    def recent_targets(self, own: ExpertState) -> Array:
        targets = own.head_states[-1]["targets"]
        return np.asarray(targets[targets != UNLABELLED], dtype=np.float64)

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        for state in own.head_states:
            targets = np.clip(g * state["targets"] + shift, -LARGEST_TARGET, LARGEST_TARGET)
            state["targets"] = labelled(state["targets"], targets)

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        for state in own.head_states:
            counts = state["counts"]
            state["counts"] = np.where(outputs.new, 0.0, counts[outputs.sources] if outputs.old > 1 else 0.0)
            if outputs.old == 1:
                state["targets"] = labelled(state["targets"], state["targets"] > 0)

    def permute_outputs(self, own: ExpertState, order: list[int]) -> None:
        """Targets are numbers of outputs."""
        super().permute_outputs(own, order)
        places = np.argsort(order)
        for state in own.head_states:
            numbers = np.where(state["targets"] == UNLABELLED, 0, state["targets"]).astype(np.intp)
            state["targets"] = labelled(state["targets"], places[numbers])

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        sizes = own.map.arguments["windows"]
        own.map_state["recent"] = by_age(map, "recent", int(sizes[-1]))
        for head, state, parts in zip(own.heads, own.head_states, heads, strict=True):
            state["targets"] = by_age(parts, "targets", int(sizes[head.arguments["window"]]))
            state["counts"] = parts.sum("counts")

    def names(self, own: ExpertState) -> list[str]:
        sizes = [int(own.map.arguments["windows"][head.arguments["window"]]) for head in own.heads]
        return [f"neighbours, last {rows:,} rows" for rows in sizes]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {"recent rows": int(map.arguments["windows"][-1])}


def labelled(targets: NDArray[np.float32], changed: NDArray[Any]) -> NDArray[np.float32]:
    """Targets that have changed; rows without a label stay without."""
    return np.where(targets == UNLABELLED, targets, changed).astype(np.float32)


def steps_in_unit(map: Spec) -> float:
    """Of the stored rows. A map of a file before 0.3 does not name them, and its learner continues as it did then."""
    return float(map.arguments.get("steps", STEPS))


def row_bytes(features: int) -> int:
    """Of a stored row, and of its target in about 1.5 windows."""
    return 8 * ((min(features, WIDEST) + 7) // 8) + 6


def windows(rows: int) -> Array:
    """100, 316, 1,000, ... up to the number of rows."""
    sizes = [round(FIRST_WINDOW * 10 ** (i / 2)) for i in range(20)]
    return np.array([float(n) for n in sizes if n < rows / 1.5] + [float(rows)])


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
