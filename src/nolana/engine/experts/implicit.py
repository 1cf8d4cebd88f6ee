"""Implicit logistic and least-squares steps: the prediction after the step is the one whose slope is taken.

For a score f of variance v, a row of weight w and a target: delta is what is added for each unit of variance, h the
curvature of the loss.

    two classes   solve f* = f + w v (t - p(f*)): 3 Newton iterations from f + v (t - p)/(1 + v/4); delta = w (t - p*),
                  h = w max of p (1 - p) before and after
    more classes  the same for softmax, 2 diagonal iterations; h = w/2 max of sum_k p_k (1 - p_k) before and after
    regression    delta = clip(r, 3 sqrt(n + v))/(n + v), n = noise/w, h = 1/n; on a skewed side r is cut later
"""

import math

import numpy as np

from nolana.engine.experts.map import Array
from nolana.engine.learner.losses import sigmoid
from nolana.engine.learner.residual_variance import CLIP, Noise


def softmax(f: Array) -> Array:
    """Probabilities of scores."""
    e = np.exp(f - f.max())
    return np.asarray(e / e.sum())


def binary_step(f: float, v: float, y: float, weight: float) -> tuple[float, float]:
    """delta and h for y in {-1, 1}."""
    t, v = (1.0 if y > 0 else 0.0), weight * v
    before = sigmoid(f)
    g = f + v * (t - before) / (1 + 0.25 * v)
    for _ in range(3):
        p = sigmoid(g)
        g += (f + v * (t - p) - g) / (1 + v * p * (1 - p))
    p = sigmoid(g)
    return weight * (t - p), weight * max(p * (1 - p), before * (1 - before))


def softmax_step(f: Array, v: float, own: int, weight: float) -> tuple[Array, float]:
    """delta (c,) and h for the class `own`."""
    t, v = np.zeros(len(f)), weight * v
    t[own] = 1.0
    p = softmax(f)
    before, g = float((p * (1 - p)).sum()), f.copy()
    for _ in range(2):
        g = g + (f + v * (t - p) - g) / (1 + v * np.maximum(0.05, p * (1 - p)))
        p = softmax(g)
    return weight * (t - p), weight * max(before, float((p * (1 - p)).sum())) / 2


def class_step(f: Array, v: float, y: Array, weight: float) -> tuple[Array, float]:
    """delta (c,) and h for targets of one output or of several."""
    if len(f) == 1:
        delta, h = binary_step(float(f[0]), v, float(y[0]), weight)
        return np.array([delta]), h
    return softmax_step(f, v, int(np.argmax(y)), weight)


def number_step(f: Array, v: float, y: Array, weight: float, noise: Noise) -> tuple[Array, float]:
    """delta (1,) and h for a scalar target."""
    n = noise.variance / weight
    return np.array([noise.clip(float(y[0] - f[0]), CLIP * math.sqrt(n + v)) / (n + v)]), 1 / n
