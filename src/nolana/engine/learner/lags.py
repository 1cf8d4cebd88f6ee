"""Lags: what is known of earlier targets when a row is scored.

With lag L the target of row t - L is the last one that is known when row t is learned; a row that is scored alone is
L rows after the last learned one. With y_1, y_2 the last two known targets, m their running mean over 8 rows and y_p
the target one season before the row, a row of numbers has four more columns, NaN if nothing is known:

    y_1,   y_1 - y_2,   y_1 - m,   y_p - y_1

The combiner is told q_1, what the experts did not explain of y_1 (`Combiner.know`); for classes, which have no columns,
the last label and whether it had been predicted.

A row whose target comes late is learned with its moment, if it has that behind its own features: the columns, y_1, q_1
and, for regression, the scores of the experts as they were when it was scored. So the combiner learns how good experts
are that do not know the rows in between. If q_1 is infinite, the row has none, and is learned as if it came now.

The columns of a single series are constant, the first target and 0, unless its targets persist: unless it has a season,
or their autocorrelation at lag L is beyond +-min(3, log2(N)/2)/sqrt(N). So rows in random order have no more noise than
without a lag.

Both are decided when so many targets are known as a power of two from 16 on, then whenever the ring of `rows` targets
is new; the first 16 rows have the columns. With d the N differences of targets next to each other, less their mean,

    r_p = N/(N - p) sum_t d_t d_(t-p) / sum_t d_t^2,   4 <= p <= N/2

p is a season if r_p is a local maximum above 5/sqrt(N - p): of noise the largest of a thousand is about 3.3. The
shortest p whose r_p is not below r_q - 3/sqrt(N - q) of any other q is chosen, a day rather than three of them; rows
use a multiple of it that is known, p' >= L.

With `slots` the targets are those of one of many series, which column `group` of the row names by a key: a hash table
in buckets of eight, in which the least recently learned series of a bucket gives its slot to a new one. Its numbers are
float32, less the first target of all; it has no seasons. h is the hash of the key:

    bucket = (h >> 32) (S/8) >> 32,   fingerprint = 1 + h mod (2^24 - 1)
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Index, Range
from nolana.engine.base.draw import below
from nolana.engine.base.state import Array, Field, Stateful, count
from nolana.engine.experts.effects.keys import column_hash

COLUMNS = 4
KNOWN = 2  # beside the columns: the last known target, and its error
MOST = 2048
MEAN_ROWS = 8.0
FIRST_CHOICE, SHORTEST = 16, 4  # rows
SIGNIFICANT, PERSISTENT, ALIKE = 5.0, 3.0, 3.0  # standard errors of an autocorrelation
WAYS = 8
FINGERPRINTS = (1 << 24) - 1

Lag = Annotated[int, Range(1, MOST)]
Slots = Annotated[int, Range(0, 2**31)]


class Known(NamedTuple):
    """The columns of a row, its last known target, and what is known of the error there; NaN: nothing."""

    columns: Array
    target: float
    error: float

    def moment(self, scores: Array) -> Array:
        """With the scores of the experts, as it stands behind the features of a row."""
        return np.concatenate([self.columns, [self.target, self.error], scores])


class Series:
    """The targets of one series, the last one first, and their errors; `mean` is that of targets known at lag L."""

    def __init__(self, lag: int, known: int, mean: float, targets: Array, errors: Array) -> None:
        self.lag, self.known, self.mean, self.targets, self.errors = lag, known, mean, targets, errors

    def look(self, learned: bool, season: int, classes: bool) -> Known:
        ahead = self.lag if learned else 1  # which of the targets is the last known one, from 1
        if self.known < ahead:
            return Known(np.full(0 if classes else COLUMNS, np.nan), np.nan, np.nan)
        last, error = float(self.targets[ahead - 1]), float(self.errors[ahead - 1])
        if classes:
            return Known(np.zeros(0), last, error)
        mean = self.mean
        for k in range(self.lag - 1, ahead - 1, -1):  # targets that only a row that is scored alone knows
            mean = self.averaged(mean, k)
        change = last - float(self.targets[ahead]) if self.known > ahead else 0.0
        before = -(-self.lag // season) * season - (self.lag - ahead) if season else 0
        seasonal = float(self.targets[before - 1]) - last if 0 < before <= self.known else 0.0
        return Known(np.array([last, change, last - mean, seasonal]), last, error)

    def averaged(self, mean: float, k: int) -> float:
        """The mean with the target of so many rows ago."""
        index = self.known - k
        return mean if index < 0 else mean + (float(self.targets[k - 1]) - mean) / min(index + 1.0, MEAN_ROWS)


class Lags(Stateful):
    """One series: known, mean, season, persists, targets (rows,), errors (L,), the last first; or a table."""

    def __init__(self, lag: Lag, rows: Count, classes: bool = False, slots: Slots = 0, group: Index = 0) -> None:
        if rows < 2 * lag:
            raise ValueError("the ring of targets is shorter than twice the lag")
        if slots % WAYS:
            raise ValueError("the table needs a multiple of eight slots")
        self.lag, self.rows, self.classes, self.slots, self.group = lag, rows, classes, slots, group
        self.known, self.mean, self.season, self.persists = 0, 0.0, 0, 1
        self.targets, self.errors = np.zeros(0 if slots else rows), np.zeros(0 if slots else lag)
        self.origin = 0.0
        self.fingerprints: NDArray[np.float32] = np.zeros(slots, dtype=np.float32)
        self.series: NDArray[np.float32] = np.zeros((slots, 2 * lag + 3), dtype=np.float32)

    @property
    def columns(self) -> int:
        return 0 if self.classes else COLUMNS

    def remembered(self, moment: Array) -> Known | None:
        """What was known at this moment; None: there is none."""
        c = self.columns
        if not len(moment) or np.isinf(moment[c + 1]):
            return None
        return Known(moment[:c], *moment[c : c + KNOWN].tolist())

    def look(self, x: Array, learned: bool) -> Known:
        """What is known when this row is scored."""
        if not self.slots:
            series = Series(self.lag, self.known, self.mean, self.targets, self.errors)
            found = series.look(learned, self.season, self.classes)
            if self.classes or self.persists or not self.known:
                return found
            return found._replace(columns=np.array([self.origin, 0.0, 0.0, 0.0]))
        own = self.find(self.key(x))
        if own is None:
            return Known(np.full(self.columns, np.nan), np.nan, np.nan)
        found = self.read(own).look(learned, 0, self.classes)
        if self.classes:
            return found
        columns = found.columns.copy()
        columns[0] += self.origin
        return Known(columns, found.target + self.origin, found.error + self.origin)

    def observe(self, x: Array, y: float, error: float) -> None:
        """A learned row: its target and its error."""
        if self.slots:
            self.observe_series(x, y, error)
            return
        self.targets[1:] = self.targets[:-1].copy()
        self.errors[1:] = self.errors[:-1].copy()
        self.targets[0], self.errors[0] = y, error
        self.origin = self.origin if self.known else y
        self.known += 1
        self.mean = Series(self.lag, self.known, self.mean, self.targets, self.errors).averaged(self.mean, self.lag)
        regular = self.known >= FIRST_CHOICE and self.known & (self.known - 1) == 0
        if not self.classes and (self.known % self.rows == 0 or (regular and self.known < self.rows)):
            in_order = self.targets[: self.known][::-1]
            self.season = season(in_order)
            self.persists = int(self.season > 0 or is_autocorrelated(in_order, self.lag))

    # The table: a slot has the number of known targets, the mean, L + 1 targets and L errors

    def key(self, x: Array) -> int:
        return column_hash(self.group, float(x[self.group]))

    def bucket(self, h: int) -> slice:
        first = below(h, self.slots // WAYS) * WAYS
        return slice(first, first + WAYS)

    def find(self, h: int) -> int | None:
        bucket = self.bucket(h)
        ways = np.flatnonzero(self.fingerprints[bucket] == 1 + h % FINGERPRINTS)
        return bucket.start + int(ways[0]) if len(ways) else None

    def read(self, slot: int) -> Series:
        own = self.series[slot].astype(np.float64)
        return Series(
            self.lag, int(own[0]) if own[0] >= 0 else 0, float(own[1]), own[2 : self.lag + 3], own[self.lag + 3 :]
        )

    def observe_series(self, x: Array, y: float, error: float) -> None:
        if not self.known and not self.classes:
            self.origin = y
        self.known += 1
        h = self.key(x)
        bucket, slot = self.bucket(h), self.find(h)
        own = np.zeros(2 * self.lag + 3, dtype=np.float32) if slot is None else self.series[slot].copy()
        last = bucket.stop - 1 if slot is None else slot
        # The series that was learned last is the first of its bucket.
        for values in (self.series, self.fingerprints):
            values[bucket.start + 1 : last + 1] = values[bucket.start : last].copy()
        targets, errors = own[2 : self.lag + 3], own[self.lag + 3 :]
        targets[1:], errors[1:] = targets[:-1].copy(), errors[:-1].copy()
        targets[0], errors[0] = y - self.origin, error - self.origin
        own[0] = min((float(own[0]) if own[0] >= 0 else 0.0) + 1, self.lag + MEAN_ROWS)
        series = Series(self.lag, int(own[0]), float(own[1]), targets.astype(np.float64), np.zeros(0))
        own[1] = series.averaged(series.mean, self.lag)
        self.series[bucket.start], self.fingerprints[bucket.start] = own, 1 + h % FINGERPRINTS

    def fields(self) -> list[Field]:
        if self.slots:
            fingerprints = Field(
                self, "fingerprints", (self.slots,), dtype=np.float32, whole=True, low=0.0, high=FINGERPRINTS
            )
            series = Field(self, "series", self.series.shape, dtype=np.float32)
            return [count(self, "known"), Field(self, "origin"), fingerprints, series]
        season = Field(self, "season", whole=True, low=0.0, high=self.rows // 2)
        persists = Field(self, "persists", whole=True, low=0.0, high=1.0)
        own = [count(self, "known"), Field(self, "origin"), Field(self, "mean"), season, persists]
        return [*own, Field(self, "targets", (self.rows,)), Field(self, "errors", (self.lag,))]


def is_autocorrelated(y: Array, lag: int) -> bool:
    """Whether targets in their order say something about those `lag` rows later."""
    n, d = len(y), y - y.mean()
    if n <= lag + 1 or not float(d @ d) > 0:
        return False
    r = n / (n - lag) * float(d[lag:] @ d[: n - lag]) / float(d @ d)
    errors = min(PERSISTENT, (n.bit_length() - 1) / 2)  # log2(n)/2
    return abs(r) > errors / math.sqrt(n - lag)


def season(y: Array) -> int:
    """The season of targets in their order; 0 if there is none."""
    d = y[1:] - y[:-1]
    d = d - d.mean()
    n, squares = len(d), float(d @ d)
    if not squares > 0:
        return 0
    longest = n // 2
    r = np.array([n / (n - p) * float(d[p:] @ d[: n - p]) / squares for p in range(SHORTEST - 1, longest + 2)])
    found = [
        p
        for p in range(SHORTEST, longest + 1)
        if (own := r[p - SHORTEST + 1]) > SIGNIFICANT / math.sqrt(n - p)
        and own >= r[p - SHORTEST]
        and own >= r[p - SHORTEST + 2]
    ]
    best = max((r[p - SHORTEST + 1] - ALIKE / math.sqrt(n - p) for p in found), default=0.0)
    return next((p for p in found if r[p - SHORTEST + 1] >= best), 0)
