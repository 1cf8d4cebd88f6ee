"""Random grids over the features, drawn from a seed.

Half of the grids (even ones) take all features, or 64 consecutive ones of a random order where there are more; the
others take 2, 4, 8, ... features at random. The pitch of grid g in feature j is

    max(0.05, -ln(u1 u2)/2) L sqrt(features of the grid),   L = 4 (1/8)^(floor(g/2)/(G/2 - 1))

(the Gamma(2) pitches of random binning, at levels from coarse to fine), its offset uniform. `relevance` (d,) makes 90 %
of the features in subset grids come up in proportion to it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDEST = 64  # features of a grid
COARSEST, RATIO = 4.0, 1 / 8  # levels of the pitches
SMALLEST_PITCH = 0.05
RELEVANT = 0.9  # share of subset features drawn by their relevance


@dataclass(frozen=True)
class Grids:
    """Features are counted in the order of `order`; start -1: the grid has the features in `index`."""

    order: Array  # (d,)
    multipliers: Array  # (d,)
    start: Array  # (G,)
    size: Array  # (G,)
    salt: Array  # (G,)
    index: Array  # (G, width)
    inverse_pitch: Array  # (G, width)
    offset: Array  # (G, width)


def draw(features: int, grids: int, seed: int, relevance: Array | None) -> Grids:
    """The same grids for the same arguments, always."""
    rng = np.random.Generator(np.random.PCG64(seed))
    width = min(features, WIDEST)
    order = rng.permutation(features)
    multipliers = (rng.integers(0, 2**31, features) * 2 + 1).astype(np.float64)
    salt = rng.integers(0, 2**32, grids).astype(np.float64)
    start, size = np.zeros(grids), np.full(grids, float(width))
    index, inverse_pitch, offset = (np.zeros((grids, width)) for _ in range(3))
    shares = None if relevance is None else (relevance / relevance.sum())[order]
    sizes = [2**i for i in range(1, 7) if 2**i < width] or [width]
    for g in range(grids):
        if g % 2:
            start[g], size[g] = -1, sizes[g // 2 % len(sizes)]
            n = int(size[g])
            chosen = rng.integers(0, features, n)
            if shares is not None:
                relevant = rng.random(n) < RELEVANT
                chosen = np.where(relevant, rng.choice(features, n, p=shares), chosen)
            index[g, :n] = chosen
        else:
            start[g] = rng.integers(0, features) if features > width else 0
        n = int(size[g])
        level = COARSEST * RATIO ** (g // 2 / max(1, (grids - 1) // 2))
        gamma = -np.log((1 - rng.random(n)) * (1 - rng.random(n))) / 2
        inverse_pitch[g, :n] = 1 / (np.maximum(SMALLEST_PITCH, gamma) * level * np.sqrt(n))
        offset[g, :n] = rng.random(n)
    return Grids(order.astype(np.float64), multipliers, start, size, salt, index, inverse_pitch, offset)
