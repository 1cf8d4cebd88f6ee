"""Other units: what a stream learner has learned, carried to another scale of the features or of the targets.

Each function changes an exported state. Landmarks are re-mapped (`nolana.maps.remap`) with a new kernel width, stored
rows are scaled again, linear heads keep what their rows said, and cells are cleared, because their grids are those of
the old scale.
"""

from collections.abc import Callable

import numpy as np

from nolana import reference
from nolana.learners.driver import Array, State, part_of
from nolana.learners.layout import argument_of, experts_on, experts_with, head_of, maps_of, probing, update_part
from nolana.learners.merging.information import inverse_of
from nolana.maps.remap import covariance_of, rekernel
from nolana.reference.combiners.stack import START_NOISE
from nolana.reference.heads.cells import ConstantCells, DiagonalCells
from nolana.reference.heads.full_linear import FullLinear
from nolana.reference.heads.linear import DiagonalLinear
from nolana.reference.heads.vote import LARGEST_NUMBER, Vote
from nolana.reference.inverse import factored
from nolana.reference.kernels import Kernel, decayed, width_of_distances
from nolana.reference.maps.landmark_map import LandmarkMap
from nolana.reference.maps.neighbour_map import LARGEST, STEPS, NeighbourMap
from nolana.reference.state import pack, unpack
from nolana.specs import Spec

RIDGE = 1e-3
NOISE_RANGE = 1e-3, 1.0
SMALLEST_RANGE = 0.5  # of standardised targets
LARGEST_CHANGE = 100.0  # of the unit of a feature, and of its centre in units: beyond, a wild value had set them

Moved = Callable[[Array], Array]  # rows (n, d) in the old scale -> in the new one


def move_rows(spec: Spec, state: State, moved: Moved) -> None:
    """Landmarks and stored rows go to other places; widths are taken again."""
    for i in maps_of(spec, LandmarkMap):
        remap_landmarks(spec, state, i, moved)
    for i in maps_of(spec, NeighbourMap):
        recent = state[f"map{i}/recent"]
        if recent.shape[1] < argument_of(spec, i, "features"):  # sketches cannot be scaled
            state[f"map{i}/recent"] = np.zeros((0, recent.shape[1]), dtype=np.float32)
            continue
        steps = np.clip(np.rint(moved(recent.astype(np.float64) / STEPS) * STEPS), -LARGEST, LARGEST)
        state[f"map{i}/recent"] = np.ascontiguousarray(steps, dtype=np.float32)


def remap_landmarks(spec: Spec, state: State, i: int, moved: Moved = lambda z: z) -> None:
    """The landmarks of map i go to other places, and the kernel, one of a distance, takes the width of all of them."""
    kernel: Kernel = argument_of(spec, i, "kernel").build(reference)
    own = part_of(state, f"map{i}/")
    if not len(own["landmarks"]):
        return
    places = np.ascontiguousarray(moved(own["landmarks"]))
    distances = kernel.pairwise(places)
    gamma = width_of_distances(distances[~np.tri(len(places), dtype=bool)]) or own["gamma"]
    before, after = decayed(own["gamma"], kernel.pairwise(own["landmarks"])), decayed(gamma, distances)
    factors = factored(after, RIDGE)
    for e in experts_on(spec, i):
        head = part_of(state, f"expert{e}/")
        mapped = rekernel(own | head, before, after, RIDGE, head_of(spec, e).arguments.get("prior", 1.0), factors)
        update_part(state, f"map{i}/", own.keys(), mapped | {"landmarks": places, "gamma": gamma})
        update_part(state, f"expert{e}/", head.keys(), mapped)


def change_features(spec: Spec, state: State, before: State, after: State) -> None:
    """Linear heads follow from the anchors of a scaling to others: z becomes a z + b for each feature."""
    old, new = before["factor"] * before["metric"], after["factor"] * after["metric"]
    a = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
    b = (before["center"] - after["center"]) * new
    wild = (a > LARGEST_CHANGE) | (a * LARGEST_CHANGE < 1) | (np.abs(b) > LARGEST_CHANGE)
    for e in experts_with(spec, FullLinear):
        move_linear(spec, state, e, np.where(wild, 0.0, a), np.where(wild, 0.0, b))


def move_linear(spec: Spec, state: State, e: int, a: Array, b: Array) -> None:
    """A linear head as if all its rows had been (a z + b, 1): their information, and the prior of the new scale.

    With the precision L = C^-1 and the prior I/s: L' = B (L - I/s) B' + I/s, L' w' = B L w, (z', 1) = B (z, 1).
    """
    own = part_of(state, f"expert{e}/")
    onto = np.diag(np.append(a, 1.0))
    onto[:-1, -1] = b
    prior = np.eye(len(onto)) / head_of(spec, e).arguments["variance"]
    precision = inverse_of(covariance_of(own))
    covariance = inverse_of(onto @ (precision - prior) @ onto.T + prior)
    state[f"expert{e}/weights"] = np.ascontiguousarray(own["weights"] @ precision @ onto.T @ covariance)
    set_covariance(state, e, covariance)


def set_covariance(state: State, e: int, covariance: Array) -> None:
    """Nothing waits to be added to it; as many zeros wait as before, because sizes stay."""
    state[f"expert{e}/covariance"] = pack(covariance)
    for name in ("waiting_left", "waiting_right"):
        state[f"expert{e}/{name}"] = np.zeros_like(state[f"expert{e}/{name}"])


def multiply_features(spec: Spec, state: State, metric: Array) -> None:
    """Each feature is multiplied by a number of its own (d,), in a state without tables."""
    move_rows(spec, state, lambda z: z * metric)
    for e in experts_with(spec, FullLinear):
        move_linear(spec, state, e, metric, np.zeros_like(metric))
    for e in experts_with(spec, DiagonalCells):
        state[f"expert{e}/linear"][:, :-1] /= metric
        state[f"expert{e}/linear_variances"][:-1] /= metric**2
    for e in probing(spec):
        steps = np.rint(state[f"expert{e}/sample"] * metric)
        state[f"expert{e}/sample"] = np.clip(steps, -LARGEST, LARGEST).astype(np.float32)


def rescale_targets(spec: Spec, state: State, g: float, shift: float) -> None:
    """Targets y become g y + shift; g = 0 forgets what was learned."""
    for i in maps_of(spec, LandmarkMap):
        ones = unpack(state[f"map{i}/inverse"]).sum(axis=1)  # P 1
        for e in experts_on(spec, i):
            state[f"expert{e}/weights"] = g * state[f"expert{e}/weights"] + shift * ones
    for e in experts_with(spec, DiagonalCells, ConstantCells):
        state[f"expert{e}/cells"] *= np.float32(g)
    for e in experts_with(spec, DiagonalCells):
        state[f"expert{e}/linear"] *= g
        state[f"expert{e}/linear"][:, -1] += shift
    for e in experts_with(spec, DiagonalLinear):
        state[f"expert{e}/slots"] *= np.float32(g)
        state[f"expert{e}/bias"] = g * state[f"expert{e}/bias"] + shift
    for e in experts_with(spec, FullLinear):
        weights = state[f"expert{e}/weights"] = g * state[f"expert{e}/weights"]
        weights[:, -1] += shift
        if g == 0:
            set_covariance(state, e, head_of(spec, e).arguments["variance"] * np.eye(weights.shape[1]))
    for e in experts_with(spec, Vote):
        targets = np.clip(g * state[f"expert{e}/targets"] + shift, -LARGEST_NUMBER, LARGEST_NUMBER)
        state[f"expert{e}/targets"] = targets.astype(np.float32)
    low, high = NOISE_RANGE
    state["residual_variance"] = min(high, max(low, state["residual_variance"] * g * g)) if g > 0 else START_NOISE
    state["errors"] = state["errors"] * g * g
    state["lowest"] = min(-SMALLEST_RANGE, g * state["lowest"] + shift)
    state["highest"] = max(SMALLEST_RANGE, g * state["highest"] + shift)
