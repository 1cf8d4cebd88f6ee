"""Categories as numbers of constant width: by signed hashing, or one slot for each of the first ones seen.

Hashing: K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask
learning, ICML 2009. A text goes to slot h mod s with the sign of another bit of h.

One-hot: a column with k different strings in the first block has k + k // 4 + 1 slots, at most ``max_categories``, and
one more that all later strings share.
"""

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Category", "Hashed", "OneHot", "infer_slots"]

MIXER = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads checksums that differ little
CACHED = 4096  # texts whose slot is cached; a bound on memory, not on what can be encoded
FEWEST_ROWS = 200  # a category of 1 % of the rows is absent from this many with probability 0.13
SPARE = 4  # one spare slot for this many categories, and one more: a file in time order begins with few of them


class Hashed:
    """A text is +1 or -1 in one of ``slots`` places, by its checksum; there is no state."""

    def __init__(self, slots: int) -> None:
        self.width = slots
        self.names = [str(i) for i in range(slots)]
        self._cache: dict[str, tuple[int, float]] = {}

    def encode(self, texts: list[str | None], out: NDArray[np.float64]) -> list[int]:
        """Writes each text into its row of out (n, width), None leaves zeros; returns the rows without a slot: none."""
        for row, text in enumerate(texts):
            if text is not None:
                slot, sign = self._cache.get(text) or self._slot(text)
                out[row, slot] = sign
        return []

    def _slot(self, text: str) -> tuple[int, float]:
        mixed = zlib.crc32(text.encode()) * MIXER % 2**64
        slot = (mixed >> 32) % self.width, 1.0 if mixed >> 31 & 1 else -1.0
        if len(self._cache) < CACHED:
            self._cache[text] = slot
        return slot

    def state(self) -> Any:
        """None: slots follow from the texts."""
        return None

    def restore(self, state: Any) -> None:
        """Does nothing: there is no state."""


def infer_slots(texts: Iterable[str | None], largest: int) -> int | None:
    """The slots of a one-hot column with these values in the first block; None: too few rows to tell.

    Examples
    --------
    >>> infer_slots(["yes", "no"] * 100, 32), infer_slots(map(str, range(500)), 32), infer_slots(["yes", "no"], 32)
    (3, 32, None)
    """
    values = list(texts)
    seen = len(set(values) - {None})
    return min(seen + seen // SPARE + 1, largest) if len(values) >= FEWEST_ROWS else None


class OneHot:
    """A text is 1 in its own slot, assigned in order of appearance; later texts share the last slot."""

    def __init__(self, largest: int, frozen: bool) -> None:
        self.width = largest + 1
        self.names = [*(str(i) for i in range(largest)), "other"]
        self._frozen = frozen
        self._slots: dict[str, int] = {}

    def encode(self, texts: list[str | None], out: NDArray[np.float64]) -> list[int]:
        """The same; the rows whose text shares the last slot are returned."""
        without: list[int] = []
        slots, other = self._slots, self.width - 1
        for row, text in enumerate(texts):
            if text is None:
                continue
            slot = slots.get(text, other)
            if slot == other and len(slots) < other and not self._frozen:
                slots[text] = slot = len(slots)
            if slot == other:
                without.append(row)
            out[row, slot] = 1.0
        return without

    def state(self) -> Any:
        """The texts in the order of their slots."""
        return list(self._slots)

    def restore(self, state: Any) -> None:
        self._slots = {str(text): slot for slot, text in enumerate(state)}


Category = Hashed | OneHot
