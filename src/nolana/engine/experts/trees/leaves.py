"""Heads on the leaves of trees: `DiagonalLeaves` converges (second order, diagonal), `ConstantLeaves` tracks drift.

DiagonalLeaves: a leaf has a variance s and c weights; delta and h of an implicit step.

    f = sum of weights,  v = sum of s;   weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v))

ConstantLeaves: weights += gain delta, v = gain times the trees that are grown. Both in int16 with stochastic rounding,
as bins (`bin_table`).

Backfitting (Friedman, Stuetzle, 1981, Projection pursuit regression): with each of the stored rows are its target, its
weight u and its score F from before it was learned. Tree q is grown again on what the others leave:

    F <- F - w_q(x)
    regression     g = u clip((y - F)/sqrt(nu), 4),  h = u,  l = nu
    two classes    g = u (t - p),  h = u max(.001, p (1 - p)),  l = 1
    more classes   signs r_k = +-1 drawn for this tree, m = sum p_k r_k:  g = u (r_y - m),  h = u max(.001, 1 - m^2)
    leaves         w = .3 G/(H + 1/s_0),  s = 1/(H + 1/s_0),  G and H the sums of the gradients of the loss in the leaf
                   (more classes: t_k - p_k, and half of sum p_k (1 - p_k));  fast weights 0
    F <- F + w_q(x)

A tree w that has taken the place of v was on trial: if, over the n rows stored since, with F that has w,

    sum e_i > 2 sqrt(sum e_i^2),   e_i = u_i (loss(F_i) - loss(F_i - w(x_i) + v(x_i)))

v comes back: its leaves were learned from many more rows, and what was grown from few rows alone is kept only as long
as it is not clearly worse. The loss is that of the classes, or half the square of the residual, cut as in g, over nu.

Rows that the trees predict well teach little. A row of gradient a (classes: 1 - p of its own one; regression:
|y - f|/(2 sqrt(nu))) is stored with probability q = min(1, max(1/10, 2a)) and then has 1/q times its weight: the stored
rows reach further back at the same size (Ke et al., "LightGBM", NIPS 2017: gradient-based one-side sampling).
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import NonNegative, Positive
from nolana.engine.base.draw import draw, draws
from nolana.engine.base.state import OUTPUTS, Field, Size
from nolana.engine.experts.bins.bin_table import VARIANCE_STEPS, WEIGHT_STEPS, Halves, add_steps, shrink
from nolana.engine.experts.bins.bin_table import draws as rounding_draws
from nolana.engine.experts.head import Head, unseen
from nolana.engine.experts.implicit import class_step, number_step, softmax
from nolana.engine.experts.map import Array, Event, Map
from nolana.engine.experts.neighbours.vote import LARGEST_TARGET
from nolana.engine.experts.trees.tree_map import GRADIENT_STEPS, Integers, TreeMap
from nolana.engine.learner.losses import CurvedLoss, sigmoid
from nolana.engine.learner.residual_variance import Noise

SCORE_STEPS = 1024.0  # of stored scores and weights of rows
LARGEST = 32767  # of a stored score or gradient, in steps
FOLD = 8  # steps of a leaf's weight in one of a stored score
SHRINKAGE = 0.3
LEAST_SHARE = 0.1  # of the rows that are predicted well
CLIP = 4.0  # standard deviations of a residual
CLEARLY = 2.0  # standard errors by which the tree before must have been better to come back
LEAST_CURVATURE = 1e-3
FIRST_SIGN = 1 << 32  # draws of the signs of classes begin here, those of features end before


def rounded(steps: Array | Integers) -> Halves:
    """The nearest int16, in a symmetric range."""
    return np.clip(np.rint(steps), -LARGEST, LARGEST).astype(np.int16)


class LeafHead(Head):
    """What both share: leaves (trees x leaves, c) are the weights, in steps of 1/8192."""

    map: TreeMap
    loss: CurvedLoss

    def attach(self, map: Map) -> None:
        if not isinstance(map, TreeMap):
            raise ValueError("this head learns on leaves, and the map has no trees")
        if not map.heads and not isinstance(self, DiagonalLeaves):
            raise ValueError("the first head on trees is one with variances")
        self.map = map
        map.heads.append(self)

    @property
    def outputs(self) -> int:
        return int(self.leaves.shape[1])

    def clear(self, outputs: int) -> None:
        self.leaves: Halves = np.zeros((self.map.side, outputs), dtype=np.int16)

    def append_output(self, rows: int) -> None:
        """A new class: the trees share its low log-odds."""
        self.leaves = np.pad(self.leaves, ((0, 0), (0, 1)))
        if self.map.grown:
            share = rounded(np.array(WEIGHT_STEPS * unseen(rows) / self.map.grown))
            self.leaves[: (self.map.grown + self.map.on_trial) * self.map.leaves, -1] = share

    def follow(self, event: Event) -> None:
        """Trees are not grown by such events."""

    def restart(self) -> None:
        """All trees start again."""
        self.leaves[:] = 0

    def add(self, q: int, leaf: Integers, sign: int) -> None:
        """Tree q to the scores of the stored rows, or -1 times it; leaf (n,) of these rows in it."""

    def was_better(self, old: int, before: Integers, new: int, now: Integers, rows: int) -> bool:
        """Whether tree `old` predicts the last stored rows clearly better than `new`; leaves (n,) of all of them."""
        raise NotImplementedError

    def copy_tree(self, tree: int, to: int) -> None:
        """The leaves of a tree in the place of another."""
        self.tree(to)[:] = self.tree(tree)

    def gradients(self, word: int) -> tuple[Integers, Integers, float]:
        """g and h of the stored rows (n,), in steps, and l."""
        raise NotImplementedError

    def start_tree(self, q: int, leaf: Integers) -> None:
        """Tree q was grown; leaf (n,) of the stored rows in it."""
        self.tree(q)[:] = 0

    def tree(self, q: int) -> Halves:  # (leaves, c)
        """The weights of one tree."""
        return self.leaves[q * self.map.leaves : (q + 1) * self.map.leaves]

    def scores(self) -> Array:
        return np.asarray(self.leaves[self.map.slots].sum(axis=0, dtype=np.int64) / WEIGHT_STEPS)

    def step(self, f: Array, v: float, y: Array, weight: float, noise: Noise) -> tuple[Array, float]:
        """delta (c,) and h of the row."""
        return number_step(f, v, y, weight, noise) if self.loss.linear else class_step(f, v, y, weight)


class DiagonalLeaves(LeafHead):
    """variances (trees x leaves,) in steps; of the stored rows targets and row_weights (rows,) and fitted (rows, c).

    targets: y of one output, else the index of the class. fitted: F.
    """

    def __init__(self, loss: CurvedLoss, variance: Positive, floor: NonNegative) -> None:
        super().__init__(loss)
        self.variance, self.steps = variance, VARIANCE_STEPS / variance  # steps of the variance 1
        self.floor = np.float32(min(VARIANCE_STEPS, max(1.0, np.rint(floor * self.steps))))
        self.noise = Noise()

    def clear(self, outputs: int) -> None:
        super().clear(outputs)
        self.variances: NDArray[np.uint16] = np.full(self.map.side, VARIANCE_STEPS, dtype=np.uint16)
        self.targets: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self.row_weights: NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)
        self.fitted: Halves = np.zeros((0, outputs), dtype=np.int16)

    def append_output(self, rows: int) -> None:
        super().append_output(rows)
        score = rounded(np.array(SCORE_STEPS * unseen(rows) if self.map.grown else 0.0))
        self.fitted = np.pad(self.fitted, ((0, 0), (0, 1)), constant_values=score)

    def scores(self) -> Array:
        self.total = float(self.variances[self.map.slots].sum(dtype=np.int64)) / self.steps
        return super().scores()

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        delta, h = self.step(f, self.total, y, weight, noise)
        e = h / (1 + h * self.total)
        change, curvature = (delta * (WEIGHT_STEPS / self.steps)).astype(np.float32), np.float32(e / self.steps)
        slots = self.map.slots
        u, before = rounding_draws(step, len(slots)), self.variances[slots]
        add_steps(self.leaves, slots, change, u, before)
        shrink(self.variances, slots, curvature, self.floor, u)
        self.noise = noise
        share = self.kept_share(y, f)
        self.map.keeps = (draw(self.map.seed, step) >> 11) * 2.0**-53 < share
        if self.map.keeps:
            self.store(y, f, weight / share)

    def kept_share(self, y: Array, f: Array) -> float:
        """The probability that the row is stored."""
        if self.loss.linear:
            gradient = abs(float(y[0] - f[0])) / (2 * math.sqrt(self.noise.variance))
        elif len(f) == 1:
            gradient = sigmoid(float(-f[0] if y[0] > 0 else f[0]))
        else:
            gradient = 1 - float(softmax(f)[int(np.argmax(y))])
        return min(1.0, max(LEAST_SHARE, 2 * gradient))

    def store(self, y: Array, f: Array, weight: float) -> None:
        """The row, beside its code in the map."""
        rows = self.map.rows
        target = min(LARGEST_TARGET, max(-LARGEST_TARGET, float(y[0]))) if len(y) == 1 else float(np.argmax(y))
        weight = min(float(LARGEST), max(1.0, float(np.rint(weight * SCORE_STEPS))))
        self.targets = np.append(self.targets, np.float32(target))[-rows:]
        self.row_weights = np.append(self.row_weights, np.uint16(weight))[-rows:]
        self.fitted = np.vstack([self.fitted, rounded(f * SCORE_STEPS)])[-rows:]

    def restart(self) -> None:
        super().restart()
        self.variances[:] = int(VARIANCE_STEPS)
        self.fitted[:] = 0

    def add(self, q: int, leaf: Integers, sign: int) -> None:
        self.fitted = rounded(self.fitted.astype(np.int64) + sign * self.of_tree(q, leaf))

    def was_better(self, old: int, before: Integers, new: int, now: Integers, rows: int) -> bool:
        if not rows:
            return False
        f = self.fitted[-rows:] / SCORE_STEPS
        other = f + (self.tree(old)[before[-rows:]] / WEIGHT_STEPS - self.tree(new)[now[-rows:]] / WEIGHT_STEPS)
        e = self.row_weights[-rows:] / SCORE_STEPS * (self.losses(f) - self.losses(other))
        return bool(e.sum() > CLEARLY * math.sqrt((e * e).sum()))

    def losses(self, f: Array) -> Array:  # (n, c) -> (n,)
        """Of the last n stored rows with these scores."""
        n = len(f)
        if self.loss.linear:
            return np.asarray(self.clipped(self.targets[-n:] - f[:, 0]) ** 2 / 2)
        if self.outputs == 1:
            return np.asarray(np.logaddexp(0.0, np.where(self.targets[-n:] > 0, -f[:, 0], f[:, 0])))
        own = f[np.arange(n), self.classes()[-n:]]
        return np.asarray(np.log(np.exp(f - f.max(axis=1, keepdims=True)).sum(axis=1)) + f.max(axis=1) - own)

    def clipped(self, residual: Array) -> Array:
        """In standard deviations, at most 4 of them."""
        nu, above, below = self.noise
        return np.asarray(np.clip(residual / np.sqrt(nu), -CLIP * below, CLIP * above))

    def copy_tree(self, tree: int, to: int) -> None:
        super().copy_tree(tree, to)
        variances = self.variances.reshape(-1, self.map.leaves)
        variances[to] = variances[tree]

    def of_tree(self, q: int, leaf: Integers) -> Integers:  # (n,) -> (n, c)
        """What the tree adds to the scores of the stored rows, in their steps."""
        return np.asarray((self.tree(q)[leaf].astype(np.int64) + FOLD // 2) // FOLD)

    def classes(self) -> Integers:  # (n,)
        """Of the stored rows; those of a damaged file stay in the range."""
        return np.clip(self.targets.astype(np.int64), 0, self.outputs - 1)

    def probabilities(self) -> Array:  # (n, c), of one output (n, 1)
        """Of the stored rows, by F."""
        f = self.fitted / SCORE_STEPS
        if self.outputs == 1:
            return np.asarray(1 / (1 + np.exp(-f)))
        e = np.exp(f - f.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def gradients(self, word: int) -> tuple[Integers, Integers, float]:
        u, ridge = self.row_weights / SCORE_STEPS, 1.0
        if self.loss.linear:
            g, h = self.clipped(self.targets - self.fitted[:, 0] / SCORE_STEPS), np.ones(len(u))
            ridge = self.noise.variance
        elif self.outputs == 1:
            p = self.probabilities()[:, 0]
            g, h = (self.targets > 0) - p, np.maximum(LEAST_CURVATURE, p * (1 - p))
        else:
            words = draws(word, np.arange(FIRST_SIGN, FIRST_SIGN + self.outputs, dtype=np.uint64))
            signs = np.where(words & np.uint64(1), 1.0, -1.0)
            mean = (self.probabilities() * signs).sum(axis=1)
            g, h = signs[self.classes()] - mean, np.maximum(LEAST_CURVATURE, 1 - mean * mean)
        return (
            rounded(g * u * GRADIENT_STEPS).astype(np.int64),
            np.maximum(1, rounded(h * u * GRADIENT_STEPS).astype(np.int64)),
            ridge,
        )

    def start_tree(self, q: int, leaf: Integers) -> None:
        """Weights and variances of the leaves of a tree that was grown on the stored rows."""
        sums, curvature = self.leaf_sums(leaf)
        precision = curvature + 1 / self.variance
        self.tree(q)[:] = rounded(SHRINKAGE * sums / precision[:, None] * WEIGHT_STEPS)
        own = slice(q * self.map.leaves, (q + 1) * self.map.leaves)
        self.variances[own] = np.maximum(1.0, np.rint(self.steps / precision)).astype(np.uint16)
        self.fitted = rounded(self.fitted.astype(np.int64) + self.of_tree(q, leaf))

    def leaf_sums(self, leaf: Integers) -> tuple[Array, Array]:
        """G (leaves, c) and H (leaves,)."""
        n, u = self.map.leaves, self.row_weights / SCORE_STEPS
        if self.outputs == 1:
            g, h, _ = self.gradients(0)
            sums, curvature = (np.bincount(leaf, each, n) / GRADIENT_STEPS for each in (g, h))
            if self.loss.linear:
                nu = self.noise.variance
                sums, curvature = sums / np.sqrt(nu), curvature / nu
            return sums[:, None], curvature
        p = self.probabilities()
        pull = -p
        pull[np.arange(len(p)), self.classes()] += 1
        sums = np.zeros((n, self.outputs))
        np.add.at(sums, leaf, u[:, None] * pull)
        return sums, np.asarray(np.bincount(leaf, u * (p * (1 - p)).sum(axis=1) / 2, n), dtype=np.float64)

    def fields(self) -> list[Field]:
        n, rows, most = self.map.side, Size("codes", self.map.rows, owner="map"), LARGEST_TARGET
        single = functools.partial(Field, self, dtype=np.float32, table=False)
        return [
            single("leaves", (n, OUTPUTS), steps=WEIGHT_STEPS),
            single("variances", (n,), low=0.0, steps=self.steps),
            single("targets", (rows,), low=-most, high=most),
            single("row_weights", (rows,), low=0.0, steps=SCORE_STEPS),
            single("fitted", (rows, OUTPUTS), steps=SCORE_STEPS),
        ]


class ConstantLeaves(LeafHead):
    """leaves (trees x leaves, c)."""

    def __init__(self, loss: CurvedLoss, gain: Positive) -> None:
        super().__init__(loss)
        self.gain = gain

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        slots = self.map.slots
        delta, _ = self.step(f, self.gain * len(slots), y, weight, noise)
        change = (delta * (self.gain * WEIGHT_STEPS)).astype(np.float32)
        add_steps(self.leaves, slots, change, rounding_draws(step, len(slots)))

    def fields(self) -> list[Field]:
        shape = (self.map.side, OUTPUTS)
        return [Field(self, "leaves", shape, dtype=np.float32, steps=WEIGHT_STEPS, table=False)]
