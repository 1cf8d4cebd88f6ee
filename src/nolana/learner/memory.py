"""From a number of bytes and a list of experts to the spec of a learner whose maps are as large as the memory allows.

`measure` says how many bytes a learner of a spec takes.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from nolana.engine.learner.learner import Expert as EngineExpert
from nolana.engine.learner.learner import Learner
from nolana.engine.learner.losses import Logistic, Squared
from nolana.engine.learner.stack import Stack
from nolana.errors import OptionError
from nolana.experts.base import Budget, Expert, ExpertState, HeadEntry, Sizes, joined_spec, split
from nolana.experts.bins import SLOTS, SMALLEST_TABLE
from nolana.experts.landmarks import SMALL, Landmarks
from nolana.experts.linear import Linear
from nolana.experts.sparse_linear import SKETCH, SparseLinear
from nolana.modelfile.specs import Spec

# Of the usual sizes, until they fit; small steps, because a new class may need one.
FRACTIONS = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.35, 0.25, 0.12, 0.06, 0.0)
FEW_OUTPUTS = 32  # up to so many a new class is rare enough to rebuild the learner for it
SLOW, FAST, VOTE = 0.9, 0.1, 0.1  # first weights in the stack: shared by the slow and by the fast heads, of each vote
STACK_FORGETTING, STACK_SLOW = 0.999, 0.9999
STACK_CERTAIN = 0.3  # of the forgetting: slower gains on rare classes, faster on drift
STACK_PRIOR = {"classification": 1.0, "regression": 70.0}
MIXED = {"binary_prior": 5.0, "binary_certain": 0.3, "cautious": True}  # with categories

UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
SMALLEST_MEMORY, LARGEST_MEMORY = 32 << 10, 1 << 30

Measure = Callable[[Spec], int]


def dense_features(experts: Sequence[Expert], features: int) -> int:
    """Features of the rows that all experts but the sparse linear one learn on."""
    return SKETCH if any(isinstance(each, SparseLinear) for each in experts) else features


def sizes_for(
    experts: Sequence[Expert], memory: int, features: int, outputs: int, fraction: float = 1.0
) -> list[Sizes]:
    """How large each map becomes; a table as small as it may be, until it is fitted to what is left.

    A fraction below 1 makes all but the table smaller, if the features alone take much of the memory.
    """
    budget = Budget(memory, dense_features(experts, features), features, outputs, fraction)
    sparse: dict[int, Sizes] = {}
    for i, each in enumerate(experts):
        if isinstance(each, SparseLinear):
            sparse[i] = each.sizes(budget)
            budget = replace(budget, memory=budget.memory - each.bytes(sparse[i], budget))
    budget = replace(budget, full_linear=any(isinstance(each, Linear) for each in experts))
    # Fewer landmarks than have slopes that count are worth less than the slots of the table that they would take.
    landmarks = [each for each in experts if isinstance(each, Landmarks)]
    small = budget.memory < SMALL and not any(each.has_slopes(budget) for each in landmarks)
    budget = replace(budget, small=small)
    return [sparse[i] if i in sparse else each.sizes(budget) for i, each in enumerate(experts)]


def first_weights(entries: Sequence[HeadEntry], task: str) -> list[float]:
    """First weights in the stack: slow heads share most of a total of 2 (regression: 1), fast ones the rest."""
    regression = task == "regression"
    total = 1.0 if regression else 2.0
    slow, fast = (sum(entry.speed == speed for entry in entries) for speed in ("slow", "fast"))
    late = [entry for entry in entries if entry.speed == "late"]
    shares = {
        "slow": total * (SLOW if fast else 1.0) / max(1, slow),
        "fast": total * (FAST if slow else 1.0) / max(1, fast),
        "vote": (0.0 if regression else VOTE) if slow or fast else total / max(1, len(entries)),
        "late": 0.0 if len(late) < len(entries) else total / max(1, len(entries)),
    }
    return [shares[entry.speed] for entry in entries]


def learner_spec(
    experts: Sequence[Expert],
    sizes: Sequence[Sizes],
    features: int,
    task: str,
    seed: int,
    categories: Sequence[int] = (),
    knows: bool = False,
) -> Spec:
    """The learner with maps of these sizes.

    `categories` are the columns that hold keys of categories; `knows`: it has lags.
    """
    maps: list[Spec] = []
    heads: list[Spec] = []
    entries: list[HeadEntry] = []
    width = dense_features(experts, features)
    for i, (each, own) in enumerate(zip(experts, sizes, strict=True)):
        map = each.map_spec(own, width, task, seed + i)
        maps.append(each.with_categories(map, np.array(categories, dtype=float)) if len(categories) else map)
        entries += each.heads(maps[i], task, len(entries))
        heads += [Spec(EngineExpert, {"map": i, "head": entry.head}) for entry in entries[len(heads) :]]
    arguments: dict[str, Any] = {
        "loss": Spec(Squared) if task == "regression" else Spec(Logistic),
        "factors": np.array([entry.factor for entry in entries]),
        "limits": np.array([entry.limit for entry in entries]),
        "start": np.array(first_weights(entries, task)),
        "forgetting": STACK_FORGETTING,
        "prior": STACK_PRIOR[task],
        "follows": task == "regression",
    }
    if task == "classification":
        arguments["certain"] = STACK_CERTAIN
        arguments |= MIXED if len(categories) else {}
    else:
        arguments["slow"] = STACK_SLOW
    if knows:
        arguments["knows"] = True
    return Spec(Learner, {"maps": maps, "experts": heads, "combiner": Spec(Stack, arguments)})


def fitted(experts: Sequence[Expert], spec: Spec, measure: Measure, memory: int) -> Spec | None:
    """The spec with tables that just fit into the memory; None if no table fits."""
    if not any(each.elastic for each in experts):
        return spec if measure(spec) <= memory else None
    smallest = measure(with_tables(experts, spec, SLOTS))
    step = measure(with_tables(experts, spec, 2 * SLOTS)) - smallest  # the same for all tables, however many there are
    table = SLOTS * (1 + (memory - smallest) // step)
    return with_tables(experts, spec, table) if table >= SLOTS else None


def with_tables(experts: Sequence[Expert], spec: Spec, slots: int) -> Spec:
    """The spec with tables of so many slots."""
    maps = [each.with_table(map, slots) for each, map in zip(experts, spec.arguments["maps"], strict=True)]
    return replace(spec, arguments={**spec.arguments, "maps": maps})


def smallest(experts: Sequence[Expert], spec: Spec, sizes: Sequence[Sizes]) -> Spec:
    """The spec with maps of at most these sizes, and tables as small as they may be."""
    states = split(spec, {}, {})
    shrink(experts, states, sizes)
    return with_tables(experts, joined_spec(spec, states), SMALLEST_TABLE)


def shrink(experts: Sequence[Expert], states: Sequence[ExpertState], sizes: Sequence[Sizes]) -> None:
    """Maps of at most these sizes; tables stay."""
    for each, own, size in zip(experts, states, sizes, strict=True):
        if not each.elastic:
            each.shrink(own, size)


def shrunk(
    experts: Sequence[Expert],
    spec: Spec,
    states: Sequence[ExpertState],
    smaller: Iterable[Sequence[Sizes]],
    measure: Measure,
    memory: int,
) -> None:
    """Maps of the first of these sizes, and tables folded, so that all fits into the memory."""
    for sizes in smaller:
        shrink(experts, states, sizes)
        while (excess := measure(joined_spec(spec, states)) - memory) > 0:
            folded = [each.fold(own) for each, own in zip(experts, states, strict=True)]
            if not any(folded):
                break
        if excess <= 0:
            break


def padded_outputs(outputs: int) -> int:
    """Outputs that the arrays of so many have room for: up to an eighth more, so that few new classes rebuild them.

    >>> [padded_outputs(c) for c in (3, 32, 33, 100, 1000)]
    [3, 32, 36, 104, 1024]
    """
    if outputs <= FEW_OUTPUTS:
        return outputs
    step = 1 << ((outputs - 1).bit_length() - 4)
    return -(-outputs // step) * step


def size_for(needed: int) -> int:
    """A round number of bytes with room to spare.

    >>> size_for(40_000) // 1024, size_for(4_271_184) / 2**20
    (64, 5.0)
    """
    kilobytes = -(-needed // 1024)
    return 1024 << (kilobytes - 1).bit_length() if kilobytes <= 512 else -(-needed // 2**20) << 20


def parse_size(option: str, text: str) -> int:
    """Bytes of a size with a unit of 1,024; OptionError if it is none.

    >>> parse_size("memory", "2MB"), parse_size("memory", "0.5KB")
    (2097152, 512)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?B)?\s*", text, re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise OptionError(option, text, "is not a size; write bytes, or for example 512KB, 2MB or 1GB")
    return int(float(match[1]) * UNITS[(match[2] or "").upper()])


def memory_bytes(memory: Any) -> int:
    """Bytes of a learner: an integer, or a string with a unit of 1,024.

    >>> memory_bytes("2MB"), memory_bytes(65536)
    (2097152, 65536)
    """
    if isinstance(memory, str):
        size = parse_size("memory", memory)
    elif isinstance(memory, bool) or not isinstance(memory, Integral) or memory < 1:
        raise OptionError("memory", memory, "is not an integer of at least {expected}", expected=1)
    else:
        size = int(memory)
    if not SMALLEST_MEMORY <= size <= LARGEST_MEMORY:
        raise OptionError("memory", memory, "is out of range: at least 32KB and at most 1GB")
    return size


def size_text(memory: int) -> str:
    """A round number of bytes, as users write it.

    >>> size_text(64 << 10), size_text(5 << 20)
    ('64KB', '5MB')
    """
    return f"{memory >> 10}KB" if memory < 1 << 20 else f"{memory >> 20}MB"
