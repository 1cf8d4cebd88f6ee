"""Grids and sketches as nolana 0.2 drew them, with `numpy.random.Generator(PCG64(seed))`.

Its model files hold the seed alone. NumPy promises to keep the bits of PCG64, but not what a Generator makes of them:
so that is written down here, as it was in NumPy 1.26 to 2.4. What was drawn becomes the argument `drawn` of the map and
is in the file from the next save on. Such a map is drawn again like this too, so that a model of 0.2 continues as it
would have.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.bins.grids import (
    COARSEST,
    FRACTION,
    LANES,
    LARGEST,
    MULTIPLIERS,
    RATIO,
    RELEVANT,
    SCALE,
    SMALLEST_PITCH,
    bundles_of,
    entry_of,
    length_of,
)
from nolana.engine.experts.neighbours.neighbour_map import WIDEST, NeighbourMap
from nolana.modelfile.specs import Spec

Array = NDArray[np.float64]


class Generator:
    """The methods of `numpy.random.Generator` that 0.2 used; halves of 64 bits are taken one after the other."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)
        self._upper: int | None = None

    def _half(self) -> int:
        if self._upper is None:
            word = int(self._bits.random_raw())
            self._upper = word >> 32
            return word & 0xFFFFFFFF
        word, self._upper = self._upper, None
        return word

    def _below(self, n: int) -> int:  # Lemire's method
        if n == 1:
            return 0
        product = self._half() * n
        while product & 0xFFFFFFFF < (1 << 32) % n:
            product = self._half() * n
        return product >> 32

    def integers(self, n: int, count: int) -> Array:
        """Uniform in [0, n)."""
        return np.array([self._below(n) for _ in range(count)], dtype=np.float64)

    def random(self, count: int) -> Array:
        """Uniform in [0, 1)."""
        return np.asarray((self._bits.random_raw(count) >> np.uint64(11)) * 2.0**-53)

    def permutation(self, n: int) -> Array:
        """Of 0 to n - 1."""
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            mask, j = (1 << i.bit_length()) - 1, i + 1
            while j > i:
                j = self._half() & mask
            order[i], order[j] = order[j], order[i]
        return np.array(order, dtype=np.float64)

    def choice(self, shares: Array, count: int) -> Array:
        """Indices with these probabilities."""
        sums = shares.cumsum()
        return np.searchsorted(sums / sums[-1], self.random(count), side="right").astype(np.float64)


def grids(features: int, grids: int, seed: int, relevance: Array | None) -> Array:
    """The list of integers (see `nolana.engine.experts.bins.grids`)."""
    rng, bundles = Generator(seed), bundles_of(features, grids)
    shares = None if relevance is None else relevance / relevance.sum()
    start = MULTIPLIERS + LANES * len(bundles)
    drawn = np.zeros(length_of(bundles))
    lanes = [
        (bundle.half, bundle.first + lane * bundle.stride, lane, bundle)
        for bundle in bundles
        for lane in range(bundle.used)
    ]
    for half, i, lane, bundle in sorted(lanes, key=lambda each: each[:2]):
        n = bundle.size
        chosen = rng.integers(features, n) if half else rng.permutation(features)[:n]
        if half and shares is not None:
            relevant = rng.random(n) < RELEVANT
            chosen = np.where(relevant, rng.choice(shares, n), chosen)
        level = COARSEST * RATIO ** (i / max(1, bundle.count - 1))
        pitch = -np.log((1 - rng.random(n)) * (1 - rng.random(n))) / 2
        pitch = np.maximum(SMALLEST_PITCH, pitch) * level * np.sqrt(n)
        inverse = np.minimum(LARGEST, np.rint(SCALE / pitch))
        entries = drawn[start + bundle.entry :][: n * LANES].reshape(n, LANES)
        entries[:, lane] = entry_of(chosen, inverse, rng.integers(FRACTION, n))
    drawn[MULTIPLIERS:start] = rng.integers(2**32, LANES * len(bundles))
    drawn[:MULTIPLIERS] = rng.integers(2**15, MULTIPLIERS) * 2 + 1
    return drawn


def sketch(features: int, seed: int) -> Array | None:
    """Of a NeighbourMap; None for rows that are stored as they are."""
    if features <= WIDEST:
        return None
    rng = Generator(seed)
    places = rng.permutation(features) % WIDEST + 1
    return np.where(rng.integers(2, features) > 0, places, -places)


DRAWN: dict[Any, Callable[[Any], Array | None]] = {
    BinMap: lambda a: grids(a["features"], a["grids"], a["seed"], a.get("relevance")),
    NeighbourMap: lambda a: sketch(a["features"], a.get("seed", 0)),
}


def drawn_as_0_2(map: Spec) -> Spec:
    """The map with what 0.2 drew for its arguments."""
    return replace(map, arguments={**map.arguments, "drawn": DRAWN[map.kind](map.arguments)})


def drawn_again(map: Spec) -> Spec:
    """The map after a change of its arguments: one that 0.2 drew is drawn again by 0.2, all others by their seed."""
    return map if map.arguments.get("drawn") is None else drawn_as_0_2(map)


def upgraded(spec: Spec) -> Spec:
    """The spec of a learner that was read from a file; maps of 0.2 have no argument `drawn`."""
    maps = spec.arguments.get("maps", [])
    drawn = [drawn_as_0_2(m) if m.kind in DRAWN and "drawn" not in m.arguments else m for m in maps]
    return replace(spec, arguments={**spec.arguments, "maps": drawn}) if maps else spec
