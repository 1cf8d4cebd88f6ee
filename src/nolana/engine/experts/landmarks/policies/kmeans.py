"""Online k-means: q nearest to x; if |x - u_q|^2 >= epsilon: u_q <- (N_q u_q + x)/(N_q + 1), N_q += 1.

Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation", Algorithm 1.
"""

import numpy as np

from nolana.engine.experts.landmarks.policies.policy import Array, DistancePolicy, Proposal


class KMeans(DistancePolicy):
    """A row far from its nearest landmark moves it."""

    label = "kmeans"

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        q = int(np.argmin(distances))
        if not distances[q] >= threshold or threshold == np.inf:
            return None
        count = counts[q]
        return Proposal(q, (count * landmarks[q] + x) / (count + 1), count + 1)
