"""Label sets: all classes of a probability of at least exp(-q), and the most probable one.

The score of a learned row is 0 if its class y was the most probable one, otherwise s = -ln p_y, at least ln 2; p are
the probabilities softmax(f) before the row was learned (-f, f for one output). q tracks the quantiles of s
(`conformal`), from -ln alpha, within a factor of 10 of it.

Of all sets that hold the most probable class and cover the truth as often, these are the smallest on average (Sadinle,
Lei, Wasserman, "Least ambiguous set-valued classifiers with bounded error levels", JASA 2019, have the same without
that class, and empty sets). If the most probable class alone is right more often than the level asks for, q falls below
ln 2 and the sets have one label. How far it may fall is what it saves up meanwhile: with a lower bound sets would grow
too late when the stream drifts, with a higher one they would be too large after each run of errors.
"""

import math

import numpy as np

from nolana.engine.base.bounds import Numbers
from nolana.engine.base.state import Array, Field, Stateful, count
from nolana.engine.learner.conformal import ConformalThresholds

LARGEST_CHANGE = 10.0  # of q against its start


class LabelSets(Stateful):
    """q for each of the increasing levels (l,), the last at least .9; scores are log-odds."""

    def __init__(self, levels: Numbers) -> None:
        self.rows = 0
        self.tracked = ConformalThresholds(levels, LARGEST_CHANGE, lambda alpha: -math.log(alpha))

    def observe(self, scores: Array, targets: Array, level: int = -1) -> Array:  # (n, c), (n, c) -> (n,)
        """1 for each row whose class is not in the set of levels[level], else 0; targets are 1 for the class."""
        if not -len(self.tracked.alpha) <= level < len(self.tracked.alpha):
            raise ValueError("level is not an index of levels")
        place = level % len(self.tracked.alpha)
        return np.array([self.observe_row(f, y, place) for f, y in zip(scores, targets, strict=True)], dtype=np.float64)

    def observe_row(self, f: Array, y: Array, level: int) -> float:
        self.rows += 1
        if not np.isfinite(f).all():
            return 1.0  # a diverged model says nothing about probabilities
        if len(f) == 1:
            z, own = np.array([-f[0], f[0]]), int(y[0] > 0)
        else:
            z, own = f, int(np.argmax(y))
        best = int(f[0] > 0) if len(f) == 1 else int(np.argmax(f))
        score = 0.0 if own == best else float(math.log(np.exp(z - z[best]).sum()) + z[best] - z[own])
        return self.tracked.observe(score, 1.0, self.rows, level)

    def threshold(self, level: float) -> float:
        """q of a level, 0 < level < 1: classes of at least the probability exp(-q) are in the set."""
        return self.tracked.at(level)

    def fields(self) -> list[Field]:
        return [count(self, "rows"), self.tracked.field()]
