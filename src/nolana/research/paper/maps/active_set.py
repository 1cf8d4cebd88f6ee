"""Active-set Nyström: landmarks are rows that Pegasos needs, those inside the margin.

Pegasos takes one pass over the rows in the Nyström map of m rows drawn at random. With step 1/(lambda t), scores
f = W phi(x) of all classes before row t, and s the best class but y:

    row t is active  if  f_y - f_s < 1          (regression: |y - f| > 0.1, y standardised)
    W <- (1 - 1/t) W ;  if active:  W_y += phi/(lambda t) , W_s -= phi/(lambda t)      (regression: +-phi/(lambda t))

The landmarks of the map are m draws of the active rows, and of the other rows if there are fewer. This is the one
map that uses labels. The paper cites the idea without a formula; drawing the landmarks is the reading chosen here.

Shalev-Shwartz, Singer, Srebro, "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM", ICML 2007 (its active set A+).
"""

import numpy as np
from numpy.typing import NDArray

from nolana.research.paper.maps import Array, Maker
from nolana.research.paper.maps.nystroem import Nystroem

LAMBDA = 1e-3
INSENSITIVE = 0.1  # standard deviations of the target
MOST_CLASSES = 30  # of labels; a target with more values is scalar


def active_classes(phi: Array, y: NDArray[np.intp]) -> NDArray[np.bool_]:  # (n, r), (n,) -> (n,)
    """Which rows are inside the margin of multi-class Pegasos when they arrive; y counts from 0."""
    weights = np.zeros((int(y.max()) + 1, phi.shape[1]))
    active = np.zeros(len(y), dtype=bool)
    for t, (row, label) in enumerate(zip(phi, y, strict=True), 1):
        scores = weights @ row
        own, scores[label] = scores[label], -np.inf
        best = int(scores.argmax())
        active[t - 1] = own - scores[best] < 1
        weights *= 1 - 1 / t
        if active[t - 1]:
            weights[label] += row / (LAMBDA * t)
            weights[best] -= row / (LAMBDA * t)
    return active


def active_targets(phi: Array, y: Array) -> NDArray[np.bool_]:  # (n, r), (n,) -> (n,)
    """Which rows are outside the tube of epsilon-insensitive Pegasos when they arrive."""
    weights = np.zeros(phi.shape[1])
    active = np.zeros(len(y), dtype=bool)
    for t, (row, target) in enumerate(zip(phi, y, strict=True), 1):
        off = target - weights @ row
        active[t - 1] = abs(off) > INSENSITIVE
        weights *= 1 - 1 / t
        if active[t - 1]:
            weights += np.sign(off) * row / (LAMBDA * t)
    return active


class ActiveSet(Maker):
    """Landmarks are drawn from the active rows."""

    @property
    def targets(self) -> Array:
        """Standardised."""
        y = np.asarray(self.y, dtype=np.float64)
        return np.asarray((y - y.mean()) / y.std())

    def active(self, m: int, rank: int, seed: int) -> NDArray[np.bool_]:
        """The rows that are active in the pass of Pegasos."""
        drawn = np.random.default_rng(seed).permutation(len(self.rows))[:m]
        phi = Nystroem(self.rows[drawn], rank, self.gamma).features(self.rows)
        values, classes = np.unique(np.asarray(self.y), return_inverse=True)
        return active_classes(phi, classes) if len(values) <= MOST_CLASSES else active_targets(phi, self.targets)

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        order = np.random.default_rng([seed, 1]).permutation(len(self.rows))
        active = self.active(m, rank, seed)[order]
        chosen = np.concatenate([order[active], order[~active]])[:m]
        return Nystroem(self.rows[chosen], rank, self.gamma)
