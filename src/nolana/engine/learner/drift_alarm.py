"""A drift alarm: CUSUM on the 0/1 error against the error rate of the past.

s errors in c rows, from s = 1, c = 4; at most c = 3,000 (older rows are forgotten exponentially). For each row:

    r = s/c,  p0 = max(.05, r + 2 sqrt(r (1 - r)/c))
    while c > 200:  S = max(0, S + error ln 3 - ln(1 + 2 p0)),  alarm if S > 14
    s += error,  c += 1

After an alarm S, s and c start anew. The increment of S is the log-likelihood ratio of the error under three times the
odds of p0 against p0. Reasons for the constants, from simulations of 20 million rows each:

- Alternative: three times the odds stay below 1 for every p0. A fixed p1 = min(.97, p0 + max(.1, p0/2)) is below p0
  if p0 > .97, and then reports an error that falls.
- 2 standard deviations above the rate: with 200 rows and a rate of .3, an estimate that is too low by as much puts the
  true rate halfway between p0 and p1.
- p0 at least .05: a model with one error in 1,000 rows does not report two errors in a short time.
- 14: at most .05 false alarms in a million rows of independent errors at any rate. A threshold of 9 gave 2 to 20.
  Autocorrelated errors (lag 1: .3) give at most 13 in a million.

A swap of two labels is found after 14 rows (rate .001), 18 (.1), 27 (.2), 50 (.3) on average. A rate that rises slowly
is not found.

Page, "Continuous inspection schemes", Biometrika 41, 1954.
"""

import math

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Array, Field, Stateful, count

ODDS = 3.0  # of the alternative, times those of p0
THRESHOLD = 14.0
FIRST_ROWS = 200
MEMORY = 3000  # rows
SMALLEST_RATE = 0.05
DEVIATIONS = 2.0


class DriftAlarm(Stateful):
    """Errors s, rows c and the sum S."""

    def __init__(self) -> None:
        self.rows = 0
        self.start()

    def start(self) -> None:
        """Forget the past."""
        self.errors, self.seen, self.excess = 1.0, 4.0, 0.0  # s, c, S

    def observe(self, errors: Array) -> NDArray[np.int64]:  # (n,) of 0 and 1 -> (alarms,)
        """Places in `errors` at which an alarm was raised."""
        return np.array([i for i, error in enumerate(errors) if self.observe_row(float(error))], dtype=np.int64)

    def observe_row(self, error: float) -> bool:
        """Whether this row raised an alarm."""
        self.rows += 1
        if self.seen > FIRST_ROWS:
            rate = min(1.0, self.errors / self.seen)  # a restored state may have any values
            expected = max(SMALLEST_RATE, rate + DEVIATIONS * math.sqrt(rate * (1 - rate) / self.seen))
            self.excess = max(0.0, self.excess + error * math.log(ODDS) - math.log(1 + (ODDS - 1) * expected))
            if self.excess > THRESHOLD:
                self.start()
                return True
        self.errors += error
        self.seen += 1
        if self.seen > MEMORY:
            self.errors *= MEMORY / self.seen
            self.seen = float(MEMORY)
        return False

    def fields(self) -> list[Field]:
        return [count(self, "rows"), *(Field(self, name, low=0.0) for name in ("errors", "seen", "excess"))]
