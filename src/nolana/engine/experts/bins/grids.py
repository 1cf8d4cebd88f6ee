"""Random grids over the features, drawn from a seed; the same as core/experts/bins/grids.hpp, bit for bit.

Half of the grids take all features, or 64 random ones where there are more; the others take 2, 4, 8, ... features at
random. If rows have categories, a quarter of the grids take all, the others 1 to 4. The pitch of a grid in feature j
is

    max(0.05, -ln(u1 u2)/2) L sqrt(features of the grid)

(the Gamma(2) pitches of random binning) at levels L from 4 to 1/2, its offset uniform. `relevance` (d,) makes 90 % of
the features in the smaller grids come up in proportion to it.

All is in fixed point: inverse pitches in steps of 1/2048 (at most 16), offsets in steps of 1/64. Grids come in bundles
of at most 16 with the same number of features, so that one instruction works on a whole bundle.

What is drawn is one list of integers: 2 x 64 multipliers, 16 salts for each bundle, and for each bundle an entry for
each place j and lane, (feature 2^15 + inverse pitch) 2^6 + offset; 0 in lanes without a grid. Number p of the list is
made of the words draw(seed, 4p + k), k = 0, 1, 2. A file must be read alike everywhere and for ever, so there are only
integers and operations that IEEE 754 rounds exactly (+, -, *, /, sqrt): no logarithm or power of a library.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.draw import draws, shuffle

Array = NDArray[np.float64]

LANES = 16  # grids of a bundle
WIDEST = 64  # features of a grid
COARSEST, RATIO = 4.0, 1 / 8  # levels of the pitches
SMALLEST_PITCH = 0.05
RELEVANT = 0.9  # share of the features in smaller grids drawn by their relevance
SCALE = 2048.0  # steps in a unit of z, and of an inverse pitch
FRACTION = 64  # steps of an offset
LARGEST = 32767.0
MULTIPLIERS = 2 * WIDEST
MOST_MIXED = 4  # features of the smaller grids if rows have categories
LN2 = 0.6931471805599453
UNIT = 2.0**-53


@dataclass(frozen=True)
class Bundle:
    """Grids with the same number of features.

    Lane l has grid first + l stride of the `count` grids of its half, if there is one. `entry` is where its entries
    begin; `names`: whether its grids name their features, else place j is feature j.
    """

    size: int  # features of a grid
    first: int
    stride: int
    count: int
    entry: int
    half: int  # 0: all features
    names: bool

    @property
    def used(self) -> int:  # lanes
        return -(-(self.count - self.first) // self.stride)


def bundles_of(features: int, grids: int, mixed: bool = False) -> list[Bundle]:
    """How the grids are bundled; mixed: rows have categories."""
    width = min(features, WIDEST)
    sizes = list(range(1, min(MOST_MIXED, width) + 1)) if mixed else [2**i for i in range(1, 7) if 2**i < width]
    sizes = sizes or [width]
    bundles: list[Bundle] = []
    entry = 0
    whole = max(1, grids // 4) if mixed else -(-grids // 2)
    for half, count in enumerate((whole, grids - whole)):
        stride = -(-count // LANES)
        for b in range(stride):
            size = sizes[round(b * (len(sizes) - 1) / max(1, stride - 1))] if half else width
            bundles.append(Bundle(size, b, stride, count, entry, half, half == 1 or features > WIDEST))
            entry += size * LANES
    return bundles


def length_of(bundles: list[Bundle]) -> int:
    """How many integers are drawn."""
    return MULTIPLIERS + LANES * len(bundles) + sum(bundle.size * LANES for bundle in bundles)


def entry_of(feature: Array, inverse_pitch: Array, offset: Array) -> Array:
    """The entries of the list; all are below 2^53."""
    return np.asarray((feature * (LARGEST + 1) + inverse_pitch) * FRACTION + offset)


def draw_grids(features: int, grids: int, seed: int, relevance: Array | None = None, mixed: bool = False) -> Array:
    """The list of integers, in float64."""
    bundles = bundles_of(features, grids, mixed)
    words = draws(seed, np.arange(4 * length_of(bundles), dtype=np.uint64)).reshape(-1, 4)
    drawn = np.zeros(len(words))
    drawn[:MULTIPLIERS] = (words[:MULTIPLIERS, 0] >> np.uint64(48)) | np.uint64(1)
    start = MULTIPLIERS + LANES * len(bundles)
    drawn[MULTIPLIERS:start] = words[MULTIPLIERS:start, 0] >> np.uint64(32)
    chances = cumulative_chances(features, relevance)
    order = np.arange(features)
    for bundle in bundles:
        n, used = bundle.size, bundle.used
        own = slice(start + bundle.entry, start + bundle.entry + n * LANES)
        one, two, three = (words[own, k].reshape(n, LANES)[:, :used] for k in range(3))
        if bundle.half:
            u = (three >> np.uint64(11)) * UNIT
            feature = np.minimum(features - 1, np.searchsorted(chances, u * chances[-1], side="right"))
        elif bundle.names:
            feature = np.array([shuffle(order, three[:, lane]).copy() for lane in range(used)]).T
        else:
            feature = np.arange(n)[:, None]
        levels = [level(bundle.first + lane * bundle.stride, bundle.count) for lane in range(used)]
        pitch = minus_log(above_zero(one) * above_zero(two)) / 2
        pitch = np.maximum(SMALLEST_PITCH, pitch) * np.array(levels) * math.sqrt(n)
        inverse = np.minimum(LARGEST, np.rint(SCALE / pitch))
        offset = (one & np.uint64(FRACTION - 1)).astype(np.float64)
        drawn[own].reshape(n, LANES)[:, :used] = entry_of(feature.astype(np.float64), inverse, offset)
    return drawn


def cumulative_chances(features: int, relevance: Array | None) -> Array:
    """Running sums of the chances of the features in the smaller grids; their total is only about 1."""
    if relevance is None:
        return np.arange(1.0, features + 1)
    return np.cumsum(relevance * (RELEVANT / np.cumsum(relevance)[-1]) + (1 - RELEVANT) / features)


def above_zero(words: NDArray[np.uint64]) -> Array:
    """Uniform in (0, 1], from the upper 53 bits."""
    return np.asarray(((words >> np.uint64(11)) + np.uint64(1)) * UNIT)


def minus_log(u: Array) -> Array:
    """-ln u to 1e-8, for u in (0, 1]: u = m 2^e, ln m = 2 atanh s by its series, s = (m - 1)/(m + 1)."""
    m, e = np.frexp(u)
    s = (m - 1) / (m + 1)
    series = np.zeros_like(s)
    for k in (13, 11, 9, 7, 5, 3):
        series = (series + 1 / k) * (s * s)
    return np.asarray(-(2 * s * (series + 1) + e * LN2))


def level(i: int, count: int) -> float:
    """COARSEST RATIO^(i/(count - 1)), the exponent in steps of 2^-16, each bit of it by a repeated square root."""
    exponent, factor, result = (i << 16) // max(1, count - 1), RATIO, COARSEST
    for bit in range(16, -1, -1):
        if exponent >> bit & 1:
            result *= factor
        factor = math.sqrt(factor)
    return result


@dataclass(frozen=True)
class Grids:
    """The list taken apart; entry (b, j, lane) is the j-th feature of a grid, for j below the bundle's size."""

    bundles: list[Bundle]
    multipliers: NDArray[np.int64]  # (2, 64)
    salt: NDArray[np.int64]  # (B, 16)
    index: list[NDArray[np.int64]]  # of each bundle (size, 16), and so
    inverse_pitch: list[NDArray[np.int64]]
    offset: list[NDArray[np.int64]]

    @classmethod
    def of(cls, features: int, grids: int, drawn: Array, mixed: bool = False) -> "Grids":
        """ValueError if the list is not one of such grids."""
        bundles = bundles_of(features, grids, mixed)
        start = MULTIPLIERS + LANES * len(bundles)
        largest = (np.arange(length_of(bundles)) >= start) * entry_of(*np.array([features, 0.0, 0.0]))
        largest[:start], largest[:MULTIPLIERS] = 2.0**32, 2.0**16
        if len(drawn) != len(largest) or not ((drawn >= 0) & (drawn < largest) & (drawn == np.floor(drawn))).all():
            raise ValueError(f"drawn is not the list of {grids} grids over {features} features")
        numbers = drawn.astype(np.int64)
        entries = [numbers[start + b.entry : start + b.entry + b.size * LANES].reshape(b.size, LANES) for b in bundles]
        return cls(
            bundles,
            numbers[:MULTIPLIERS].reshape(2, WIDEST),
            numbers[MULTIPLIERS:start].reshape(-1, LANES),
            [each >> 21 for each in entries],
            [each >> 6 & 0x7FFF for each in entries],
            [each & 0x3F for each in entries],
        )
