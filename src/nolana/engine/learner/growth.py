"""Features that grow without bound: row numbers, counters, times.

The next value of such a feature lies outside of all that was learned, so distances that include it are large to every
landmark. Of each feature, with steps s between consecutive rows, in units of 1/i0 of the scaling:

    u, d  steps up and down, both halved every 512 rows
    j     steps beyond a unit: those up less those down

Row t = 128, 256, 512, then every 64 rows, with w = 1 if u >= d, else -1:

    growing = min(u, d) <= .01 max(u, d)  and  w j >= 0  and (max(u, d) >= 10 or it was growing before)

One outlier is a step beyond a unit and a step back, which cancel in j. A feature that starts again (the second of the
day) makes one large step back without the other, so it is released then. If all features grow, none counts as
growing: something must be learned from.
"""

import numpy as np

from nolana.engine.base.bounds import Count
from nolana.engine.base.state import Array, Field, Stateful, count

FIRST_CHECK, LAST_DOUBLING, CHECK_EVERY = 128, 512, 64
HALVED_EVERY = 512
BACK = 0.01  # of the steps
FEWEST_STEPS = 10


class GrowthWatch(Stateful):
    """The last row (d,), counted steps (d,), and which features grow (d,), as 0 and 1."""

    def __init__(self, features: Count) -> None:
        self.features = features
        self.rows = 0
        self.last, self.up, self.down, self.jumps, self.growing = (np.zeros(features) for _ in range(5))

    def observe(self, x: Array, weight: Array | None, factor: Array) -> None:  # (n, d), (n,), (d,)
        """Rows of positive weight; factor: i0, 0 for a constant feature."""
        for i, row in enumerate(x):
            if weight is not None and not weight[i] > 0:
                continue
            if self.rows > 0:
                step = row - self.last
                size = step * factor
                self.up = self.up + (step > 0)
                self.down = self.down + (step < 0)
                self.jumps = self.jumps + (size > 1) - (size < -1)
            self.last = row.copy()
            self.rows += 1

    def check(self) -> bool:
        """Whether other features grow than before; to be called after the rows that are named above."""
        t = self.rows
        doubling = FIRST_CHECK <= t <= LAST_DOUBLING and t & (t - 1) == 0
        if not doubling and not (t > LAST_DOUBLING and t % CHECK_EVERY == 0):
            return False
        before = self.growing
        most, fewest = np.maximum(self.up, self.down), np.minimum(self.up, self.down)
        forward = np.where(self.up >= self.down, self.jumps, -self.jumps)
        grows = (fewest <= BACK * most) & (forward >= 0) & ((most >= FEWEST_STEPS) | (before > 0))
        self.growing = np.where(grows.all(), 0.0, grows.astype(float))
        if t % HALVED_EVERY == 0:
            self.up, self.down = self.up / 2, self.down / 2
        return not np.array_equal(before, self.growing)

    def fields(self) -> list[Field]:
        counts = [Field(self, name, (self.features,), low=0.0) for name in ("up", "down")]
        shares = Field(self, "growing", (self.features,), low=0.0, high=1.0)
        plain = [Field(self, name, (self.features,)) for name in ("last", "jumps")]
        return [count(self, "rows"), *counts, *plain, shares]
