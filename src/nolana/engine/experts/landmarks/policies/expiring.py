"""Online k-means that drops landmarks which are no longer used and places them anew.

For a row x with nearest landmark q, e the landmark that has not been nearest to any row for the longest time:

    last_q <- rows
    if |x - u_q|^2 >= epsilon:
        if rows - last_e > patience m:  u_e <- x , N_e <- 1 , last_e <- rows
        else:                           u_q <- (N_q u_q + x)/(N_q + 1) , N_q <- N_q + 1      as kmeans

The future work of Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
"""

import numpy as np

from nolana.engine.base.bounds import RowsPerLandmark, Share
from nolana.engine.base.state import Field, Size
from nolana.engine.experts.landmarks.policies.policy import Array, Policy, Proposal, Situation


class Expiring(Policy):
    """patience: rows without being nearest after which a landmark expires, for each landmark in use.

    With 20, a landmark that still has a fifth of the average share of the rows expires by chance with probability
    e^-4, one with the average share practically never.
    """

    label = "expiring"

    def __init__(self, novelty: Share, patience: RowsPerLandmark = 20.0) -> None:
        super().__init__(novelty)
        self._patience = patience
        self.clear()

    def clear(self) -> None:
        self.last_nearest: Array = np.zeros(0)

    def fields(self, landmarks: Size) -> list[Field]:
        return [Field(self, "last_nearest", (landmarks,), whole=True, low=0.0)]

    def grown(self, counts: Array, rows: int) -> None:
        self.last_nearest = np.append(self.last_nearest, float(rows))

    def decide(self, row: Situation) -> Proposal | None:
        q, last = int(np.argmin(row.distances)), self.last_nearest
        last[q] = row.rows
        if not row.distances[q] >= row.threshold or row.threshold == np.inf:
            return None
        e = int(np.argmin(last))
        if row.rows - last[e] > self._patience * len(last):
            last[e] = row.rows
            return Proposal(e, row.x, 1.0)
        count = row.counts[q]
        return Proposal(q, (count * row.landmarks[q] + row.x) / (count + 1), count + 1)
