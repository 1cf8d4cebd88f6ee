"""Randomized Budget Perceptron: when the budget is used up, a random support vector makes room.

    on a mistake: if full, delete a uniformly random one of the old support vectors; add (x, y)

The new vector is never the victim. Several classes: (x, e_y - e_s), see perceptron.py. The draw is a hash of
(seed, rows learned).

Cavallanti, Cesa-Bianchi, Gentile, "Tracking the best hyperplane with a simple budget Perceptron", Machine Learning,
2007.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Seed
from nolana.engine.base.draw import draw_below
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.rivals.perceptron import Perceptron

Array = NDArray[np.float64]


class RBP(Perceptron):
    """supports (n, d), weights (c, n), ages (n), arrivals (1), n <= budget."""

    def __init__(self, features: Count, budget: Count, kernel: Kernel, seed: Seed) -> None:
        super().__init__(features, budget, kernel)
        self.seed = seed

    def mistake(self, x: Array, direction: Array) -> None:
        if self.size == self.budget:
            self.remove(draw_below(self.seed, self.rows, self.budget))
        self.add(x, direction)
