"""Probabilities of scores that are not log-odds: online Platt scaling with a monotone curve, on prequential scores.

With the scores f (c,) of a row in units of their running root mean square, u = f/sqrt(V), each class has four inputs

    e(u) = (u+, u-, u+/(.3 + u+), u-/(.3 - u-)),   u+ = max(u, 0), u- = min(u, 0)

a line and a curve that flattens, for either sign. One output is the score of the second of two classes: the inputs of
the first are 0. theta is shared by all classes and positive, so z_c = theta.e(u_c) grows with f_c: the most probable
class is the predicted one.

    p = softmax(z),  ebar = sum_c p_c e_c
    H <- lambda H + (1 - lambda) rho I + w sum_c p_c (e_c - ebar)(e_c - ebar)'
    theta <- max(theta + H^-1 [w (e_y - ebar) - (1 - lambda) rho (theta - theta0)], .001)
    V += a (min(mean f^2, 10 V) - V),   a = max(1/512, 3/(t + 3))  at row t (from 1)

V begins as the first mean f^2 that is not 0; until then u = f and nothing is learned.

Reasons, from streams of 6,000 rows with hinge, squared hinge and the rivals: a line alone (plain Platt
scaling) leaves calibration errors of 8 to 18 % if labels are noisy or scores large; the same curve for both signs
leaves 12 % if a class is rare. With four inputs they are 1 to 5 %.
"""

import numpy as np

from nolana.engine.base.state import Array, Field, Stateful, count
from nolana.engine.experts.implicit import softmax

INPUTS = 4
BEND = 0.3
START, SMALLEST, LARGEST = 0.5, 1e-3, 100.0  # of theta
FORGETTING, PRIOR = 0.999, 1.0  # lambda, rho
MEMORY = 512  # rows that V averages
CLIP = 10.0  # of u while learning, and of f^2 over V
LARGEST_SQUARE = 1e300


class Calibration(Stateful):
    """theta (4,), H (4, 4) and V as `slopes`, `information` and `scale`."""

    def __init__(self) -> None:
        self.rows = 0
        self.scale = 0.0
        self.slopes: Array = np.full(INPUTS, START)
        self.information: Array = PRIOR * np.eye(INPUTS)

    def observe(self, scores: Array, targets: Array, weight: Array | None = None) -> Array:  # (n, c), (n, c), (n,)
        """Learn from the scores of rows before they were learned; returns the logits (n, c) before each row.

        targets: +1 for the output of the class, -1 for the others.
        """
        before = np.empty_like(scores)
        for i, (f, y) in enumerate(zip(scores, targets, strict=True)):
            before[i] = self.logits(f)
            w = 1.0 if weight is None else float(weight[i])
            if w > 0 and np.isfinite(f).all():
                self.observe_row(f, y, w)
        return before

    def observe_row(self, f: Array, y: Array, w: float) -> None:
        self.rows += 1
        with np.errstate(over="ignore"):
            square = float(np.mean(f * f))
        if not self.scale > 0:
            self.scale = square if square <= LARGEST_SQUARE else 0.0
            return
        seen = inputs(np.clip(f / np.sqrt(self.scale), -CLIP, CLIP))
        own = int(np.argmax(y)) if len(y) > 1 else int(y[0] > 0)
        p = softmax(self.slopes @ seen)
        away = seen - (seen @ p)[:, None]
        back = (1 - FORGETTING) * PRIOR
        self.information = FORGETTING * self.information + back * np.eye(INPUTS) + (w * p * away) @ away.T
        step = np.linalg.solve(self.information, w * away[:, own] - back * (self.slopes - START))
        self.slopes = np.clip(self.slopes + step, SMALLEST, LARGEST)
        gain = max(1 / MEMORY, 3 / (self.rows + 3))
        self.scale = min(LARGEST_SQUARE, self.scale + gain * (min(square, CLIP * self.scale) - self.scale))

    def logits(self, scores: Array) -> Array:  # (n, c) -> (n, c)
        """theta.e(u): log-odds of the second class for one output, otherwise scores whose softmax are probabilities."""
        u = scores / np.sqrt(self.scale) if self.scale > 0 else scores
        up, down = np.maximum(u, 0.0), np.minimum(u, 0.0)
        line, curve = self.slopes[0] * up + self.slopes[1] * down, up / (BEND + up)
        return np.asarray(line + self.slopes[2] * curve + self.slopes[3] * (down / (BEND - down)))

    def fields(self) -> list[Field]:
        slopes = Field(self, "slopes", (INPUTS,), low=SMALLEST, high=LARGEST)
        matrix = Field(self, "information", (INPUTS, INPUTS))
        return [count(self, "rows"), Field(self, "scale", low=0.0, high=LARGEST_SQUARE), slopes, matrix]


def inputs(u: Array) -> Array:  # (c,) -> (4, classes)
    """e(u) of each class."""
    up, down = np.maximum(u, 0.0), np.minimum(u, 0.0)
    seen = np.stack([up, down, up / (BEND + up), down / (BEND - down)])
    return np.hstack([np.zeros_like(seen), seen]) if len(u) == 1 else seen
