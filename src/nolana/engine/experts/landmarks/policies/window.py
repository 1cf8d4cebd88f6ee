"""A window of landmarks: a row that is new replaces the oldest.

For a row x:

    moved = (k(x,x) - k_x.P k_x > tol k(x,x))
    if moved:  q the oldest landmark:  u_q <- x , N_q <- 1 , placed_q <- rows
    tol <- max(0.02, tol exp(0.1 (moved - rate)))

so that a share `rate` of the rows is taken if so many are new, and fewer if the landmarks explain the rows. While
places are free, rows that are new become landmarks and replace none.
"""

import math

import numpy as np

from nolana.engine.base.bounds import Share
from nolana.engine.base.state import Field, Size
from nolana.engine.experts.landmarks.policies.policy import Array, Policy, Proposal, Situation

LEAST_TOLERANCE = 0.02
GAIN = 0.1


class Window(Policy):
    """rate: the share of rows that replace a landmark, at most; a landmark stays for m/rate rows.

    With 0.05 these are 20 m rows, the memory of the other policies that track drift.
    """

    label = "window"
    needs_novelty = True

    def __init__(self, novelty: Share, rate: Share = 0.05) -> None:
        super().__init__(novelty)
        self._rate = rate
        self.clear()

    def clear(self) -> None:
        self.placed: Array = np.zeros(0)
        self.tolerance = LEAST_TOLERANCE

    def fields(self, landmarks: Size) -> list[Field]:
        return [
            Field(self, "placed", (landmarks,), whole=True, low=0.0),
            Field(self, "tolerance", low=LEAST_TOLERANCE),
        ]

    def grown(self, counts: Array, rows: int) -> None:
        self.placed = np.append(self.placed, float(rows))

    def decide(self, row: Situation) -> Proposal | None:
        moved = row.novelty > self.tolerance * row.self_value
        self.tolerance = max(LEAST_TOLERANCE, self.tolerance * math.exp(GAIN * (moved - self._rate)))
        if not moved:
            return None
        q = int(np.argmin(self.placed))
        self.placed[q] = row.rows
        return Proposal(q, row.x, 1.0)
