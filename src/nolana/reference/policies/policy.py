"""A landmark policy: which rows become landmarks, and which landmark a row moves or replaces."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.reference.bounds import Share
from nolana.reference.state import Field, Size

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Proposal:
    """Landmark ``q`` moves to ``place`` and counts ``count`` points from now on."""

    q: int
    place: Array
    count: float


class Policy(ABC):
    """A rule with its own state, if it needs one. `label` is its name for users."""

    label: ClassVar[str | None] = None

    def __init__(self, novelty: Share) -> None:
        self._novelty = novelty

    def novelty(self, rows: int, capacity: int) -> float:
        """How new a row must be to become a landmark, as a share of k(x, x).

        Where places are still free after m rows, less and less is enough.
        """
        return self._novelty * min(1.0, capacity / rows)

    @abstractmethod
    def propose(
        self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float
    ) -> Proposal | None:  # (d,), (m,), (m, d), (m,)
        """The move that row x causes, if any; distances are squared."""

    def fields(self, landmarks: Size) -> list[Field]:
        """The policy's own state."""
        return []
