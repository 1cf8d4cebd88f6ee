"""Other units: what a stream learner has learned, carried to another scale of the features or of the targets.

Each function changes an exported state. Landmarks are re-mapped (`nolana.experts.remap`) with a new kernel width,
stored rows are scaled again, linear heads keep what their rows said, and cells are cleared, because their grids are
those of the old scale.
"""

from collections.abc import Callable

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.base.state import pack, unpack
from nolana.engine.experts.bins.heads import ConstantBins, DiagonalBins
from nolana.engine.experts.landmarks.inverse import factored
from nolana.engine.experts.landmarks.kernels import Kernel, decayed, width_of_distances
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.engine.experts.neighbours.neighbour_map import LARGEST, STEPS, NeighbourMap
from nolana.engine.experts.neighbours.vote import LARGEST_TARGET, Vote
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.engine.learner.robust_scaling import OTHER_STEP
from nolana.engine.learner.stack import START_NOISE, USUAL_RANGE
from nolana.experts.remap import covariance_of, rekernel
from nolana.learner.driver import Array, State, part_of
from nolana.learner.layout import argument_of, experts_on, experts_with, head_of, maps_of, probing, update_part
from nolana.learner.merging.information import inverse_of
from nolana.modelfile.specs import Spec

RIDGE = 1e-3
ENOUGH = 2.0  # times the agreement or the size of steps: half is enough
LEARNED_SIZE = 0.1  # of the steps of targets: smaller predictions are still in the old unit
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
    kernel: Kernel = argument_of(spec, i, "kernel").build(numpy_engine)
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


def in_unit_of(before: State, after: State) -> State:
    """The anchors `before`, as if a feature whose steps have another size had always had its new unit."""
    other = (
        (np.abs(before["step"] - before["usual_step"]) > OTHER_STEP) & (before["factor"] > 0) & (after["factor"] > 0)
    )
    ratio = np.divide(before["factor"], after["factor"], out=np.ones_like(before["factor"]), where=other)
    return before | {"center": before["center"] * ratio, "factor": before["factor"] / ratio}


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
    for e in experts_with(spec, DiagonalBins):
        state[f"expert{e}/linear"][:, :-1] /= metric
        state[f"expert{e}/linear_variances"][:-1] /= metric**2
    for i in maps_of(spec, IdentityMap):
        if f"map{i}/metric" in state:
            state[f"map{i}/metric"] = state[f"map{i}/metric"] * metric
    for e in probing(spec):
        steps = np.rint(state[f"expert{e}/sample"] * metric)
        state[f"expert{e}/sample"] = np.clip(steps, -LARGEST, LARGEST).astype(np.float32)


def rescale_targets(spec: Spec, state: State, g: float, shift: float) -> None:
    """Targets y become g y + shift; g = 0 forgets what was learned."""
    for i in maps_of(spec, LandmarkMap):
        ones = unpack(state[f"map{i}/inverse"]).sum(axis=1)  # P 1
        for e in experts_on(spec, i):
            state[f"expert{e}/weights"] = g * state[f"expert{e}/weights"] + shift * ones
    for e in experts_with(spec, DiagonalBins, ConstantBins):
        state[f"expert{e}/cells"] *= np.float32(g)
    for e in experts_with(spec, DiagonalBins):
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
        targets = np.clip(g * state[f"expert{e}/targets"] + shift, -LARGEST_TARGET, LARGEST_TARGET)
        state[f"expert{e}/targets"] = targets.astype(np.float32)
    low, high = NOISE_RANGE
    state["residual_variance"] = min(high, max(low, state["residual_variance"] * g * g)) if g > 0 else START_NOISE
    state["errors"] = state["errors"] * g * g
    weights, constant = state["stack_weights"], len(state["errors"])
    weights[constant] = g * weights[constant] + shift * (1 - weights[:constant].sum())
    for name in ("level", "last_excess", "trial", "last_residual", "bias"):
        if name in state:
            state[name] = g * state[name]
    for name in ("level_squares", "level_steps"):
        state[name] = state[name] * g * g
    state["lowest"] = min(-SMALLEST_RANGE, g * state["lowest"] + shift)
    state["highest"] = max(SMALLEST_RANGE, g * state["highest"] + shift)


def change_unit(spec: Spec, state: State, g: float, shift: float) -> float:
    """Targets y become g y + shift because their steps have another size; returns what the experts are multiplied by.

    1 keeps what was learned in terms of the new unit, g in the units of the targets. Larger steps that go up and down
    with the predictions are the same function in another unit, and predictions never have larger steps than targets:
    max(g, min(1, 2 agreement)), and g/(2 relative step) at most if they have learned the new size in part. As far as
    nothing is multiplied by g, the level is that of the new rows, 0.
    """
    relative = state["relative_step"]
    most = min(1.0, g / (ENOUGH * relative)) if relative > LEARNED_SIZE else 1.0
    kept = min(1.0, max(g, min(ENOUGH * state["agreement"], most))) if g > 0 else 0.0
    level = g * state["level"] + shift if kept == g else 0.0
    rescale_targets(spec, state, kept, 0.0)
    state["level"], state["residual_variance"] = level, START_NOISE
    state["lowest"], state["highest"] = max(-USUAL_RANGE, state["lowest"]), min(USUAL_RANGE, state["highest"])
    return kept


def move_range(state: State, g: float, shift: float) -> None:
    """The range of the last targets, which become g y + shift."""
    for name in ("range_lows", "range_highs"):
        state[name] = g * state[name] + shift
