"""Density-weighted online k-means: the step of a landmark depends on how many rows it stands for.

N_j is the number of recent rows whose nearest landmark is u_j: every row counts, near or far, and counts decay, so that
they add up to about M = memory m rows. For a row x with nearest landmark q:

    N_j <- N_j M/(M + 1)  for all j
    if |x - u_q|^2 >= epsilon:  u_q <- u_q + step (x - u_q) ,  step = max(1/(N_q + 1), 0.01)
    N_q <- N_q + 1

A landmark in a dense region stands for many rows and resists the few that are far. One that has lost its rows (N_q near
0) jumps to the next far row that it is nearest to. A landmark with the average share of the rows has N_q = memory, with
the default a step of 1/21. The least step is for landmarks with more than five times the average share, and lets them
track drift for ever.

The decay costs one product for each row: N_j = unit counts_j, only `unit` decays, and the row adds 1/unit.

The future work of Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
"""

import numpy as np

from nolana.engine.base.bounds import RowsPerLandmark, Share
from nolana.engine.base.state import POSITIVE, Field, Size
from nolana.engine.experts.landmarks.policies.policy import Array, Policy, Proposal, Situation

LEAST_STEP = 0.01
LEAST_UNIT = 2.0**-64  # below it the unit goes into the counts, which would overflow otherwise


class Weighted(Policy):
    """memory: rows that the counts remember, for each landmark in use.

    At a step of 1/21 the variance of a landmark around the mean of its rows is step/(2 - step), 2.4 % of theirs.
    """

    label = "weighted"

    def __init__(self, novelty: Share, memory: RowsPerLandmark = 20.0) -> None:
        super().__init__(novelty)
        self._memory = memory
        self.clear()

    def clear(self) -> None:
        self.unit = 1.0

    def fields(self, landmarks: Size) -> list[Field]:
        return [Field(self, "unit", name="count_unit", low=POSITIVE)]

    def grown(self, counts: Array, rows: int) -> None:
        self._decay(counts)
        counts[-1] = 1 / self.unit

    def decide(self, row: Situation) -> Proposal | None:
        self._decay(row.counts)
        q = int(np.argmin(row.distances))
        before = row.counts[q]
        row.counts[q] = before + 1 / self.unit
        if not row.distances[q] >= row.threshold or row.threshold == np.inf:
            return None
        step = max(1 / (self.unit * before + 1), LEAST_STEP)
        u = row.landmarks[q]
        return Proposal(q, u + step * (row.x - u), row.counts[q])

    def _decay(self, counts: Array) -> None:
        rows = self._memory * len(counts)
        self.unit *= rows / (rows + 1)
        if self.unit < LEAST_UNIT:
            counts *= self.unit
            self.unit = 1.0
