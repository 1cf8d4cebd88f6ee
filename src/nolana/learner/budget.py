"""From a number of bytes and a list of expert sets to the spec of a learner."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.bins.heads import ConstantBins, DiagonalBins
from nolana.engine.experts.landmarks.kernels import RBF
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.landmarks.policies import Policy
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.engine.experts.neighbours.neighbour_map import WIDEST, NeighbourMap
from nolana.engine.experts.neighbours.vote import Vote
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.engine.experts.sparse_linear.feature_table import WAYS
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.engine.learner.learner import Expert, Learner
from nolana.engine.learner.losses import Logistic, Squared, SquaredHinge
from nolana.engine.learner.stack import Stack
from nolana.experts import Bins, ExpertSet, Landmarks, Linear, Neighbours
from nolana.learner.layout import argument_of, experts_on, with_argument
from nolana.learner.relevance import FEWEST_LANDMARKS
from nolana.learner.rows import WIDE
from nolana.modelfile.specs import Spec, labels

KB = 1024
MEGABYTE = KB * KB
SMALL, LARGE = 200 * KB, MEGABYTE  # memory below and from which the default sizes differ
SHARES = {Landmarks: (0.5, 0.25), Neighbours: (0.2, 0.1)}  # of the memory, and the least of a small one
LANDMARKS, MOST_LANDMARKS = 100, 400  # up to 1 MB, and at most
LINEAR_SHARE, COUNTERS_SHARE = 0.6, 0.1  # of the memory; counters have a byte each
FULL_FEATURES, FULL_SHARE = 64, 0.08  # at most, of rows and of the memory, for a linear head with a full covariance
SKETCH = 64  # sums that stand for a wide sparse row; neighbours store no more
FEWEST_GRIDS = 8
# Of the first sizes, until they fit; small steps, because a new class may need one.
FRACTIONS = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.35, 0.25, 0.12, 0.06, 0.0)
SLOTS = 64  # the table is a multiple of this, so that it can be halved
SLOW, FAST = 0.9, 0.1  # first weights in the stack, shared by the slow and by the fast experts


@dataclass(frozen=True)
class Entry:
    """An expert: its head, and how the stack sees its scores."""

    head: Spec
    factor: float
    limit: float
    speed: str  # slow, fast or vote


@dataclass(frozen=True)
class Sizes:
    """What the memory bought: for each set a number of landmarks, slots or rows (0: not this set), and of grids."""

    sizes: tuple[int, ...]
    grids: tuple[int, ...]


def grids_of(cells: Bins, memory: int, outputs: int) -> int:
    """Grids that a memory of so many bytes is best used with; slots of several classes are wide, so there are fewer."""
    usual = 64 if memory < SMALL else 256 if memory >= LARGE else 128
    return cells.grids or (usual * 3 // 4 if outputs > 2 else usual)


def share_of(each: Landmarks | Neighbours, memory: int, linear: bool, small: bool) -> float:
    """The share of the memory that a set may take.

    linear: whether there is a linear head with a full covariance; landmarks leave it its share.
    small: whether a memory below SMALL is too small for the usual share; from half of SMALL on it grows evenly.
    """
    if each.share is not None:
        return each.share
    usual, least = SHARES[type(each)]
    if linear and isinstance(each, Landmarks):
        usual -= FULL_SHARE
    return least + (usual - least) * min(1.0, max(0.0, 2 * memory / SMALL - 1)) if small else usual


def landmarks_of(each: Landmarks, memory: int, share: float, features: int, outputs: int) -> int:
    """As many landmarks as fit into a share of the memory."""
    m = each.most or min(MOST_LANDMARKS, round(LANDMARKS * math.sqrt(max(1.0, memory / MEGABYTE))))
    while m > 1 and landmark_bytes(m, features, outputs, each) > share * memory:
        m -= 1 + m // 50
    return m


def landmark_bytes(m: int, features: int, outputs: int, each: Landmarks) -> int:
    """Of a landmark map with its heads, roughly."""
    rows, heads = m + 8, each.slow + each.fast
    per_row = features // 2 + 32 + outputs * heads + 14 * each.slow
    return 8 * (rows * per_row + (1 + each.slow) * rows * (rows + 8) // 2)


def linear_bytes(outputs: int) -> int:
    """Of a slot: a feature, its scale, a variance and its weights."""
    return 4 * (3 + outputs)


def has_linear(memory: int, features: int, alone: bool = False) -> bool:
    """Whether rows of so many features have a linear head with a full covariance; `alone`: there is no other set."""
    width = features + 8
    fits = 8 * width * (width / 2 + 20) <= FULL_SHARE * memory
    return features <= FULL_FEATURES and (fits or alone)


def is_sparse(each: ExpertSet, features: int) -> bool:
    """Whether a set learns on the non-zeros of such rows."""
    return isinstance(each, Linear) and features > WIDE


def counters_of(memory: int, features: int) -> int:
    """Counters of the frequencies of features."""
    return min(features, int(COUNTERS_SHARE * memory))


def dense_features(sets: Sequence[ExpertSet], features: int) -> int:
    """Features of the rows that all sets but the linear one learn on."""
    return SKETCH if any(is_sparse(each, features) for each in sets) else features


def row_bytes(features: int) -> int:
    """Of a stored row, and of its target in about 1.5 windows."""
    return 8 * ((min(features, WIDEST) + 7) // 8) + 6


def windows_of(rows: int) -> list[float]:
    """100, 316, 1,000, ... up to the number of rows."""
    sizes = [round(100 * 10 ** (i / 2)) for i in range(20)]
    return [float(n) for n in sizes if n < rows / 1.5] + [float(rows)]


def buy(memory: int, sets: Sequence[ExpertSet], features: int, outputs: int, fraction: float = 1.0) -> Sizes:
    """How large each map becomes; the table is as small as it may be, until it is fitted to what is left.

    A fraction below 1 makes all but the table smaller, where the features alone take much of the memory.
    """
    sizes, grids = [0] * len(sets), [0] * len(sets)
    all_features, features = features, dense_features(sets, features)
    for i, each in enumerate(sets):
        if isinstance(each, Linear) and is_sparse(each, all_features):
            share = LINEAR_SHARE if each.share is None else each.share
            left = fraction * share * memory - counters_of(memory, all_features)
            sizes[i] = min(all_features, WAYS * max(1, int(left) // (WAYS * linear_bytes(outputs))))
            memory -= sizes[i] * linear_bytes(outputs) + counters_of(memory, all_features)
    linear = any(isinstance(each, Linear) and not is_sparse(each, all_features) for each in sets)
    # Fewer landmarks than have slopes that count are worth less than the slots of the table that they would take.
    small = memory < SMALL and not any(
        landmarks_of(each, memory, share_of(each, memory, linear, False), features, outputs)
        >= max(FEWEST_LANDMARKS, features)
        for each in sets
        if isinstance(each, Landmarks)
    )
    for i, each in enumerate(sets):
        if isinstance(each, Landmarks | Neighbours):
            share = fraction * share_of(each, memory, linear, small)
        if isinstance(each, Landmarks):
            sizes[i] = landmarks_of(each, memory, share, features, outputs)
        elif isinstance(each, Neighbours):
            sizes[i] = max(4 * each.neighbours, min(each.most, int(share * memory) // row_bytes(features)))
        elif isinstance(each, Bins):
            sizes[i], grids[i] = SLOTS, max(FEWEST_GRIDS, round(fraction * grids_of(each, memory, outputs)))
    return Sizes(tuple(sizes), tuple(grids))


def entries_of(each: ExpertSet, size: int, grids: int, features: int, number: bool, first: int) -> list[Entry]:
    """The experts of a set; `first` is the index of the first of them."""
    hinge, logistic = (Spec(Squared), Spec(Squared)) if number else (Spec(SquaredHinge), Spec(Logistic))
    if isinstance(each, Landmarks):
        steps = {"noise": 0.5 if number else 0.05, "prior": 1.0, "move_noise": 1e-3, "forgetting": each.forgetting}
        newton = Spec(Newton, {"loss": hinge, **steps, "clip": 3.0 if number else math.inf})
        lms = Spec(LMS, {"loss": hinge, "rate": 0.1, "epsilon": 0.01})
        both = [Entry(newton, 1.0, 2.0, "slow")] * each.slow + [Entry(lms, 1.0, 2.0, "fast")] * each.fast
        return both
    if isinstance(each, Bins):
        slow = {"loss": logistic, "variance": (1.28 if number else 3.2) / grids, "linear": 0.1, "floor": 1e-4}
        fast = {"loss": logistic, "gain": 6.4 / grids, "offset": first}
        converging = Entry(Spec(DiagonalBins, slow | {"probes": each.relevance}), 0.5, 10.0, "slow")
        return [converging] + [Entry(Spec(ConstantBins, fast), 0.5, 10.0, "fast")] * each.fast
    if isinstance(each, Linear):
        full = Spec(FullLinear, {"loss": logistic, "variance": 0.1 if number else 1.0, "forgetting": 1 - 3e-5})
        diagonal = Spec(DiagonalLinear, {"loss": logistic, "variance": 6.0, "bias": 1.0, "floor": 6e-3})
        return [Entry(diagonal if is_sparse(each, features) else full, 0.5, 10.0, "slow")]
    if not isinstance(each, Neighbours):
        raise TypeError(f"{type(each).__name__} is not an expert set that a stream learner has")
    windows = range(len(windows_of(size)))
    return [Entry(Spec(Vote, {"loss": logistic, "window": i}), 1.0, 2.0, "vote") for i in windows]


def map_of(each: ExpertSet, size: int, grids: int, features: int, number: bool, seed: int) -> Spec:
    """The map of a set."""
    if isinstance(each, Landmarks):
        if each.policy not in labels(Policy):
            raise ValueError(f"policy={each.policy!r} is unknown; choose from {', '.join(map(repr, labels(Policy)))}")
        policy = Spec(labels(Policy)[each.policy], {"novelty": 0.03})
        arguments = {"features": features, "capacity": size, "kernel": Spec(RBF), "policy": policy, "single": True}
        return Spec(LandmarkMap, arguments)
    if isinstance(each, Bins):
        return Spec(BinMap, {"features": features, "table": size, "grids": grids, "seed": seed, "relevance": None})
    if isinstance(each, Linear):
        sparse = is_sparse(each, features)
        row = Spec(IdentityMap, {"features": features, "unsquashed": number})
        return Spec(LinearMap, {"table": size}) if sparse else row
    if not isinstance(each, Neighbours):
        raise TypeError(f"{type(each).__name__} is not an expert set that a stream learner has")
    windows = np.array(windows_of(size))
    return Spec(NeighbourMap, {"features": features, "windows": windows, "neighbours": each.neighbours, "seed": seed})


def regrid(spec: Spec, sets: Sequence[ExpertSet], memory: int, before: int, after: int) -> Spec:
    """The spec with the grids of `after` outputs instead of `before`, where its targets are classes."""
    experts = list(spec.arguments["experts"])
    for i, each in enumerate(sets):
        if not isinstance(each, Bins):
            continue
        grids = argument_of(spec, i, "grids")
        grids = max(min(grids, FEWEST_GRIDS), grids * grids_of(each, memory, after) // grids_of(each, memory, before))
        own, (table, features) = experts_on(spec, i), (argument_of(spec, i, name) for name in ("table", "features"))
        entries = entries_of(each, table, grids, features, False, own[0])
        for e, entry in zip(own, entries, strict=True):
            experts[e] = Spec(Expert, {"map": i, "head": entry.head})
        spec = with_argument(spec, i, grids=grids)
    return replace(spec, arguments={**spec.arguments, "experts": experts})


def starts_of(entries: Sequence[Entry], number: bool) -> list[float]:
    """First weights in the stack: slow experts share most of a total of 2 (1 for numbers), fast ones the rest."""
    total = 1.0 if number else 2.0
    slow, fast = (sum(entry.speed == speed for entry in entries) for speed in ("slow", "fast"))
    shares = {
        "slow": total * (SLOW if fast else 1.0) / max(1, slow),
        "fast": total * (FAST if slow else 1.0) / max(1, fast),
        "vote": (0.0 if number else 0.1) if slow or fast else total / max(1, len(entries)),
    }
    return [shares[entry.speed] for entry in entries]


def spec_of(sets: Sequence[ExpertSet], sizes: Sizes, features: int, number: bool, seed: int) -> Spec:
    """The learner."""
    maps: list[Spec] = []
    experts: list[Spec] = []
    entries: list[Entry] = []
    for i, each in enumerate(sets):
        size, grids = sizes.sizes[i], sizes.grids[i]
        width = features if is_sparse(each, features) else dense_features(sets, features)
        maps.append(map_of(each, size, grids, width, number, seed + i))
        own = entries_of(each, size, grids, width, number, len(experts))
        experts += [Spec(Expert, {"map": i, "head": entry.head}) for entry in own]
        entries += own
    arguments: dict[str, Any] = {
        "loss": Spec(Squared) if number else Spec(Logistic),
        "factors": np.array([entry.factor for entry in entries]),
        "limits": np.array([entry.limit for entry in entries]),
        "start": np.array(starts_of(entries, number)),
        "forgetting": 0.999,
        "prior": 70.0 if number else 1.0,
        "follows": number,
    }
    return Spec(Learner, {"maps": maps, "experts": experts, "combiner": Spec(Stack, arguments)})
