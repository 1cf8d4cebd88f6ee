"""Kernel values with m landmarks: smooth functions. A Newton head converges, a normalised LMS head tracks drift.

When features are scaled otherwise, landmarks are re-mapped (`nolana.experts.remap`) and the kernel takes the width of
the median distance between them. The slopes of the Newton head at the landmarks say which features matter:

    a_j = mean over landmarks, sum over outputs, of (df/dz_j)^2,   over their geometric mean
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Count, Memory, Share
from nolana.engine.base.state import unpack
from nolana.engine.experts.landmarks.kernels import RBF, SLAB, Kernel, decayed, width_of_distances
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.landmarks.policies import Fixed, Policy
from nolana.experts.base import (
    KB,
    LANDMARKS,
    Anchors,
    Array,
    Budget,
    Expert,
    ExpertState,
    HeadEntry,
    Outputs,
    Sizes,
    State,
    losses,
)
from nolana.experts.information import merge_information, relaxed
from nolana.experts.parts import Parts
from nolana.experts.remap import rekernel, relocate
from nolana.modelfile.specs import Spec, labels

MEGABYTE = KB * KB
USUAL, MOST = 100, 400  # landmarks up to 1 MB, and at most
SHARE, LEAST_SHARE = 0.5, 0.25  # of the memory, and of a small one
LEFT_TO_LINEAR = 0.08  # of the memory, if there is a linear expert with a full covariance
SMALL = 200 * KB  # memory below which the shares become smaller; from half of it on evenly
NOVELTY, RIDGE = 0.03, 1e-3
NOISE = {"classification": 0.05, "regression": 0.5}
MOVE_NOISE, CLIP = 1e-3, 3.0
LMS_RATE, LMS_EPSILON = 0.1, 0.01
FEWEST_FOR_SLOPES = 25  # landmarks that the memory allows
SMALLEST_SLOPE = 1e-6  # squared, of the largest
AWAY, LEAST_AWAY = 3.0, 0.5  # standard deviations of the landmarks; of the feature
MANY_AWAY = 8  # more than one of so many features, and more than one at all
ROW_NUMBERS = ("last_nearest", "placed")  # of policies: ages that rows in frozen parts do not change


@dataclass(frozen=True, kw_only=True)
class Landmarks(Expert):
    """Kernel values with m landmarks: smooth functions. A Newton head converges, an LMS head tracks drift.

    Parameters
    ----------
    slow, fast : bool, default=True
        Whether it has the Newton head and the LMS head.
    policy : str, default="fixed"
        What moves landmarks: "fixed", or a policy of `NolanaClassifier`.
    most : int, default=None
        m at most; None: 100, from 1 MB of memory on more.
    share : float, default=None
        Of the memory, at most; None: 0.5 (0.42 beside a linear expert), less if a small memory has few landmarks.
    forgetting : float, default=1 - 3e-5
        lambda per row of the Newton head.
    """

    slow: bool = True
    fast: bool = True
    policy: str = "fixed"
    most: Count | None = None
    share: Share | None = None
    forgetting: Memory = 1 - 3e-5

    def sizes(self, budget: Budget) -> Sizes:
        return {"capacity": self.landmarks(budget, budget.fraction * self.memory_share(budget))}

    def memory_share(self, budget: Budget) -> float:
        """The share of the memory that the expert may take."""
        if self.share is not None:
            return self.share
        usual = SHARE - LEFT_TO_LINEAR if budget.full_linear else SHARE
        return small_share(usual, LEAST_SHARE, budget) if budget.small else usual

    def landmarks(self, budget: Budget, share: float) -> int:
        """As many landmarks as fit into a share of the memory."""
        m = self.most or min(MOST, round(USUAL * math.sqrt(max(1.0, budget.memory / MEGABYTE))))
        while m > 1 and self.bytes(m, budget) > share * budget.memory:
            m -= 1 + m // 50
        return m

    def bytes(self, m: int, budget: Budget) -> int:
        """Of the map with its heads, roughly."""
        rows, heads = m + 8, self.slow + self.fast
        per_row = budget.features // 2 + 32 + budget.outputs * heads + 14 * self.slow
        return 8 * (rows * per_row + (1 + self.slow) * rows * (rows + 8) // 2)

    def has_slopes(self, budget: Budget) -> bool:
        """Whether the usual share has landmarks enough for slopes that count."""
        usual = replace(budget, small=False)
        return self.landmarks(usual, self.memory_share(usual)) >= max(FEWEST_FOR_SLOPES, budget.features)

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        if self.policy not in labels(Policy):
            raise ValueError(f"policy={self.policy!r} is unknown; choose from {', '.join(map(repr, labels(Policy)))}")
        policy = Spec(labels(Policy)[self.policy], {"novelty": NOVELTY})
        own = {"features": features, "capacity": sizes["capacity"], "kernel": Spec(RBF), "policy": policy}
        return Spec(LandmarkMap, own | {"single": True})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        loss, _ = losses(task)
        steps = {"noise": NOISE[task], "prior": 1.0, "move_noise": MOVE_NOISE, "forgetting": self.forgetting}
        newton = Spec(Newton, {"loss": loss, **steps, "clip": CLIP if task == "regression" else math.inf})
        lms = Spec(LMS, {"loss": loss, "rate": LMS_RATE, "epsilon": LMS_EPSILON})
        slow, fast = HeadEntry(newton, 1.0, 2.0, "slow"), HeadEntry(lms, 1.0, 2.0, "fast")
        return [slow] * self.slow + [fast] * self.fast

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """The first m landmarks stay; the weights become those of the model conditioned on them."""
        m = sizes["capacity"]
        if m >= own.map.arguments["capacity"]:
            return
        own.resize(capacity=m)
        map = own.map_state
        if len(map.get("landmarks", ())) <= m:
            return
        places = np.ascontiguousarray(map["landmarks"][:m])
        cross = kernel_of(own.map).gram(places, map["landmarks"], map["gamma"])
        first = {name: np.ascontiguousarray(map[name][:m]) for name in own.along(LANDMARKS) if name != "inverse"}
        self.change(own, lambda state, prior: relocate(state, places, cross[:, :m], cross, prior) | first)

    def change(self, own: ExpertState, changed: Callable[[State, float], State]) -> None:
        """Map and heads by a change of the map and of one head: the weights of all heads change alike.

        At most one of them, the Newton head, has a covariance.
        """
        newton = next((i for i, head in enumerate(own.heads) if head.kind is Newton), 0)
        weights = np.concatenate([state["weights"] for state in own.head_states])
        state = own.map_state | own.head_states[newton] | {"weights": weights}
        after = changed(state, own.heads[newton].arguments.get("prior", 1.0))
        for state, part in zip(own.head_states, np.split(after["weights"], len(own.heads)), strict=True):
            state |= {name: after[name] for name in state} | {"weights": part}
        own.map_state |= {name: after[name] for name in own.map_state}

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        return {"capacity": min(len(own.map_state["landmarks"]) for own in states)}

    def is_full(self, own: ExpertState) -> bool:
        """Whether there are as many landmarks as the memory allows."""
        return bool(len(own.map_state["landmarks"]) == own.map.arguments["capacity"])

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        self.remap(own, anchors.moved)

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        self.remap(own, lambda z: z * metric)

    def remap(self, own: ExpertState, moved: Callable[[Array], Array] = lambda z: z) -> None:
        """The landmarks go to other places, and the kernel, one of a distance, takes the width of all of them."""
        kernel, map = kernel_of(own.map), own.map_state
        if not len(map["landmarks"]):
            return
        places = np.ascontiguousarray(moved(map["landmarks"]))
        distances = kernel.pairwise(places)
        gamma = width_of_distances(distances[~np.tri(len(places), dtype=bool)]) or map["gamma"]
        before, after = decayed(map["gamma"], kernel.pairwise(map["landmarks"])), decayed(gamma, distances)
        moves = {"landmarks": places, "gamma": gamma}
        self.change(own, lambda state, prior: rekernel(state, before, after, RIDGE, prior) | moves)

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        ones = prior_ones(own)
        for state in own.head_states:
            state["weights"] = g * state["weights"] + shift * ones

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        ones = prior_ones(own) if len(own.map_state["landmarks"]) else np.zeros(0)
        own.rearrange(outputs, outputs.sign)
        for state in own.head_states:
            state["weights"][outputs.new] = -ones  # an output that has been -1 so far

    def slopes(self, own: ExpertState, metric: Array, middle: Array) -> Array | None:  # (d,)
        """Mean squared slopes over their geometric mean, before the metric; 1 for a constant feature.

        None if there are fewer landmarks than features, or room for few: their slopes are noise.

        middle (d,): the mean of recent rows. A feature whose recent rows are away from all landmarks tells the time,
        and its slope says how the kernel decays: it gets the smallest slope. If several are, the landmarks are those of
        rows that do not come any more, and no slope counts.
        """
        places, gamma = own.map_state["landmarks"], own.map_state["gamma"]
        few = len(places) < places.shape[1] or own.map.arguments["capacity"] < FEWEST_FOR_SLOPES
        if few or not own.heads or own.heads[0].kind is not Newton:
            return None
        kernel = decayed(gamma, kernel_of(own.map).pairwise(places))
        weights = own.head_states[0]["weights"]
        if len(weights) > weights.shape[1]:  # only sums over the outputs count: R of QR has the same, in fewer rows
            weights = np.linalg.qr(weights, mode="r")
        squares = np.zeros(places.shape[1])
        step = max(1, SLAB // places.size)  # outputs at a time
        for alpha in (weights[i : i + step].T[:, :, None] for i in range(0, len(weights), step)):  # (m, step, 1)
            values, sums = alpha * places[:, None], kernel @ alpha[:, :, 0]
            slope = sums[:, :, None] * places[:, None] - (kernel @ values.reshape(len(values), -1)).reshape(
                values.shape
            )
            squares += (slope**2).sum(axis=(0, 1))  # times (2 gamma)^2
        squares *= metric**2
        varies = squares > 0
        if not varies.any():
            return None
        squares = np.where(varies, np.maximum(squares, SMALLEST_SLOPE * squares.max()), 0.0)
        away = varies & (np.abs(middle - places.mean(axis=0)) > np.maximum(LEAST_AWAY, AWAY * places.std(axis=0)))
        if away.sum() > max(1, len(away) // MANY_AWAY):
            return None
        squares = np.where(away, squares[varies].min(), squares)
        return np.where(varies, squares / np.exp(np.log(squares[varies]).mean()), 1.0)

    def freeze(self, own: ExpertState) -> None:
        size = len(own.map_state["landmarks"])
        if not size:
            raise ValueError("this learner has no landmarks yet; learn more rows before you split it")
        novelty = own.map.arguments["policy"].arguments.get("novelty", NOVELTY)
        own.resize(capacity=size, policy=Spec(Fixed, {"novelty": novelty}))
        forgetting = {Newton: {"forgetting": 1.0}}
        own.heads = [replace(head, arguments={**head.arguments, **forgetting.get(head.kind, {})}) for head in own.heads]

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        for name in ROW_NUMBERS:
            if name in own.map_state:
                own.map_state[name] = own.map_state[name] + map.total
        ones = prior_ones(own)
        for head, state, parts in zip(own.heads, own.head_states, heads, strict=True):
            state |= merge_information(parts, ones) if head.kind is Newton else merge_constant(parts)

    def thaw(self, own: ExpertState, rows: int) -> None:
        for head, state in zip(own.heads, own.head_states, strict=True):
            if head.kind is Newton:
                prior = head.arguments["prior"] * unpack(own.map_state["inverse"])
                state |= relaxed(state, rows, prior, head.arguments.get("forgetting", 1.0))

    def names(self, own: ExpertState) -> list[str]:
        return ["landmarks" if head.kind is Newton else "landmarks, fast" for head in own.heads]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {"landmarks": int(map.arguments["capacity"])}


def small_share(usual: float, least: float, budget: Budget) -> float:
    """The share of a memory below 200 KB: from half of that on it grows evenly."""
    return least + (usual - least) * min(1.0, max(0.0, 2 * budget.memory / SMALL - 1))


def kernel_of(map: Spec) -> Kernel:
    """The kernel of a map over landmarks, in NumPy."""
    kernel: Kernel = map.arguments["kernel"].build(numpy_engine)
    return kernel


def prior_ones(own: ExpertState) -> Array:  # (m,)
    """P 1: the weights of the constant 1."""
    return np.asarray(unpack(own.map_state["inverse"]).sum(axis=1))


def merge_constant(parts: Parts) -> dict[str, Array]:
    """A head of constant gain: the mean of the parts by their rows.

    It forgets its base after few rows, and so has each part: the sum of their changes would overshoot as often as there
    are parts. An output whose class only some parts saw is the mean of those.
    """
    base = parts.base["weights"]
    change, rows = np.zeros_like(base), np.zeros((len(base), 1))
    for i, state in enumerate(parts.states):
        own = parts.rows[i] * parts.saw(i, len(base))[:, None]
        change += own * (state["weights"] - base)
        rows += own
    return {"weights": np.ascontiguousarray(base + change / np.maximum(rows, 1.0))}
