"""How the maps of the default learner are fitted to its memory, when it has other outputs or its tables are empty.

A new class may need memory: then tables fold, and if that is not enough, windows and landmarks become fewer. Up to 256
rows, when every anchor clears the tables, a new class clears them too, and they become as large as the memory allows.
"""

import functools
from typing import TYPE_CHECKING

from nolana.engine.base.state import State
from nolana.experts.base import ExpertState, Outputs, Sizes, heads_by_map, joined_spec, joined_state, split
from nolana.experts.bins import Bins
from nolana.experts.sparse_linear import SparseLinear, slot_features
from nolana.learner.memory import FRACTIONS, fitted, padded_outputs, shrunk, sizes_for
from nolana.modelfile.specs import Spec

if TYPE_CHECKING:
    from nolana.learner.stream import StreamLearner

LAST_CLEARING = 256  # rows up to which an anchor clears the tables


def rebuild(learner: "StreamLearner", spec: Spec, state: State, outputs: int, tables: bool = False) -> None:
    """Continue with an engine of another spec; without `tables` those are empty."""
    engine = learner.build(spec)
    engine.reserve(room_for(learner, spec, outputs))
    engine.restore(state, tables, units=False)
    learner.use(spec, engine)


def rebuild_for(learner: "StreamLearner", sources: list[int], signs: list[float]) -> None:
    """With arrays of other outputs, and tables and maps that fit into the memory with them."""
    outputs, memory = len(signs), learner.options.memory
    spec = None
    sizes = sizes_for(learner.experts, memory, learner.n_features, outputs)
    if learner.rows < LAST_CLEARING and not learner.frozen:  # the next anchor clears the tables in any case
        spec = _fitted_spec(learner, _regridded(learner, outputs, sizes), outputs)
    tables = spec is None
    state = learner.rearranged(
        learner.engine.state(tables=tables, units=False),
        Outputs(sources, signs, learner.outputs, int(learner.engine.rows)),
    )
    table = learner.engine.feature_table.state() if learner.sparse else {}
    states = learner.split(state)
    if spec is not None:
        _shrink_by_outputs(learner, states, sizes)
        state |= joined_state(learner.spec, states)
    else:
        _add_slots(learner, states, table)
        measure = functools.partial(learner.bytes_with, outputs=padded_outputs(outputs))
        smaller = (sizes_for(learner.experts, memory, learner.row_features, outputs, each) for each in FRACTIONS)
        shrunk(learner.experts, learner.spec, states, smaller, measure, memory)
        table |= _take_slots(learner, states)
        spec, state = joined_spec(learner.spec, states), state | joined_state(learner.spec, states)
    rebuild(learner, spec, state, outputs, tables)
    learner.fitted_to = None if tables else (learner.engine.room, learner.unit_bytes)  # shrunk tables may have room
    if learner.sparse:
        learner.engine.feature_table.restore(table)


def _add_slots(learner: "StreamLearner", states: list[ExpertState], table: State) -> None:
    """What the sparse linear expert needs to know of the table of features."""
    for expert, own in zip(learner.experts, states, strict=True):
        if isinstance(expert, SparseLinear):
            own.map_state |= slot_features(learner.n_features, table)


def _take_slots(learner: "StreamLearner", states: list[ExpertState]) -> State:
    """The features and scales of the slots that stayed."""
    for expert, own in zip(learner.experts, states, strict=True):
        if isinstance(expert, SparseLinear):
            own.map_state.pop("frequencies")
            return {name: own.map_state.pop(name) for name in ("keys", "scales")}
    return {}


def _shrink_by_outputs(learner: "StreamLearner", states: list[ExpertState], sizes: list[Sizes]) -> None:
    for expert, own, size in zip(learner.experts, states, sizes, strict=True):
        if expert.sized_by_outputs:
            expert.shrink(own, size)


def _regridded(learner: "StreamLearner", outputs: int, sizes: list[Sizes]) -> Spec:
    """The spec with the grids of so many outputs, and other experts of at most these sizes if outputs decide."""
    states = split(learner.spec, {}, {})
    _shrink_by_outputs(learner, states, sizes)
    for i, (expert, own) in enumerate(zip(learner.experts, states, strict=True)):
        if isinstance(expert, Bins):
            expert.regrid(own, learner.options.memory, learner.outputs, outputs, heads_by_map(learner.spec)[i][0])
    return joined_spec(learner.spec, states)


def room_for(learner: "StreamLearner", spec: Spec, outputs: int) -> int:
    """Outputs that the arrays of so many have room for: more, if the memory is enough for them."""
    room = padded_outputs(outputs)
    return room if room == outputs or learner.bytes_with(spec, room) <= learner.options.memory else outputs


def _fitted_spec(learner: "StreamLearner", spec: Spec, outputs: int) -> Spec | None:
    """The spec with tables that just fit, with room for more outputs or without; None if no table fits."""
    for room in dict.fromkeys((padded_outputs(outputs), outputs)):
        measure = functools.partial(learner.bytes_with, outputs=room)
        sized = fitted(learner.experts, spec, measure, learner.options.memory)
        if sized is not None:
            return sized
    return None


def fit_tables(learner: "StreamLearner") -> None:
    """Tables as large as the memory allows, while they are empty."""
    fits = learner.engine.room, learner.unit_bytes
    if fits == learner.fitted_to:
        return
    learner.fitted_to = fits
    spec = _fitted_spec(learner, learner.spec, learner.outputs)
    if spec is None or spec == learner.spec:
        return
    rebuild(learner, spec, learner.engine.state(tables=False, units=False), learner.outputs)
