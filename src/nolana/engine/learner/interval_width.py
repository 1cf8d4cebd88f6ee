"""Half-widths of prediction intervals: q sqrt(V) s^.8, V a running mean of squares, q tuned by the misses.

s is the scale of a row's residual (`residual_scale`), 1 without `by_row`. Row t (from 1) has the residual r:

    |r| > q sqrt(V) s^.8 is a miss of the level of q                                        (`conformal`)
    V += a (min(u^2, 10 max(V, 1e-6)) - V),  u = r/s^.8,  a = max(1/256, 3/(t + 3)),  V >= 1e-12, V = 1 at first

q begins at the quantile of the normal distribution and stays within a factor of 100 of it: residuals that are all zero
must not end at q = 0. Reasons, from simulations and measurements:

- 3/(t + 3) gives recent rows more weight than old ones while residuals fall because the model learns. With 1/(t + 1)
  intervals of 90 % covered 93 % of the first 500 rows if residuals fall as 1/sqrt(t); now 90.3 %.
- Rows of the smallest scale are the cheapest to cover: at equal coverage intervals in proportion to s are wider on
  average than those in proportion to s^.8, and rows with large errors are still covered (docs/decisions/0060).
"""

import math

import numpy as np

from nolana.engine.base.bounds import Numbers
from nolana.engine.base.state import Array, Field, Stateful, count
from nolana.engine.learner.conformal import ConformalThresholds
from nolana.engine.learner.residual_scale import ResidualScale, inputs

MEMORY = 256  # rows
CLIP = 10.0  # squared residual, times V
SMALLEST_CLIPPED = 1e-6  # V that a clipped residual is compared with at least
SMALLEST_VARIANCE = 1e-12
LARGEST_CHANGE = 100.0  # of q against its start
POWER = 0.8  # of the scale


class IntervalWidth(Stateful):
    """V, and q for each of the increasing levels (l,), the last at least .9; residuals of the scaled target.

    by_row: the width depends on the row, by its score and by the spread of the experts' scores.
    """

    def __init__(self, levels: Numbers, by_row: bool = False) -> None:
        self.rows = 0
        self.tracked = ConformalThresholds(levels, LARGEST_CHANGE, normal_quantile)
        self.variance = 1.0  # V
        self.scale = ResidualScale() if by_row else None

    def observe(
        self, residuals: Array, level: int = -1, scores: Array | None = None, spreads: Array | None = None
    ) -> Array:  # (n,) -> (n,)
        """1 for each residual outside the interval of levels[level], else 0; scores and spreads of rows are 0 if None.

        A drift alarm needs the level .9: at .99 it misses many changes of the scale, also by a factor of ten.
        """
        if not -len(self.tracked.alpha) <= level < len(self.tracked.alpha):
            raise ValueError("level is not an index of levels")
        place, none = level % len(self.tracked.alpha), np.zeros(len(residuals))
        rows = zip(residuals, none if scores is None else scores, none if spreads is None else spreads, strict=True)
        return np.array([self.observe_row(float(r), place, float(f), float(d)) for r, f, d in rows], dtype=np.float64)

    def observe_row(self, residual: float, level: int, score: float = 0.0, spread: float = 0.0) -> float:
        self.rows += 1
        if not math.isfinite(residual):
            return 1.0  # a diverged model says nothing about the width
        gain, own = max(1 / MEMORY, 3 / (self.rows + 3)), residual / self.row_scale(score, spread)
        result = self.tracked.observe(abs(own), math.sqrt(self.variance), self.rows, level)
        square = min(own * own, CLIP * max(self.variance, SMALLEST_CLIPPED))
        self.variance = max(SMALLEST_VARIANCE, self.variance + gain * (square - self.variance))
        if self.scale is not None:
            self.scale.observe_row(residual, score, spread)
        return result

    def row_scale(self, score: float, spread: float) -> float:
        """s^.8."""
        return 1.0 if self.scale is None else math.exp(POWER * self.scale.log_scale(inputs(score, spread)))

    def rescale(self, factor: float) -> None:
        """The unit of the target changes: residuals are `factor` times what they were."""
        self.variance = max(SMALLEST_VARIANCE, self.variance * factor * factor)
        if self.scale is not None:
            self.scale.rescale(factor)

    def half_width(self, level: float, score: float = 0.0, spread: float = 0.0) -> float:
        """Half-width of the interval that covers this share of rows, 0 < level < 1."""
        return self.tracked.at(level) * math.sqrt(self.variance) * self.row_scale(score, spread)

    def fields(self) -> list[Field]:
        variance = Field(self, "variance", low=0.0)
        scale = [] if self.scale is None else self.scale.fields()
        return [count(self, "rows"), variance, self.tracked.field(), *scale]


def normal_quantile(alpha: float) -> float:
    """q with P(|z| > q) = alpha for a normal z, by bisection."""
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        if math.erfc(middle / math.sqrt(2.0)) > alpha:
            low = middle
        else:
            high = middle
    return high
