"""Effects of categories: a weight for each value of a categorical column, in a hash table of fixed size.

Their sum with a linear part is a slow expert; the effect before the row is what all other experts see in place of a
category. Pairs of columns learn in shadow and open by a gate. Ids that come and go share the table: values about which
little is known give their slots to new ones. When a new class needs memory, buckets 2i and 2i + 1 become one, and the
values that are known best stay.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Share
from nolana.engine.experts.effects.effect_map import NONE, SHARE_STEPS, WAYS, EffectMap
from nolana.engine.experts.effects.effects import LARGEST, PRIORS, WEIGHT_STEPS
from nolana.engine.experts.effects.effects import Effects as EffectsHead
from nolana.engine.experts.effects.keys import column_hash
from nolana.experts.base import Anchors, Array, Budget, Expert, ExpertState, HeadEntry, Outputs, Sizes, State, losses
from nolana.experts.diagonal import merge_diagonal
from nolana.experts.parts import Parts
from nolana.modelfile.specs import Spec

SHARE, PAIRS_SHARE = 0.235, 0.4  # of the memory; of the slots
SMALLEST_TABLE = 16  # slots
BUCKETS = 64  # a table is a multiple of so many buckets, so that it can be halved
VARIANCE = {"classification": 0.2, "regression": 0.1}  # prior, of an effect, until a column says its own
LINEAR_VARIANCE = 0.1
FLOOR = 0.02  # of the share of the prior variance: the forgetting


@dataclass(frozen=True, kw_only=True)
class Effects(Expert):
    """Effects of categories in a hash table; rows without categorical columns have no such expert.

    Parameters
    ----------
    share : float, default=None
        Of the memory, for the table; None: 0.235.
    """

    share: Share | None = None

    number_bytes: ClassVar[Mapping[str, int]] = {"fingerprints": 2, "shares": 2, "effects": 2}

    def sizes(self, budget: Budget) -> Sizes:
        share = SHARE if self.share is None else self.share
        slots = budget.fraction * share * budget.memory / slot_bytes(budget.outputs)
        return {"slots": table(slots * (1 - PAIRS_SHARE)), "pair_slots": table(slots * PAIRS_SHARE)}

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        return Spec(EffectMap, {"features": features, "categories": np.zeros(0), **sizes})

    def with_categories(self, map: Spec, categories: Array) -> Spec:
        return replace(map, arguments={**map.arguments, "categories": categories})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        steps = {"loss": losses(task)[1], "variance": VARIANCE[task], "linear": LINEAR_VARIANCE, "floor": FLOOR}
        return [HeadEntry(Spec(EffectsHead, steps), 0.5, 10.0, "slow")]

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """Tables are halved, and begin again if they cannot be."""
        while any(own.map.arguments[name] > sizes[name] for name in ("slots", "pair_slots")):
            before = own.map.arguments["slots"], own.map.arguments["pair_slots"]
            after = {"slots": max(SMALLEST_TABLE, before[0] // 2), "pair_slots": max(SMALLEST_TABLE, before[1] // 2)}
            if before == (after["slots"], after["pair_slots"]):
                return
            own.resize(**after)
            if own.map_state:
                halve(own, before, (after["slots"], after["pair_slots"]))

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        return {name: min(own.map.arguments[name] for own in states) for name in ("slots", "pair_slots")}

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        """The linear part learns on; effects do not depend on the scale of the numbers."""

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        state = own.head_states[0]
        state["linear"][:, :-1] /= metric
        state["linear_variances"][:-1] /= metric**2

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        state = own.head_states[0]
        state["effects"] = in_steps(state["effects"] * g)
        state["linear"] *= g
        state["linear"][:, -1] += shift
        if g > 0:
            state["prior"] = np.clip(state["prior"] * g * g, *PRIORS)
            state["explained"], state["squares"] = state["explained"] * g**2, state["squares"] * g**4
        else:
            state["prior"] = np.full_like(state["prior"], own.heads[0].arguments["variance"])
            state["observed"] = np.zeros_like(state["observed"])
            own.map_state["shares"] = np.full_like(own.map_state["shares"], SHARE_STEPS)

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        own.rearrange(outputs, outputs.logit)
        state = own.head_states[0]
        state["effects"] = in_steps(state["effects"])
        state["linear"][outputs.new, -1] = -math.log(outputs.rows + 1)

    @staticmethod
    def effects_of(own: ExpertState, column: int, keys: Array) -> Array:  # (k,) -> (k, c)
        """The effects of these categories of a column in the scores; NaN for one that has no slot."""
        map = own.map.build(numpy_engine)
        map.fingerprints = np.asarray(own.map_state["fingerprints"])
        effects = np.asarray(own.head_states[0]["effects"]) / WEIGHT_STEPS
        slots = [map.find(column_hash(column, float(key)), False) for key in keys]
        return np.array([np.full(effects.shape[1], np.nan) if s == NONE else effects[s] for s in slots]).reshape(
            len(slots), -1
        )

    @staticmethod
    def open_pairs(own: ExpertState) -> list[tuple[int, int]]:
        """The pairs of columns whose effects count in the scores."""
        pairs = np.asarray(own.map_state["pairs"]).astype(int).reshape(-1, 2).tolist()
        return [(a, b) for (a, b), is_open in zip(pairs, own.map_state["open"], strict=True) if is_open and a >= 0]

    def freeze(self, own: ExpertState) -> None:
        own.resize(wears=False)
        still = {"floor": 0.0, "frozen": True}
        own.heads = [replace(head, arguments={**head.arguments, **still}) for head in own.heads]

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        """The linear part, which every row meets, is the mean by what the parts learned; slots match by fingerprint.

        Precisions add up, and so does what the parts learned about an effect; a value that only some parts have met
        takes an empty slot of its bucket.
        """
        head = heads[0]
        own.head_states[0] |= merge_diagonal(head, "linear", "linear_variances", 0, np.inf)
        merged = Table.of(own.map_state, own.head_states[0])
        for i, (slots, learned) in enumerate(zip(map.states, head.states, strict=True)):
            merged.add(Table.of(slots, learned), Table.of(map.base, head.base), head.saw(i, merged.weights.shape[-1]))
        own.map_state["fingerprints"] = merged.fingerprints.ravel()
        own.map_state["shares"] = np.clip(np.rint(merged.shares.ravel()), 1, SHARE_STEPS).astype(np.float32)
        own.head_states[0]["effects"] = in_steps(merged.weights.reshape(own.head_states[0]["effects"].shape))

    def thaw(self, own: ExpertState, rows: int) -> None:
        floor = np.float32(np.rint(own.heads[0].arguments["floor"] * float(SHARE_STEPS)))
        own.map_state["shares"] = np.maximum(own.map_state["shares"], floor)

    def names(self, own: ExpertState) -> list[str]:
        return ["effects"]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {"slots of categories": int(map.arguments["slots"] + map.arguments["pair_slots"])}


def table(slots: float) -> int:
    """A number of slots that can be halved; few of them if there is no room for more."""
    unit = WAYS * BUCKETS
    return int(slots) // unit * unit if slots >= unit else SMALLEST_TABLE


def slot_bytes(outputs: int) -> int:
    """A fingerprint, a share and the weights."""
    return 4 + 2 * outputs


def in_steps(weights: Array) -> Array:
    """The nearest integers, as they are stored."""
    return np.clip(np.rint(weights), -LARGEST, LARGEST).astype(np.float32)


@dataclass
class Table:
    """Slots by bucket: fingerprints and shares (B, 4), weights (B, 4, c)."""

    fingerprints: Array
    shares: Array
    weights: Array

    @classmethod
    def of(cls, slots: State, learned: State) -> "Table":
        weights = learned["effects"].astype(np.float64)
        return cls(
            slots["fingerprints"].reshape(-1, WAYS).copy(),
            slots["shares"].astype(np.float64).reshape(-1, WAYS),
            weights.reshape(-1, WAYS, weights.shape[1]),
        )

    def way(self, i: int) -> tuple[Array, Array, Array]:
        return self.fingerprints[:, i], self.shares[:, i], self.weights[:, i]

    def matching(self, fingerprint: Array) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Whether each bucket has the fingerprint (B,), and at which of its slots."""
        same = (self.fingerprints == fingerprint[:, None]) & (fingerprint[:, None] > 0)
        return same.any(axis=1), same.argmax(axis=1)

    def add(self, part: "Table", base: "Table", saw: Array) -> None:
        """What a part learned after the base: 1/s = sum of what is known, weights by it."""
        rows = np.arange(len(self.fingerprints))
        for i in range(WAYS):
            fingerprint, s, w = part.way(i)
            was, place = base.matching(fingerprint)
            before = np.where(was, base.shares[rows, place], float(SHARE_STEPS))
            start = np.where(was[:, None], base.weights[rows, place], 0.0)
            learned = np.maximum(0.0, float(SHARE_STEPS) / s - float(SHARE_STEPS) / before)
            known, at = self.matching(fingerprint)
            empty = self.fingerprints == 0
            new = ~known & empty.any(axis=1) & (fingerprint > 0)
            at = np.where(new, empty.argmax(axis=1), at)
            self.fingerprints[rows[new], at[new]] = fingerprint[new]
            self.shares[rows[new], at[new]], self.weights[rows[new], at[new]] = float(SHARE_STEPS), 0.0
            use = np.flatnonzero((known | new) & (learned > 0))
            own = float(SHARE_STEPS) / self.shares[use, at[use]]
            total = own + learned[use]
            # The precision-weighted change of the part, beside what the others have changed.
            change = saw * (own_precision(before[use], learned[use]) / total)[:, None] * (w[use] - start[use])
            self.weights[use, at[use]] += change
            self.shares[use, at[use]] = float(SHARE_STEPS) / total


def own_precision(before: Array, learned: Array) -> Array:
    """Of what a part knows about a weight, the base with it."""
    return np.asarray(float(SHARE_STEPS) / before + learned)


def halve(own: ExpertState, before: tuple[int, int], after: tuple[int, int]) -> None:
    """Buckets 2i and 2i + 1 become one; the four values that are known best stay."""
    slots, learned = own.map_state, own.head_states[0]
    parts = []
    for start, old, new in zip((0, before[0]), before, after, strict=True):
        fingerprints, shares = (slots[name][start : start + old] for name in ("fingerprints", "shares"))
        weights = learned["effects"][start : start + old]
        if old == 2 * new and new % WAYS == 0:
            known = np.where(fingerprints > 0, shares, 2 * SHARE_STEPS).reshape(-1, 2 * WAYS)
            best = np.argsort(known, axis=1, kind="stable")[:, :WAYS]
            at = (best + 2 * WAYS * np.arange(len(best))[:, None]).ravel()
            parts.append((fingerprints[at], shares[at], weights[at]))
        elif old == new:
            parts.append((fingerprints, shares, weights))
        else:
            empty = np.zeros(new, dtype=np.float32)
            parts.append((empty, empty + SHARE_STEPS, np.zeros((new, weights.shape[1]), dtype=np.float32)))
    for state, name, i in ((slots, "fingerprints", 0), (slots, "shares", 1), (learned, "effects", 2)):
        state[name] = np.ascontiguousarray(np.concatenate([part[i] for part in parts]))
