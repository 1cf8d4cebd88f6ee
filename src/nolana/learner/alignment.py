"""States of a base and of its parts, brought to the same outputs and sizes before they are merged.

Parts may have seen classes that their base and other parts have not. Each state gets outputs for all of them, as it
would have at the first row of the class, in one order. Where that made tables, windows or landmarks of one of them
smaller, all have the smallest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
from nolana.learner.capacity import drop_landmarks, empty_table, fold_tables, shorten_windows
from nolana.learner.driver import State, part_of, rearrange_weights
from nolana.learner.feature_slots import FREQUENCIES, shrink_features, slots_of
from nolana.learner.layout import argument_of, experts_on, experts_with, maps_of, with_argument
from nolana.learner.outputs import rearrange
from nolana.modelfile.specs import Spec

Change = tuple[list[int], list[float]]  # sources and signs of the new outputs


@dataclass(frozen=True)
class Alignment:
    """How the outputs of one learner become those of all: changes one after the other, then an order of them."""

    changes: Sequence[Change] = ()
    order: Sequence[int] = ()
    absent: tuple[int, ...] = ()  # outputs, in their new order, whose class this learner has not seen


def align(spec: Spec, state: State, outputs: int, how: Alignment) -> None:
    """Change the outputs of an exported state; `outputs` is how many it has."""
    single = spec.arguments["combiner"] is None
    for change in how.changes:
        if single:
            rearrange_weights(state, *change)
        else:
            rearrange(spec, state, outputs, *change)
        outputs = len(change[0])
    order = list(how.order)
    if outputs < 3 or order == sorted(order):
        return
    if single:
        rearrange_weights(state, order, [1.0] * len(order))
    else:
        reorder(spec, state, order)


def reorder(spec: Spec, state: State, order: list[int]) -> None:
    """Output o of a stream learner with at least three becomes the old output order[o]."""
    weights = dict.fromkeys((Newton, LMS, FullLinear), "weights")
    rows = {**weights, DiagonalBins: "linear", DiagonalLinear: "bias"}
    columns = {DiagonalBins: "cells", ConstantBins: "cells", DiagonalLinear: "slots"}
    for kind, name in rows.items():
        for key in (f"expert{e}/{name}" for e in experts_with(spec, kind)):
            state[key] = np.ascontiguousarray(state[key][order])
    for kind, name in columns.items():
        for key in (f"expert{e}/{name}" for e in experts_with(spec, kind)):
            state[key] = np.ascontiguousarray(state[key][:, order])
    places = np.argsort(order).astype(np.float32)
    for e in experts_with(spec, Vote):
        state[f"expert{e}/counts"] = state[f"expert{e}/counts"][order]
        state[f"expert{e}/targets"] = places[state[f"expert{e}/targets"].astype(np.intp)]


def smallest_sizes(specs: Sequence[Spec], states: Sequence[State]) -> dict[int, int]:
    """For each map of stream learners the smallest size that one of them has: landmarks, slots or rows."""
    sizes = {}
    for i, map in enumerate(specs[0].arguments["maps"]):
        if map.kind is LandmarkMap:
            sizes[i] = min(len(state[f"map{i}/landmarks"]) for state in states)
        elif map.kind is NeighbourMap:
            sizes[i] = min(int(argument_of(spec, i, "windows")[-1]) for spec in specs)
        elif map.kind is not IdentityMap:
            sizes[i] = min(argument_of(spec, i, "table") for spec in specs)
    return sizes


def resize(spec: Spec, state: State, sizes: dict[int, int], features: int) -> Spec:
    """Bring the maps of an exported state to these sizes; a table that cannot be folded to its size is emptied."""
    for i in maps_of(spec, LandmarkMap):
        if sizes[i] < len(state[f"map{i}/landmarks"]):
            spec = drop_landmarks(spec, state, i, sizes[i])
    for i in maps_of(spec, NeighbourMap):
        if sizes[i] < argument_of(spec, i, "windows")[-1]:
            spec = shorten_windows(spec, state, i, sizes[i])
    for i in maps_of(spec, LinearMap):
        if sizes[i] < argument_of(spec, i, "table"):
            state |= slots_of(features, part_of(state, "features/"))
            spec = shrink_features(spec, state, i, sizes[i])
            del state[FREQUENCIES]
    tables = maps_of(spec, BinMap)
    while any(argument_of(spec, i, "table") > sizes[i] for i in tables):
        spec = fold_tables(spec, state)
    for i in tables:
        if argument_of(spec, i, "table") != sizes[i]:
            spec = with_argument(spec, i, table=sizes[i])
            state |= empty_table(spec, i, state[f"expert{experts_on(spec, i)[0]}/cells"].shape[1])
    return spec
