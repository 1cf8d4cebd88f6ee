"""Effects of categories: a weight for each value of a column, learned jointly with a linear part on the numbers.

Value k of column j has weights w_k (c,) and the variance s_k v_j: v_j is the prior variance of the column.

    f = b + u.z + sum over open j of w_kj,   V = s_b + sum s_i z_i^2 + sum over open j of s_kj v_j
    delta and h of an implicit step,   e = h/(1 + h V)
    w_k += s_k v_j delta,   s_k <- max(floor, s_k - s_k^2 v_j e)

in int16 with stochastic rounding, as the bins. The floor of the shares is the forgetting.

The prior variance of a column is what its effects explain. From before the step, with o the residual in units of the
scores (two classes: (t - p)/(p (1 - p))) plus w_k if j is open, and a = w_k/(1 - s_k), the effect without its
shrinkage, which knows nothing of the row:

    v_j = mean of o a,   each row by 1 - s_k, over at most 3,000 rows, in [.003, 2] from 200 on

Pairs of columns: at row 512 the four columns that explain most give six pairs. A pair that is not open learns alone on
the residual and adds nothing; it opens for good at row 2,048, 8,192 or 32,768 if the lower bound of what it explains,
three standard errors below the mean, is above .01. Those still closed at the last gate are dropped.

`encode` is what the other maps see in place of a category: its effect before the row, w_k/sqrt(v_j). With three classes
or more there is no such number; they see a random one that belongs to the value.

With several outputs a row's o a is the mean over them.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import NonNegative, Positive
from nolana.engine.base.state import OUTPUTS, Field
from nolana.engine.experts.bins.bin_table import draws
from nolana.engine.experts.effects.effect_map import NONE, PAIRS, SHARE_STEPS, Active, EffectMap
from nolana.engine.experts.head import Head, unseen
from nolana.engine.experts.implicit import class_step, number_step, softmax
from nolana.engine.experts.map import Array, Event, Map
from nolana.engine.learner.losses import CurvedLoss, sigmoid
from nolana.engine.learner.residual_variance import Noise

WEIGHT_STEPS = 8192.0  # of the weight 1
LARGEST = np.float32(32767)  # of a weight, in steps
KNOWN = 0.999  # share from which a slot has learned nothing
MOST_JUDGED, FEWEST_JUDGED = 3000.0, 200.0
PRIORS = 0.003, 2.0
LARGEST_RESIDUAL, LARGEST_WANTED, LARGEST_FOUND = 3.0, 6.0, 4.0
LEAST_CURVATURE, LEAST_KNOWN = 0.005, 0.05
PAIRS_CHOSEN, COLUMNS_OF_PAIRS = 512, 4
GATES = 2048, 8192, 32768
FEWEST_OF_A_PAIR, GAIN_OF_A_PAIR = 100.0, 0.01
CODE_WIDTH = 3.4641016151377544  # sqrt 12: random codes have variance 1


class Effects(Head):
    """effects (S, c) in steps, linear (c, d + 1); for each column and pair prior, explained, squares and observed."""

    map: EffectMap
    encodes = True

    def __init__(
        self, loss: CurvedLoss, variance: Positive, linear: NonNegative, floor: NonNegative, frozen: bool = False
    ) -> None:
        super().__init__(loss)
        self.start, self.linear_start, self.frozen = variance, linear, frozen
        self.floor = np.float32(max(1.0, np.rint(floor * float(SHARE_STEPS))))
        self.judging = True
        self.effects: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def attach(self, map: Map) -> None:
        if not isinstance(map, EffectMap):
            raise ValueError("this head learns on the slots of categories")
        self.map = map

    @property
    def outputs(self) -> int:
        return int(self.effects.shape[1])

    def clear(self, outputs: int) -> None:
        d = self.map.features
        self.effects = np.zeros((self.map.side, outputs), dtype=np.float32)
        self.linear: Array = np.zeros((outputs, d + 1))
        self.linear_variances: Array = np.full(d + 1, self.linear_start)
        self.prior: Array = np.full(d + PAIRS, self.start)
        self.explained, self.squares, self.observed = (np.zeros(d + PAIRS) for _ in range(3))

    def append_output(self, rows: int) -> None:
        self.effects = np.pad(self.effects, ((0, 0), (0, 1)))
        self.linear = np.pad(self.linear, ((0, 1), (0, 0)))
        self.linear[-1, -1] = unseen(rows)

    def follow(self, event: Event) -> None:
        """Slots are found again for each row."""

    def encode(self, raw: Array) -> Array:  # (d,) -> (d,)
        encoded = raw.copy()
        for each in self.map.active:
            if each.column >= self.map.features or not self.map.is_category[each.column]:
                continue
            if self.outputs > 1:
                encoded[each.column] = ((each.hash >> 11) * 2.0**-53 - 0.5) * CODE_WIDTH
            elif each.slot == NONE:
                encoded[each.column] = 0.0
            else:
                encoded[each.column] = self.effect(each)[0] / np.sqrt(self.prior[each.column])
        return encoded

    def has_unknown(self) -> bool:
        return any(each.slot == NONE and each.column < self.map.features for each in self.map.active)

    def effect(self, each: Active) -> Array:  # (c,)
        return np.asarray(self.effects[each.slot] / WEIGHT_STEPS, dtype=np.float64)

    def share(self, each: Active) -> float:
        return float(self.map.shares[each.slot]) / float(SHARE_STEPS)

    @property
    def dense(self) -> Array:  # (d + 1,)
        """The numbers of the row, and 1."""
        return np.append(np.where(self.map.is_category, 0.0, self.map.phi), 1.0)

    def known(self) -> list[tuple[int, Active]]:
        """The values of the row that have a slot, with their places among all."""
        return [(i, each) for i, each in enumerate(self.map.active) if each.slot != NONE]

    def scores(self) -> Array:
        f = self.linear @ self.dense
        for _, each in self.known():
            if self.map.is_open(each.column):
                f = f + self.effect(each)
        return np.asarray(f)

    def step(self, f: Array, v: float, y: Array, weight: float, noise: Noise) -> tuple[Array, float]:
        """delta (c,) and e."""
        step = number_step(f, v, y, weight, noise) if self.loss.linear else class_step(f, v, y, weight)
        return step[0], step[1] / (1 + step[1] * v)

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        if not self.frozen:
            self.follow_pairs(step)
        self.effects[self.map.claim()] = 0.0
        z = self.dense
        v = float(self.linear_variances @ (z * z))
        v += sum(
            self.share(each) * self.prior[each.column] for _, each in self.known() if self.map.is_open(each.column)
        )
        delta, e = self.step(f, v, y, weight, noise)
        residuals, u = self.working_residuals(y, f), draws(step, len(self.map.active))
        for i, each in self.known():
            prior, is_open = float(self.prior[each.column]), self.map.is_open(each.column)
            if self.judging and not self.frozen:
                self.judge(each, residuals, is_open)
            if is_open:
                self.change(each.slot, prior, delta, e, u[i])
            else:
                alone = self.step(f + self.effect(each), self.share(each) * prior, y, weight, noise)
                self.change(each.slot, prior, *alone, u[i])
        pull = self.linear_variances * z
        self.linear = self.linear + np.outer(delta, pull)
        self.linear_variances = self.linear_variances - pull * pull * e

    def change(self, slot: int, prior: float, delta: Array, e: float, u: np.float32) -> None:
        s = self.map.shares[slot]
        by = (prior * delta * (WEIGHT_STEPS / float(SHARE_STEPS))).astype(np.float32)
        self.effects[slot] = np.clip(self.effects[slot] + np.floor(s * by + u), -LARGEST, LARGEST)
        curvature = np.float32(prior * e / float(SHARE_STEPS))
        self.map.shares[slot] = max(self.floor, s + np.floor(s * -(s * curvature) + u))

    def working_residuals(self, y: Array, f: Array) -> Array:  # (c,)
        """What a value alone would have to add to the scores."""
        if self.loss.linear:
            return np.asarray(np.clip(y - f, -LARGEST_RESIDUAL, LARGEST_RESIDUAL))
        p = np.array([sigmoid(float(f[0]))]) if len(f) == 1 else softmax(f)
        return np.asarray(((y > 0) - p) / np.maximum(p * (1 - p), LEAST_CURVATURE))

    def judge(self, each: Active, residuals: Array, is_open: bool) -> None:
        """How much of the residuals the effects of a column explain."""
        s, w, j = self.share(each), self.effect(each), each.column
        if s >= KNOWN:
            return
        wanted = np.clip(residuals + w * is_open, -LARGEST_WANTED, LARGEST_WANTED)
        found = np.clip(w / max(1 - s, LEAST_KNOWN), -LARGEST_FOUND, LARGEST_FOUND)
        mean = float((wanted * found).sum()) / len(w)
        n = self.observed[j] = min(MOST_JUDGED, self.observed[j] + (1 - s))
        self.explained[j] += (mean - self.explained[j]) * (1 - s) / n
        self.squares[j] += (mean * mean - self.squares[j]) * (1 - s) / n
        if n > FEWEST_JUDGED:
            self.prior[j] = min(PRIORS[1], max(PRIORS[0], self.explained[j]))

    def follow_pairs(self, step: int) -> None:
        if step == PAIRS_CHOSEN:
            columns = sorted(np.flatnonzero(self.map.is_category).tolist(), key=lambda j: -self.explained[j])
            chosen = columns[:COLUMNS_OF_PAIRS]
            pairs = [(a, b) for i, a in enumerate(chosen) for b in chosen[i + 1 :]]
            self.map.pairs[: 2 * len(pairs)] = np.array(pairs, dtype=np.float64).ravel()
        if step not in GATES:
            return
        for p in range(PAIRS):
            j = self.map.features + p
            if not self.map.has_pair(p) or self.map.is_open(j):
                continue
            n, q = self.observed[j], self.explained[j]
            error = np.sqrt(max(0.0, self.squares[j] - q * q) / max(n, 1.0))
            if n > FEWEST_OF_A_PAIR and q - 3 * error > GAIN_OF_A_PAIR:
                self.map.open[p] = 1.0
            elif step == GATES[-1]:
                self.map.pairs[2 * p : 2 * p + 2] = -1.0

    def fields(self) -> list[Field]:
        d, largest = self.map.features, float(LARGEST)
        return [
            Field(self, "effects", (self.map.side, OUTPUTS), dtype=np.float32, whole=True, low=-largest, high=largest),
            Field(self, "linear", (OUTPUTS, d + 1)),
            Field(self, "linear_variances", (d + 1,), low=0.0),
            Field(self, "prior", (d + PAIRS,), low=0.0),
            Field(self, "explained", (d + PAIRS,)),
            Field(self, "squares", (d + PAIRS,), low=0.0),
            Field(self, "observed", (d + PAIRS,), low=0.0),
        ]
