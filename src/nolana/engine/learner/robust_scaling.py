"""Robust online scaling: z = (x - m0) i0 with a logarithmic tail, from anchors taken from clipped running moments.

Row t (from 1), a = 1/n, n = min(t, 256) the rows that the moments average, e = x - mu, from n > 4 clipped at
+-6 max(sqrt v, 1/i0), three times that while n <= 16:

    mu += a e,   v += a ((1 - a) e^2 - v)

At t = 16, if v exceeds 1e4 times the variance without the most extreme value, the other 15 rows alone count.
Anchors m0 = mu, i0 = 1/sqrt v (0 for a constant feature) are set at t = 2, 4, 8, ..., 512 and then stay:

    q = (x - m0) i0,   z = metric q for |q| <= 1, else metric sgn(q) (1 + ln |q|), |z| <= 13 metric

The metric is 1 until the relevance of the features is known.

After 512 rows, every 64 rows, a feature has a new anchor

- at most twice: if the spread of z (over about 256 rows) fell below .05; a feature that was constant wakes up when
  more than half of the recent rows differ from it;
- if more than 3/4 of the recent rows (about 32) have |q| > 8: its unit or its level changed, and the logarithmic
  tail can no longer tell its values apart. The moments begin again when it is more than half of the rows, so that they
  are those of the new rows alone. If that happens to a feature again, 1/i0 is at least the way from the old centre to
  the new one: a counter, or a feature with several far levels, has few new anchors;
- if its steps |x_t - x_(t-1)| have another size, by a factor of 32: its unit changed, wherever the centre is.
  step and usual_step are running means of their binary exponents over about 32 and 1,024 rows (exact zeros say nothing,
  one step counts for at most 12 powers of two). A spread that falls is slow to see and hard to tell from a feature that
  moves slowly; the steps of such a feature were always small. The moments begin again at a factor of 16.

If the level is tracked elsewhere (targets), the second of these rules does not count, and the first takes the
spread max(sqrt(v), 2^step) i0, which does not depend on the level: usual_step tracks steps that shrink slowly.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Numbers
from nolana.engine.base.state import POSITIVE, Array, Field, Size, State, Stateful, count

MEMORY = 256  # rows that the running moments remember
CLIP = 6.0  # standard deviations
FIRST_ROWS = 16
OUTLIER = 1e4  # times the variance without it
LAST_ANCHOR = 512
CHECK_EVERY = 64
LATE_ANCHORS = 2  # for each feature
SMALLEST_SPREAD = 0.05
FAR, FAR_MEMORY = 8.0, 32  # |q| that no unit explains, rows
BEGINS_AGAIN, MOVED = 0.5, 0.75  # shares of far rows
FEWEST = 32  # rows for an anchor
LARGEST = 13.0  # |z|
OTHER_STEP, AGAIN_STEP = 5.0, 4.0  # powers of two
LARGEST_STEP = 12.0  # that one step counts for, beside the usual one
STEP_MEMORY, USUAL_MEMORY = 32, 1024  # rows
RESOLUTION = 1e-13  # of a value: a spread below it is rounding
OF_A_ROW = (  # what a value changes of its feature
    *("mean", "variance", "z_mean", "z_variance", "differs", "counted", "far", "previous", "step", "usual_step"),
    "stepped",
)


def unscaled(z: Array, anchors: State) -> Array:
    """Rows (n, d) in the units of the input, from z and a state of the scaling; a constant feature has its centre."""
    center, factor = anchors["center"], anchors["factor"]
    q = z / anchors["metric"]
    size = np.abs(q)
    q = np.where(size > 1, np.copysign(np.exp(np.minimum(size, LARGEST) - 1), q), q)
    return np.asarray(np.divide(q, factor, out=np.zeros_like(q), where=factor > 0) + center)


class RobustScaling(Stateful):
    """Moments (d,), anchors (d,) and the first rows; `observe` never changes an anchor, `anchor` does."""

    def __init__(
        self, features: Count, follows_level: bool = True, fixed: Numbers | None = None, keeps_first: bool = False
    ) -> None:
        self.features, self.follows_level = features, follows_level
        self.keeps_first = keeps_first  # rows before the first anchor stay as they are
        if fixed is not None and not ((fixed >= 0) & (fixed < features)).all():
            raise ValueError("fixed names a feature that does not exist")
        # Features that stay as they are, with centre 0 and factor 1.
        self.fixed: NDArray[np.bool_] = np.isin(np.arange(features), [] if fixed is None else fixed.astype(int))
        self.rows = 0
        zeros = np.zeros(features)
        self.mean, self.variance = zeros.copy(), zeros.copy()
        self.center, self.factor = zeros.copy(), self.fixed.astype(np.float64)  # m0 and i0
        self.z_mean, self.z_variance = zeros.copy(), zeros.copy()
        self.differs = zeros.copy()  # how often recent rows differ from a constant feature
        self.late = zeros.copy()  # anchors after the last regular one
        self.counted = zeros.copy()  # rows that the moments average
        self.far = zeros.copy()  # how often recent rows are far from the centre
        self.moved = zeros.copy()  # anchors because they were
        self.metric = np.ones(features)
        self.previous = zeros.copy()  # row
        self.step, self.usual_step = zeros.copy(), zeros.copy()
        self.stepped = zeros.copy()  # rows that they stand for
        self.first: Array = np.zeros((0, features))

    def apply(self, x: Array) -> Array:  # (n, d) -> (n, d)
        """z of rows, by the anchors in use."""
        if self.keeps_first and self.rows < 2:
            return x.copy()
        return self.metric * self.squash(x)

    def squash(self, x: Array) -> Array:
        q = (x - self.center) * self.factor
        size = np.abs(q)
        tail = np.minimum(1 + np.log(np.maximum(size, 1.0)), LARGEST)
        return np.where(np.isnan(x), 0.0, np.where(size > 1, np.copysign(tail, q), q))

    def advance(self, x: Array, weight: Array | None = None, late_anchors: bool = True) -> Array:
        """z (n, d) of rows (n, d), each observed before the next if its weight (n,) is positive.

        Late anchors are set on the way, or, without `late_anchors`, by the caller.
        """
        z = np.empty_like(x)
        for i, row in enumerate(x):
            z[i] = self.apply(row)
            if weight is None or weight[i] > 0:
                self.observe_row(row)
                if late_anchors and self.rows > LAST_ANCHOR and self.rows % CHECK_EVERY == 0:
                    self.anchor()
        return z

    def observe(self, x: Array) -> None:  # (n, d)
        """Rows that were learned."""
        for row in x:
            self.observe_row(row)

    def observe_row(self, x: Array) -> None:
        """A missing value changes nothing of its feature."""
        missing = np.isnan(x)
        before = {name: getattr(self, name) for name in OF_A_ROW} if missing.any() else {}
        self.observe_complete(np.where(missing, self.mean, x))
        for name, value in before.items():
            setattr(self, name, np.where(missing, value, getattr(self, name)))

    def observe_complete(self, x: Array) -> None:
        self.rows += 1
        self.count_far(x)
        self.count_steps(x)
        self.counted = np.minimum(self.counted + 1, MEMORY)
        t, n, a = self.rows, self.counted, 1 / self.counted
        e = x - self.mean
        deviation = np.sqrt(self.variance)
        anchored = np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor > 0)
        limit = np.where(n <= FIRST_ROWS, 3, 1) * CLIP * np.maximum(deviation, anchored)
        e = np.where((n > 4) & (limit > 0), np.clip(e, -limit, limit), e)
        self.mean = self.mean + a * e
        self.variance = self.variance + a * ((1 - a) * e * e - self.variance)
        off = self.squash(x) - self.z_mean
        self.z_mean = self.z_mean + off / MEMORY
        self.z_variance = self.z_variance + ((1 - 1 / MEMORY) * off * off - self.z_variance) / MEMORY
        self.differs = self.differs + ((x != self.center).astype(float) - self.differs) / MEMORY
        if t <= FIRST_ROWS:
            self.first = np.vstack([self.first, x])
        if t == FIRST_ROWS:
            self.drop_outliers()
            self.first = np.zeros((0, self.features))

    def count_far(self, x: Array) -> None:
        """The moments of a feature begin again when most of its recent rows are far."""
        before = self.far
        self.far = before + ((np.abs((x - self.center) * self.factor) > FAR) - before) / FAR_MEMORY
        again = (before <= BEGINS_AGAIN) & (self.far > BEGINS_AGAIN) & (self.rows > LAST_ANCHOR)
        self.begin_again(again)

    def count_steps(self, x: Array) -> None:
        """The size of the steps from row to row; the moments begin again when it is another one."""
        change, self.previous = x - self.previous, x.copy()
        counts = ((np.abs(change) >= np.finfo(float).tiny) & (self.rows > 1)).astype(float)
        size = np.frexp(change)[1] - 1.0
        reach = np.where(self.stepped > 0, LARGEST_STEP, 4096.0)
        off, before = np.clip(size - self.usual_step, -reach, reach), np.abs(self.step - self.usual_step)
        n = np.maximum(1.0, self.stepped + counts)
        self.step = self.step + counts * (self.usual_step + off - self.step) / np.minimum(n, STEP_MEMORY)
        self.usual_step = self.usual_step + counts * off / np.minimum(n, USUAL_MEMORY)
        self.stepped = np.minimum(self.stepped + counts, USUAL_MEMORY)
        again = (before <= AGAIN_STEP) & (np.abs(self.step - self.usual_step) > AGAIN_STEP) & (self.rows > LAST_ANCHOR)
        self.begin_again(again)

    def begin_again(self, again: NDArray[np.bool_]) -> None:
        """The moments of these features forget their rows."""
        self.mean, self.variance, self.counted = (
            np.where(again, 0.0, moment) for moment in (self.mean, self.variance, self.counted)
        )

    def drop_outliers(self) -> None:
        """One outlier among the first rows must not set the scale."""
        middle = self.first.mean(axis=0)
        worst = np.abs(self.first - middle).argmax(axis=0)
        for j, i in enumerate(worst):
            others = np.delete(self.first[:, j], i)
            variance = others.var()
            if variance > 0 and self.variance[j] > OUTLIER * variance:
                self.mean[j], self.variance[j] = others.mean(), variance

    @property
    def varies(self) -> NDArray[np.bool_]:  # (d,)
        """Whether the moments are those of a feature that is not constant."""
        return np.asarray(np.sqrt(self.variance) > RESOLUTION * np.abs(self.mean))

    @property
    def has_small_spread(self) -> NDArray[np.bool_]:  # (d,)
        """Of z, or, if the level is tracked elsewhere, of the moments: far from the centre the tail shrinks z."""
        if self.follows_level:
            return np.asarray(self.z_variance < SMALLEST_SPREAD**2)
        size = np.maximum(np.sqrt(self.variance), np.exp2(self.step))  # steps: a pause says nothing about the unit
        return np.asarray((self.counted >= FEWEST) & (size * self.factor < SMALLEST_SPREAD))

    def anchor(self) -> NDArray[np.bool_]:  # (d,)
        """Set the anchors that are due after this row; returns which features have a new one."""
        t = self.rows
        due = np.zeros(self.features, dtype=bool)
        if t < 2:
            return due
        if t <= LAST_ANCHOR:
            if t & (t - 1) == 0:
                due[:] = True
                self.set_anchors(~self.fixed)
            return due
        if t % CHECK_EVERY == 0:
            constant = self.factor == 0
            shrunk = ~constant & self.varies & self.has_small_spread
            due = (self.late < LATE_ANCHORS) & (shrunk | (constant & (self.differs > 0.5))) & ~self.fixed
            self.late = self.late + due
            settled = (self.counted >= FEWEST) & self.varies & ~self.fixed
            far = (self.far > MOVED) & settled & self.follows_level
            other = (np.abs(self.step - self.usual_step) > OTHER_STEP) & settled
            center, way = self.center.copy(), np.where(far & (self.moved > 0), np.abs(self.mean - self.center), 0.0)
            self.moved = self.moved + far
            due = due | far | other
            self.set_anchors(due)
            self.center = np.where(due & constant, center, self.center)  # its old value stays the centre
            self.factor = np.where(way * self.factor > 1, 1 / np.maximum(way, 1e-300), self.factor)
            return np.asarray(due)
        return due

    def set_anchors(self, due: NDArray[np.bool_]) -> None:
        deviation = np.sqrt(self.variance)
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=self.varies)
        self.center = np.where(due, self.mean, self.center)
        self.factor = np.where(due, factor, self.factor)
        self.usual_step = np.where(due, self.step, self.usual_step)
        self.differs = np.where(due, 0.0, self.differs)
        self.far = np.where(due, 0.0, self.far)
        self.z_mean = np.where(due, 0.0, self.z_mean)
        self.z_variance = np.where(due, 1.0, self.z_variance)

    def fields(self) -> list[Field]:
        moments, recent = ("mean", "variance", "center", "factor"), ("z_mean", "z_variance", "differs", "late")
        arrays = [Field(self, name, (self.features,)) for name in (*moments, *recent, "counted", "far", "moved")]
        arrays.append(Field(self, "metric", (self.features,), low=POSITIVE))
        arrays += [Field(self, name, (self.features,)) for name in ("previous", "step", "usual_step", "stepped")]
        return [count(self, "rows"), *arrays, Field(self, "first", (Size("first", FIRST_ROWS), self.features))]
