"""The level that the targets have now, outside of all experts, and the range of the last 1,000 targets.

Experts learn y - level and clip their residuals, so a level that jumps is what they cannot learn. The level tracks
what was cut off, e = r - clip(r), as far as it persists: as far as the last e would have predicted the next one.

    K = max(0, 1 - (sum (e_s - e_(s-1))^2 / sum e_s^2 + 2 q)/(1 + q)),   q = (64/n)^2
    level += K e,   and the sums begin again: evidence counts once; undone if the next row fits the level before better

The sums are over the last n rows, 225 to 256 of them. With q = 0, K is the R2 of the last e as a prediction of e; q
stands for white noise in the place of rows that are not there yet. One outlier adds twice as much to the upper sum
as to the lower one, and so K = 0: it takes a second one beside it, and no other in the last 256 rows. A jump is
tracked by half after its second row, and nearly all of it after the third.

Predictions stay within [low - (high - low), high + (high - low)], with low and high those of the last 876 to 1,000
targets: a prediction is sane, whatever the experts say. Both windows are 8 blocks, of 32 and of 125 rows.
"""

import numpy as np

from nolana.engine.base.state import Array, Field

BLOCKS = 8
LEVEL_ROWS, RANGE_ROWS = 32, 125  # of a block
PRIOR = 64.0  # rows
LARGEST = 1e100  # |e|


class TargetLevel:
    """level; level_squares, level_steps, range_lows and range_highs (blocks,)."""

    def __init__(self) -> None:
        self.level, self.rows, self.last, self.trial = 0.0, 0, 0.0, 0.0
        self.squares, self.steps = np.zeros(BLOCKS), np.zeros(BLOCKS)
        self.lows, self.highs = np.zeros(BLOCKS), np.zeros(BLOCKS)  # 0, the centre, is within the first targets

    def bounded(self, f: float) -> float:
        """f within one range of the last targets."""
        used = min(BLOCKS, self.rows // RANGE_ROWS + 1)
        low, high = float(self.lows[:used].min()), float(self.highs[:used].max())
        reach = high - low
        return min(high + reach, max(low - reach, f))

    def observe_row(self, y: float, residual: float, excess: float) -> float:
        """A target, its residual and what was cut off from it; returns what the level has changed by."""
        back = abs(residual + self.trial) < abs(residual)
        t, r = self.rows, 0.0 if back else min(LARGEST, max(-LARGEST, excess))
        own, seen = t // LEVEL_ROWS % BLOCKS, t // RANGE_ROWS % BLOCKS
        if t % LEVEL_ROWS == 0:
            self.squares[own] = self.steps[own] = 0.0
        start = 0.0 if back else self.last
        self.steps[own] += (r - start) * (r - start)
        self.squares[own] += r * r
        if t > 0 and t % RANGE_ROWS == 0:
            self.lows[seen] = self.highs[seen] = y
        self.lows[seen], self.highs[seen] = min(self.lows[seen], y), max(self.highs[seen], y)
        self.rows += 1
        k = self.gain(min(t + 1, (BLOCKS - 1) * LEVEL_ROWS + t % LEVEL_ROWS + 1))
        change = -self.trial if back else k * r
        self.level += change
        self.last, self.trial = (1 - k) * r, k * r
        if k > 0:
            self.squares[:] = self.steps[:] = 0.0
        return change

    def gain(self, rows: int) -> float:
        """K, from so many rows."""
        squares, steps = gathered(self.squares), gathered(self.steps)
        if not squares > 0:
            return 0.0
        share = PRIOR / rows
        white = share * share
        return max(0.0, 1 - (steps / squares + 2 * white) / (1 + white))

    def fields(self) -> list[Field]:
        blocks = (BLOCKS,)
        return [
            Field(self, "level"),
            Field(self, "rows", name="level_rows", whole=True, low=0.0),
            Field(self, "last", name="last_excess"),
            Field(self, "trial"),
            Field(self, "squares", blocks, name="level_squares", low=0.0),
            Field(self, "steps", blocks, name="level_steps", low=0.0),
            Field(self, "lows", blocks, name="range_lows"),
            Field(self, "highs", blocks, name="range_highs"),
        ]


def gathered(sums: Array) -> float:
    """Of all blocks, in their order."""
    return float(sum(sums.tolist()))
