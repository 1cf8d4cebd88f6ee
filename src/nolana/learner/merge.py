"""Parts of a merge: frozen copies of a learner, and the learner that saw the rows of all of them.

Nothing that a map is made of changes in a part: landmarks are as many as they are and stay, scaling has no new anchors,
width, grids and slots of features stay, relevance is not measured. Heads of a part forget nothing, so that what it
learned is a sum over its rows, which can be added up (`Expert.merge`); the merged learner forgets for all rows when it
learns again (`Expert.thaw`).

Parts may have seen classes that their base and other parts have not. Each state gets outputs for all of them, as it
would have at the first row of the class, in one order. If that made tables, windows or landmarks of one of them
smaller, all have the smallest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nolana.engine.base.threads import one_blas_thread
from nolana.experts.base import (
    Axes,
    Expert,
    Outputs,
    Sizes,
    State,
    is_single,
    joined_spec,
    joined_state,
    prefixes,
    split,
)
from nolana.experts.parts import Gain, Parts, entries
from nolana.experts.sparse_linear import SparseLinear, slot_features
from nolana.learner.driver import WEIGHT_GAIN, Driver, Origin
from nolana.learner.moments import merge_interval, merge_scaling, merge_thresholds, merge_v01_scaling
from nolana.learner.sketched import SketchedLearner
from nolana.learner.stack import merge_stack
from nolana.learner.targets import TargetsLearner
from nolana.modelfile.specs import Spec

FEWEST_ROWS = 2  # of a base: the first anchors of the scaling
OF_MAPS = ("landmarks", "gamma", "ridge", "inverse", "scaling_offset", "scaling_factor", "keys", "thresholds")
OF_SCALING = ("center", "factor", "metric")

Change = tuple[list[int], list[float]]  # sources and signs of the new outputs


@dataclass(frozen=True)
class Alignment:
    """How the outputs of one learner become those of all: changes one after the other, then an order of them."""

    changes: Sequence[Change] = ()
    order: Sequence[int] = ()
    absent: tuple[int, ...] = ()  # outputs, in their new order, whose class this learner has not seen


def mergeable(learner: Any) -> bool:
    """Whether parts of this learner can be merged."""
    if isinstance(learner, SketchedLearner):
        return mergeable(learner.inner)
    return isinstance(learner, TargetsLearner) or (isinstance(learner, Driver) and bool(learner.experts))


def frozen_copy(learner: Any, origin: Origin) -> Any:
    """A part of this learner; the caller holds the lock."""
    if isinstance(learner, SketchedLearner):
        return SketchedLearner(frozen_copy(learner.inner, origin), learner.n_features)
    if isinstance(learner, TargetsLearner):
        return TargetsLearner([frozen_copy(part, origin) for part in learner.parts])
    if learner.rows < FEWEST_ROWS:
        raise ValueError(f"this learner has learned {learner.rows} row; learn more rows before you split it")
    state = learner.state()
    states = split(learner.spec, state, learner.axes)
    for expert, own in zip(learner.experts, states, strict=True):
        expert.freeze(own)
    return with_state(learner, joined_spec(learner.spec, states), state, origin)


def with_state(like: Driver, spec: Spec, state: State, origin: Origin | None) -> Any:
    """A learner of this spec in this state, without what only moving maps have."""
    outputs = len(state["weights"]) if "weights" in state else like.outputs
    new = type(like)(spec, like.options, like.n_features, outputs)
    new.origin = origin
    new.restore({name: state[name] for name in new.state()})
    new.diverged = like.diverged
    return new


def merged_learner(base: Any, parts: Sequence[Any], origin: Origin, alignments: Sequence[Alignment]) -> Any:
    """A learner that is as if the base had learned the rows of all parts; none of them changes.

    alignments: for the base, then for each part.
    """
    if isinstance(base, SketchedLearner):
        inner = merged_learner(base.inner, [part.inner for part in parts], origin, alignments)
        return SketchedLearner(inner, base.n_features)
    if isinstance(base, TargetsLearner):
        columns = zip(base.parts, *(part.parts for part in parts), strict=True)
        return TargetsLearner([merged_learner(first, rest, origin, alignments) for first, *rest in columns])
    with one_blas_thread():
        return _merged_learner(base, parts, origin, alignments)


def _merged_learner(base: Driver, parts: Sequence[Driver], origin: Origin, alignments: Sequence[Alignment]) -> Any:
    own, *others = alignments
    before, rows = base.rows, np.array([part.rows - base.rows for part in parts], dtype=np.float64)
    if own.changes:
        base = base.copy()
        base.origin = replace(origin, frozen=True)  # a new class changes no more of it than of a part
        for change in own.changes:
            base.rearrange_outputs(*change)
    specs, states = [each.spec for each in (base, *parts)], [dict(each.state()) for each in (base, *parts)]
    axes = base.axes
    for i, (part, how) in enumerate(zip(parts, others, strict=True), 1):
        states[i] = aligned(part, states[i], how)
    if not is_single(base.spec) and any(how.changes or how.order for how in alignments):
        specs, states = resized(base.experts, specs, states, axes, base.n_features)
    for spec, state in zip(specs[1:], states[1:], strict=True):
        check_maps(specs[0], states[0], spec, state)
    absent = tuple(how.absent for how in others)
    after = merged(base.experts, specs[0], axes, Parts(states[0], states[1:], rows, before, absent))
    return with_state(base, specs[0], after, replace(origin, frozen=False))


def aligned(learner: Driver, state: State, how: Alignment) -> State:
    """The state with the outputs of all learners."""
    outputs = learner.outputs
    for sources, signs in how.changes:
        state = learner.rearranged(state, Outputs(sources, signs, outputs, int(state["rows"])))
        outputs = len(sources)
    order = list(how.order)
    if outputs < 3 or order == sorted(order):
        return state
    states = split(learner.spec, state, learner.axes)
    for expert, own in zip(learner.experts, states, strict=True):
        expert.permute_outputs(own, order)
    return state | joined_state(learner.spec, states)


def resized(
    experts: Sequence[Expert], specs: Sequence[Spec], states: Sequence[State], axes: Mapping[str, Axes], features: int
) -> tuple[list[Spec], list[State]]:
    """Specs and states with the smallest maps that one of them has."""
    parts = [split(spec, state, axes) for spec, state in zip(specs, states, strict=True)]
    smaller = [dict(state) for state in states]
    for i, expert in enumerate(experts):
        sizes = expert.smallest_sizes([each[i] for each in parts])
        for state, each in zip(smaller, parts, strict=True):
            if same_sizes(expert.smallest_sizes([each[i]]), sizes):
                continue
            table = slot_features(features, entries(state, "features/")) if isinstance(expert, SparseLinear) else {}
            each[i].map_state |= table
            expert.shrink(each[i], sizes)
            for name in table:  # the table of features is the learner's
                state[f"features/{name}"] = each[i].map_state.pop(name)
            state.pop("features/frequencies", None)
    after = [joined_spec(spec, own) for spec, own in zip(specs, parts, strict=True)]
    return after, [state | joined_state(spec, own) for spec, state, own in zip(after, smaller, parts, strict=True)]


def same_sizes(a: Sizes, b: Sizes) -> bool:
    """Whether two maps are equally large."""
    return all(np.array_equal(a[name], b[name]) for name in a)


def check_maps(spec: Spec, state: State, part_spec: Spec, part_state: State) -> None:
    """ValueError if the maps of a part are not those of the base."""
    for name, value in state.items():
        last = name.rpartition("/")[2]
        is_map = last in OF_MAPS or (last in OF_SCALING and "scaling" in name)
        if is_map and not np.array_equal(value, part_state[name]):
            raise ValueError(f"the parts cannot be merged: {name} of a part differs from that of its base")
    for mine, theirs in zip(spec.arguments["maps"], part_spec.arguments["maps"], strict=True):
        for name in ("grids", "seed", "relevance", "drawn", "features", "neighbours", "windows", "table", "trees"):
            first, second = mine.arguments.get(name), theirs.arguments.get(name)
            if mine.kind is not theirs.kind or not np.array_equal(np.asarray(first), np.asarray(second)):
                raise ValueError(f"the parts cannot be merged: {name}={second} of a part, its base has {first}")


def merged(experts: Sequence[Expert], spec: Spec, axes: Mapping[str, Axes], parts: Parts) -> State:
    """The state of a driver that learned the rows of all parts; all have the maps and outputs of the base."""
    after = dict(parts.base) | {"rows": parts.sum("rows")}
    states = split(spec, after, axes)
    for i, (expert, own) in enumerate(zip(experts, states, strict=True)):
        names = ["", ""] if is_single(spec) else prefixes(spec, i)
        map, *heads = (parts.only(name) for name in names)
        expert.merge(own, map, heads)
    after |= joined_state(spec, states)
    if not is_single(spec):
        after |= merge_stack(parts, spec.arguments["combiner"])
    for prefix, rule in (
        ("scaling/", merge_scaling),
        ("scaling_growth/", lambda own: {"rows": own.sum("rows")}),  # which features grow is that of the base
        ("target_scaling/", merge_scaling),
        ("interval/", merge_interval),
        ("label_sets/", merge_thresholds),
    ):
        if prefix + "rows" in parts.base:
            after |= {prefix + name: value for name, value in rule(parts.only(prefix)).items()}
    if "scaling_mean" in parts.base:
        after |= merge_v01_scaling(parts)
    if "mean_weight" in parts.base:
        after["mean_weight"] = max(0.0, parts.running("mean_weight", Gain(WEIGHT_GAIN, 1.0)))
    return after
