"""Random grids over the features, drawn from a seed.

Half of the grids take all features, or 64 random ones where there are more; the others take 2, 4, 8, ... features at
random. The pitch of a grid in feature j is

    max(0.05, -ln(u1 u2)/2) L sqrt(features of the grid)

(the Gamma(2) pitches of random binning) at levels L from 4 to 1/2, its offset uniform. `relevance` (d,) makes 90 % of
the features in the smaller grids come up in proportion to it.

All is in fixed point: inverse pitches in steps of 1/2048 (at most 16), offsets in steps of 1/64. Grids come in bundles
of at most 16 with the same number of features, so that one instruction works on a whole bundle.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LANES = 16  # grids of a bundle
WIDEST = 64  # features of a grid
COARSEST, RATIO = 4.0, 1 / 8  # levels of the pitches
SMALLEST_PITCH = 0.05
RELEVANT = 0.9  # share of the features in smaller grids drawn by their relevance
SCALE = 2048.0  # steps in a unit of z, and of an inverse pitch
FRACTION = 64  # steps of an offset
LARGEST = 32767.0


@dataclass(frozen=True)
class Grids:
    """B bundles; entry (b, j, lane) is the j-th feature of a grid, for j below the bundle's size.

    Whole numbers, but in float64: size (B,), used (B,) lanes, indexed (B,) whether the grids name their features in
    `index`, else j is the feature; salt (B, 16); multipliers (2, 64) of the places j; index, inverse_pitch and offset
    (B, 64, 16).
    """

    size: Array
    used: Array
    indexed: Array
    salt: Array
    multipliers: Array
    index: Array
    inverse_pitch: Array
    offset: Array


def draw(features: int, grids: int, seed: int, relevance: Array | None) -> Grids:
    """The same grids for the same arguments, always; nobody may write into them."""
    return _draw(features, grids, seed, None if relevance is None else tuple(relevance.tolist()))


@functools.lru_cache(maxsize=4)  # a learner is made several times while it is fitted to its memory
def _draw(features: int, grids: int, seed: int, relevance: tuple[float, ...] | None) -> Grids:
    rng = np.random.Generator(np.random.PCG64(seed))
    width = min(features, WIDEST)
    whole, small = -(-grids // 2), grids // 2
    bundles, small_bundles = -(-whole // LANES), -(-small // LANES)
    total = bundles + small_bundles
    sizes = [2**i for i in range(1, 7) if 2**i < width] or [width]
    spread = [sizes[round(b * (len(sizes) - 1) / max(1, small_bundles - 1))] for b in range(small_bundles)]
    size = np.array([width] * bundles + spread, dtype=np.float64)
    shares = None if relevance is None else np.array(relevance) / np.array(relevance).sum()
    used, indexed = np.zeros(total), np.ones(total)
    if features <= WIDEST:
        indexed[:bundles] = 0
    index, inverse_pitch, offset = (np.zeros((total, WIDEST, LANES)) for _ in range(3))
    for first, count, some in ((0, whole, bundles), (bundles, small, small_bundles)):
        for i in range(count):
            b, lane = first + i % some, i // some
            n = int(size[b])
            used[b] += 1
            chosen = rng.permutation(features)[:n] if first == 0 else rng.integers(0, features, n)
            if first and shares is not None:
                chosen = np.where(rng.random(n) < RELEVANT, rng.choice(features, n, p=shares), chosen)
            level = COARSEST * RATIO ** (i / max(1, count - 1))
            pitch = -np.log((1 - rng.random(n)) * (1 - rng.random(n))) / 2
            pitch = np.maximum(SMALLEST_PITCH, pitch) * level * np.sqrt(n)
            index[b, :n, lane] = chosen
            inverse_pitch[b, :n, lane] = np.minimum(LARGEST, np.rint(SCALE / pitch))
            offset[b, :n, lane] = rng.integers(0, FRACTION, n)
    salt = rng.integers(0, 2**32, (total, LANES)).astype(np.float64)
    multipliers = (rng.integers(0, 2**15, (2, WIDEST)) * 2 + 1).astype(np.float64)
    parts = (size, used, indexed, salt, multipliers, index, inverse_pitch, offset)
    for part in parts:
        part.setflags(write=False)
    return Grids(*parts)
