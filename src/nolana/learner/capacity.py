"""What the memory allows: tables fold, windows and landmarks become fewer.

`measure` says how many bytes a learner of a spec takes. Functions with a state change it together with the spec, which
they return.
"""

from collections.abc import Callable, Iterable

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.bins.heads import FOLD, DiagonalBins
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.neighbours.neighbour_map import NeighbourMap
from nolana.engine.experts.sparse_linear.feature_table import WAYS
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.experts.remap import relocate
from nolana.learner.budget import SLOTS, Sizes
from nolana.learner.driver import Array, State, part_of
from nolana.learner.feature_slots import shrink_features
from nolana.learner.layout import argument_of, experts_on, head_of, maps_of, update_part, with_argument
from nolana.modelfile.specs import Spec

SMALLEST_TABLE = 8  # slots; a multiple of it can be halved, with the table of the constant cells
BY_LANDMARK = {"counts", "last_nearest", "placed"}  # of the map and its policies: one number for each landmark

FEW_OUTPUTS = 32  # up to so many a new class is rare enough to rebuild the learner for it

Measure = Callable[[Spec], int]


def padded_outputs(outputs: int) -> int:
    """Outputs that the arrays of so many have room for: up to an eighth more, so that few new classes rebuild them.

    >>> [padded_outputs(c) for c in (3, 32, 33, 100, 1000)]
    [3, 32, 36, 104, 1024]
    """
    if outputs <= FEW_OUTPUTS:
        return outputs
    step = 1 << ((outputs - 1).bit_length() - 4)
    return -(-outputs // step) * step


def fitted(spec: Spec, measure: Measure, memory: int) -> Spec | None:
    """The spec with tables that just fit into the memory; None where no table fits."""
    tables = maps_of(spec, BinMap)
    if not tables:
        return spec if measure(spec) <= memory else None
    smallest = measure(with_tables(spec, SLOTS))
    step = measure(with_tables(spec, 2 * SLOTS)) - smallest  # of SLOTS more slots in all tables, however many there are
    table = SLOTS * (1 + (memory - smallest) // step)
    return with_tables(spec, table) if table >= SLOTS else None


def with_tables(spec: Spec, table: int) -> Spec:
    """The spec with tables of so many slots."""
    for i in maps_of(spec, BinMap):
        spec = with_argument(spec, i, table=table)
    return spec


def smallest(spec: Spec, sizes: Sizes) -> Spec:
    """The spec with maps of at most these sizes, and tables as small as they may be."""
    for i in maps_of(spec, LandmarkMap):
        spec = with_argument(spec, i, capacity=min(sizes.sizes[i], argument_of(spec, i, "capacity")))
    for i in maps_of(spec, NeighbourMap):
        spec = with_argument(spec, i, windows=shorter_windows(spec, i, sizes.sizes[i]))
    for i in maps_of(spec, LinearMap):
        spec = with_argument(spec, i, table=min(WAYS, argument_of(spec, i, "table")))
    return with_tables(spec, SMALLEST_TABLE)


def shrunk(spec: Spec, state: State, smaller: Iterable[Sizes], measure: Measure, memory: int) -> Spec:
    """The spec with maps of the first of these sizes, and with tables folded, so that it fits into the memory."""
    for sizes in smaller:
        for i in maps_of(spec, LandmarkMap):
            if sizes.sizes[i] < argument_of(spec, i, "capacity"):
                spec = drop_landmarks(spec, state, i, sizes.sizes[i])
        for i in maps_of(spec, NeighbourMap):
            if sizes.sizes[i] < argument_of(spec, i, "windows")[-1]:
                spec = shorten_windows(spec, state, i, sizes.sizes[i])
        for i in maps_of(spec, LinearMap):
            if sizes.sizes[i] < argument_of(spec, i, "table"):
                spec = shrink_features(spec, state, i, sizes.sizes[i])
        while (excess := measure(spec) - memory) > 0 and can_fold(spec):
            spec = fold_tables(spec, state)
        if excess <= 0:
            break
    return spec


def can_fold(spec: Spec) -> bool:
    """Whether a table can become smaller."""
    return any(argument_of(spec, i, "table") > SMALLEST_TABLE for i in maps_of(spec, BinMap))


def fold_tables(spec: Spec, state: State) -> Spec:
    """Slots 2i and 2i + 1 become one, weighted by precision. An odd table begins again, half as large."""
    for i in maps_of(spec, BinMap):
        table = argument_of(spec, i, "table")
        if table <= SMALLEST_TABLE:
            continue
        if table % SMALLEST_TABLE:
            smaller = max(SMALLEST_TABLE, table // 2 // SMALLEST_TABLE * SMALLEST_TABLE)
            spec = with_argument(spec, i, table=smaller)
            state |= empty_table(spec, i, state[f"expert{experts_on(spec, i)[0]}/cells"].shape[1])
            continue
        spec = with_argument(spec, i, table=table // 2)
        for e in experts_on(spec, i):
            fold_cells(head_of(spec, e), state, e)
    return spec


def fold_cells(head: Spec, state: State, e: int) -> None:
    """The cells of one expert."""
    cells = state[f"expert{e}/cells"]
    pairs = cells.reshape(len(cells) // 2, 2, -1)
    if head.kind is DiagonalBins:
        start = head.arguments["variance"]
        variances = state[f"expert{e}/variances"].astype(np.float64).reshape(-1, 2)
        precision = 1 / variances - 1 / start + 1e-3
        total = precision[:, 0] + precision[:, 1]  # sum(axis=1) of two numbers is many times slower
        folded = pairs[:, 0] * precision[:, :1]
        folded += pairs[:, 1] * precision[:, 1:]
        folded /= total[:, None]
        state[f"expert{e}/variances"] = (1 / (total + 1 / start)).astype(np.float32)
    else:
        folded = (pairs[:, 0] + pairs[:, 1]) / 2
    state[f"expert{e}/cells"] = np.ascontiguousarray(folded, dtype=np.float32)


def empty_table(spec: Spec, i: int, outputs: int) -> State:
    """Cells of the number that the spec says, with nothing learned in them."""
    table, state = argument_of(spec, i, "table"), {}
    for e in experts_on(spec, i):
        head = head_of(spec, e)
        slow = head.kind is DiagonalBins
        slots = table if slow else -(-table // FOLD)
        state[f"expert{e}/cells"] = np.zeros((slots, outputs), dtype=np.float32)
        if slow:
            state[f"expert{e}/variances"] = np.full(slots, head.arguments["variance"], dtype=np.float32)
    return state


def shorter_windows(spec: Spec, i: int, rows: int) -> Array:
    """Windows of at most so many rows; as many of them as before."""
    windows: Array = argument_of(spec, i, "windows")
    order = np.arange(len(windows))
    least = argument_of(spec, i, "neighbours") + order
    shorter = np.maximum(np.floor(windows * min(1.0, rows / windows[-1])), least)
    return np.asarray(np.maximum.accumulate(shorter - order) + order)  # ascending


def shorten_windows(spec: Spec, state: State, i: int, rows: int) -> Spec:
    """Only the most recent rows stay."""
    windows = shorter_windows(spec, i, rows)
    state[f"map{i}/recent"] = np.ascontiguousarray(state[f"map{i}/recent"][-int(windows[-1]) :])
    for e in experts_on(spec, i):
        size = int(windows[head_of(spec, e).arguments["window"]])
        state[f"expert{e}/targets"] = np.ascontiguousarray(state[f"expert{e}/targets"][-size:])
    return with_argument(spec, i, windows=windows)


def drop_landmarks(spec: Spec, state: State, i: int, m: int) -> Spec:
    """The first m landmarks stay; the weights become those of the model conditioned on them."""
    spec = with_argument(spec, i, capacity=m)
    own = part_of(state, f"map{i}/")
    if len(own["landmarks"]) <= m:
        return spec
    kernel: Kernel = argument_of(spec, i, "kernel").build(numpy_engine)
    places = np.ascontiguousarray(own["landmarks"][:m])
    gram = kernel.gram(places, places, own["gamma"])
    cross = kernel.gram(places, own["landmarks"], own["gamma"])
    first = {name: np.ascontiguousarray(own[name][:m]) for name in BY_LANDMARK & own.keys()}
    for e in experts_on(spec, i):
        head = part_of(state, f"expert{e}/")
        mapped = relocate(own | head, places, gram, cross, head_of(spec, e).arguments.get("prior", 1.0))
        update_part(state, f"map{i}/", own.keys(), mapped | first)
        update_part(state, f"expert{e}/", head.keys(), mapped)
    return spec
