"""A landmark policy: which rows become landmarks, and which landmark a row moves or replaces."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Share
from nolana.engine.base.state import Field, Size

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Proposal:
    """Landmark ``q`` moves to ``place`` and counts ``count`` points from now on."""

    q: int
    place: Array
    count: float


@dataclass(frozen=True)
class Situation:
    """What a policy decides by: the row that was just learned, and the landmarks."""

    x: Array  # (d,)
    distances: Array  # (m,), squared
    landmarks: Array  # (m, d)
    counts: Array  # (m,); a policy may change them
    threshold: float  # the paper's epsilon
    rows: int  # learned, with this one
    self_value: float  # k(x, x)
    novelty: float  # k(x,x) - k_x.P k_x, the part that the landmarks do not explain; NaN if the policy does not need it


class Policy(ABC):
    """A rule with its own state, if it needs one. `label` is its name for users."""

    label: ClassVar[str | None] = None
    needs_novelty: ClassVar[bool] = False

    def __init__(self, novelty: Share) -> None:
        self._novelty = novelty

    def novelty(self, rows: int, capacity: int) -> float:
        """How new a row must be to become a landmark, as a share of k(x, x).

        If places are still free after m rows, less and less is enough.
        """
        return self._novelty * min(1.0, capacity / rows)

    @abstractmethod
    def decide(self, row: Situation) -> Proposal | None:
        """The move that a row causes, if any; called for every row that did not become a landmark."""

    def grown(self, counts: Array, rows: int) -> None:
        """Row number `rows` became the last landmark."""

    def clear(self) -> None:
        """Forget what was learned."""

    def fields(self, landmarks: Size) -> list[Field]:
        """The policy's own state. An array has one entry for each landmark, 0 for initial landmarks."""
        return []


class DistancePolicy(Policy):
    """A policy without a state, which decides by distances, counts and the threshold alone."""

    @abstractmethod
    def propose(
        self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float
    ) -> Proposal | None:  # (d,), (m,), (m, d), (m,)
        """The move that row x causes, if any; distances are squared."""

    def decide(self, row: Situation) -> Proposal | None:
        return self.propose(row.x, row.distances, row.landmarks, row.counts, row.threshold)
