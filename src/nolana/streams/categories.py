"""Categories as numbers of constant width: by signed hashing, or one slot for each of the first ones seen.

Hashing: K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask
learning, ICML 2009. A text goes to slot h mod s with the sign of another bit of h.
"""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Category", "Hashed", "OneHot"]

MIXER = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads what a checksum leaves in a line
REMEMBERED = 4096  # texts whose place is kept; a bound on memory, not on what can be encoded


class Hashed:
    """A text is +1 or -1 in one of ``slots`` places, by its checksum: nothing is learned."""

    def __init__(self, slots: int) -> None:
        self.width = slots
        self.names = [str(i) for i in range(slots)]
        self._places: dict[str, tuple[int, float]] = {}

    def encode(self, texts: list[str | None], out: NDArray[np.float64]) -> None:
        """Writes each text into its row of out (n, width); None leaves zeros."""
        for row, text in enumerate(texts):
            if text is not None:
                slot, sign = self._places.get(text) or self._place(text)
                out[row, slot] = sign

    def _place(self, text: str) -> tuple[int, float]:
        mixed = zlib.crc32(text.encode()) * MIXER % 2**64
        place = (mixed >> 32) % self.width, 1.0 if mixed >> 31 & 1 else -1.0
        if len(self._places) < REMEMBERED:
            self._places[text] = place
        return place

    def state(self) -> Any:
        """Nothing: the places follow from the texts."""
        return None

    def restore(self, state: Any) -> None:
        """Nothing to take."""


class OneHot:
    """A text is 1 in a place of its own, given in order of appearance; when all are given, in the last place."""

    def __init__(self, largest: int, frozen: bool) -> None:
        self.width = largest + 1
        self.names = [*(str(i) for i in range(largest)), "other"]
        self._frozen = frozen
        self._places: dict[str, int] = {}

    def encode(self, texts: list[str | None], out: NDArray[np.float64]) -> None:
        """Writes each text into its row of out (n, width); None leaves zeros."""
        places, other = self._places, self.width - 1
        for row, text in enumerate(texts):
            if text is None:
                continue
            place = places.get(text, other)
            if place == other and len(places) < other and not self._frozen:
                places[text] = place = len(places)
            out[row, place] = 1.0

    def state(self) -> Any:
        """The texts in the order of their places."""
        return list(self._places)

    def restore(self, state: Any) -> None:
        """Takes what ``state`` gave."""
        self._places = {str(text): place for place, text in enumerate(state)}


Category = Hashed | OneHot
