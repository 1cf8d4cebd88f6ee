"""New classes: the outputs of a stream learner, rearranged in an exported state."""

import math

import numpy as np

from nolana.engine.base.state import unpack
from nolana.engine.experts.bins.heads import ConstantBins, DiagonalBins
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.neighbours.vote import Vote
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.learner.driver import State
from nolana.learner.layout import experts_on, experts_with, maps_of
from nolana.modelfile.specs import Spec


def is_appended(sources: list[int], signs: list[float], old: int) -> bool:
    """Whether all `old` outputs stay what they are, and one of a new class follows."""
    return sources[:-1] == list(range(old)) and signs == [1.0] * old + [0.0]


def rearrange(spec: Spec, state: State, old: int, sources: list[int], signs: list[float]) -> None:
    """Output o becomes signs[o] times the old output sources[o] of `old`; sign 0 is a class not seen so far."""
    sign = np.array(signs)
    new = sign == 0
    for i in maps_of(spec, LandmarkMap):
        ones = unpack(state[f"map{i}/inverse"]).sum(axis=1) if len(state[f"map{i}/landmarks"]) else np.zeros(0)
        for e in experts_on(spec, i):
            weights = state[f"expert{e}/weights"].take(sources, axis=0)
            weights *= sign[:, None]
            weights[new] = -ones  # an output that has been -1 so far
            state[f"expert{e}/weights"] = weights
    logit = sign / 2 if old == 1 else sign  # one output is the difference of two
    for e in experts_with(spec, DiagonalBins, ConstantBins):
        if f"expert{e}/cells" not in state:  # a state without tables
            continue
        cells = state[f"expert{e}/cells"].take(sources, axis=1)
        cells *= logit.astype(np.float32)
        state[f"expert{e}/cells"] = cells
    linear = [f"expert{e}/linear" for e in experts_with(spec, DiagonalBins)]
    for key in (*linear, *(f"expert{e}/weights" for e in experts_with(spec, FullLinear))):
        weights = logit[:, None] * state[key][sources]
        weights[new, -1] = -math.log(int(state["rows"]) + 1)
        state[key] = np.ascontiguousarray(weights)
    for e in experts_with(spec, DiagonalLinear):
        weights = state[f"expert{e}/slots"][:, sources] * logit.astype(np.float32)
        state[f"expert{e}/slots"] = np.ascontiguousarray(weights)
        bias = logit * state[f"expert{e}/bias"][sources]
        state[f"expert{e}/bias"] = np.where(new, -math.log(int(state["rows"]) + 1), bias)
    for e in experts_with(spec, Vote):
        counts = state[f"expert{e}/counts"]
        state[f"expert{e}/counts"] = np.where(new, 0.0, counts[sources] if old > 1 else 0.0)
        if old == 1:
            state[f"expert{e}/targets"] = (state[f"expert{e}/targets"] > 0).astype(np.float32)
