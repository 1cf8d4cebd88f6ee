"""Merging: the learner that saw the rows of all parts, from the state of their base and their own states.

Each head and each map has its rule in a file of its own:

    information   Newton and linear heads with a full covariance: information added once; exact for the squared loss
    diagonal      cells and linear heads: the same, element by element
    constant      heads of constant gain: the mean of the parts
    recent        stored rows: those of the parts by turns
    stack         the combiner, by running sums with forgetting
    moments       scaling and intervals, by the parts' own sums
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nolana.engine.base.state import unpack
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.bins.heads import ConstantBins, DiagonalBins
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.engine.experts.neighbours.neighbour_map import NeighbourMap
from nolana.engine.experts.neighbours.vote import Vote
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.learner.anchored import GROWTH
from nolana.learner.driver import State, part_of
from nolana.learner.layout import head_of
from nolana.learner.merging.constant import merge_constant_cells, merge_lms
from nolana.learner.merging.diagonal import floored, merge_cells, merge_linear
from nolana.learner.merging.information import merge_newton, relaxed
from nolana.learner.merging.moments import merge_interval, merge_scaling, merge_v01_scaling
from nolana.learner.merging.parts import Gain, Parts
from nolana.learner.merging.recent import merge_recent, merge_vote
from nolana.learner.merging.stack import merge_stack
from nolana.learner.weights import WEIGHT_GAIN
from nolana.modelfile.specs import Spec

__all__ = ["Parts", "can_merge", "merged", "thawed"]

Rule = Callable[[Parts, Spec, Spec], State]  # parts, map and head -> entries of the head

HEADS: dict[Any, Rule] = {
    Newton: lambda parts, map, head: merge_newton(parts, unpack(parts.base["inverse"]).sum(axis=1)),
    LMS: lambda parts, map, head: merge_lms(parts),
    DiagonalBins: lambda parts, map, head: merge_cells(parts, map.arguments["grids"], head.arguments["variance"]),
    ConstantBins: lambda parts, map, head: merge_constant_cells(parts),
    DiagonalLinear: lambda parts, map, head: merge_linear(parts, head.arguments["variance"]),
    FullLinear: lambda parts, map, head: merge_newton(replace(parts, absent=())),  # a new class has a low bias there
    Vote: lambda parts, map, head: merge_vote(parts, int(map.arguments["windows"][head.arguments["window"]])),
}
MAPS = (IdentityMap, LandmarkMap, BinMap, NeighbourMap, LinearMap)
SINCE = ("last_nearest", "placed")  # of landmark policies: row numbers, whose age is not that of the frozen rows


def can_merge(spec: Spec) -> bool:
    """Whether all maps and heads of a learner have a rule."""
    maps, experts = spec.arguments["maps"], spec.arguments["experts"]
    return all(m.kind in MAPS for m in maps) and all(e.arguments["head"].kind in HEADS for e in experts)


def merged(spec: Spec, parts: Parts) -> State:
    """The state of a driver that learned the rows of all parts; all have the maps and outputs of the base."""
    single = spec.arguments["combiner"] is None
    after = dict(parts.base) | {"rows": parts.sum("rows")}
    for i, map in enumerate(spec.arguments["maps"]):
        prefix = "" if single else f"map{i}/"
        if map.kind is NeighbourMap:
            own = merge_recent(parts.only(prefix), map.arguments["windows"])
            after |= {prefix + name: value for name, value in own.items()}
        for name in SINCE:
            if prefix + name in after:
                after[prefix + name] = after[prefix + name] + parts.total
    for e, expert in enumerate(spec.arguments["experts"]):
        i = expert.arguments["map"]
        prefix, map_prefix = ("", "") if single else (f"expert{e}/", f"map{i}/")
        head = head_of(spec, e)
        own = HEADS[head.kind](both(parts, map_prefix, prefix), spec.arguments["maps"][i], head)
        after |= {prefix + name: value for name, value in own.items()}
    if not single:
        after |= merge_stack(parts, spec.arguments["combiner"].arguments["forgetting"])
    for prefix, rule in (
        ("scaling/", merge_scaling),
        ("target_scaling/", merge_scaling),
        ("interval/", merge_interval),
    ):
        if prefix + "rows" in parts.base:
            after |= {prefix + name: value for name, value in rule(parts.only(prefix)).items()}
    if GROWTH + "rows" in parts.base:  # which features grow is that of the base, as all that belongs to the scaling
        after[GROWTH + "rows"] = parts.sum(GROWTH + "rows")
    if "scaling_mean" in parts.base:
        after |= merge_v01_scaling(parts)
    if "mean_weight" in parts.base:
        after["mean_weight"] = max(0.0, parts.running("mean_weight", Gain(WEIGHT_GAIN, 1.0)))
    return after


def both(parts: Parts, map_prefix: str, prefix: str) -> Parts:
    """The entries of a head together with those of its map."""
    if map_prefix == prefix:
        return parts
    own, of_map = parts.only(prefix), parts.only(map_prefix)
    states = [m | s for m, s in zip(of_map.states, own.states, strict=True)]
    return Parts(of_map.base | own.base, states, parts.rows, parts.before, parts.absent)


def thawed(spec: Spec, state: State, rows: int) -> State:
    """The entries that change when a merge of parts learns again, after so many rows with frozen maps."""
    single = spec.arguments["combiner"] is None
    after: State = {}
    for e, expert in enumerate(spec.arguments["experts"]):
        prefix, head = "" if single else f"expert{e}/", head_of(spec, e)
        own = part_of(state, prefix)
        if head.kind is Newton:
            own = own | part_of(state, "" if single else f"map{expert.arguments['map']}/")
            prior = head.arguments["prior"] * unpack(own["inverse"])
            change = relaxed(own, rows, prior, head.arguments.get("forgetting", 1.0))
        elif head.kind is FullLinear:
            prior = head.arguments["variance"] * np.eye(own["weights"].shape[1])
            change = relaxed(own, rows, prior, head.arguments["forgetting"])
        elif head.kind in (DiagonalBins, DiagonalLinear):
            names = ("variances",) if head.kind is DiagonalBins else ("variances", "bias_variance")
            change = floored(own, head.arguments["floor"], names)
        else:
            continue
        after |= {prefix + name: value for name, value in change.items()}
    return after
