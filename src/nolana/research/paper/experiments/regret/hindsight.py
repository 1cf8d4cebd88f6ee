"""The best fixed model in hindsight: logistic regression on the exact kernel, all rows at once.

min over f of sum_t log(1 + exp(-y_t f(x_t))) + penalty/2 |f|^2, f = sum_t a_t k(x_t, .), by Newton's method: with
W the diagonal of the second derivatives and g of the first, a <- (K W + penalty I)^-1 (W f - g).

The duality gap bounds the distance from the minimum: c_t = sigma(-y_t f_t) gives the value of the dual
sum_t H(c_t) - |sum_t y_t c_t k(x_t, .)|^2/(2 penalty), which is a lower bound on the cost of every model.

Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 3.1, for the form of the step.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import entr, expit

from nolana.research.paper.harness import Array

STEPS = 100
CLOSE = 1e-10  # gap over objective


@dataclass(frozen=True)
class Best:
    """The model and its cost."""

    coefficients: Array  # a (T,)
    squared_norm: float  # |f|^2
    objective: float
    gap: float  # the objective exceeds the minimum by at most this


def best_model(gram: Array, y: Array, penalty: float) -> Best:  # (T, T), (T,) of -1 and 1
    """Newton's method; each step is halved until it lowers the objective."""
    best = _measured(gram, y, penalty, np.zeros(len(y)))
    for _ in range(STEPS):
        if best.gap <= CLOSE * best.objective:
            return best
        to = _newton_point(gram, y, penalty, best.coefficients)
        share = 1.0
        while (after := _measured(gram, y, penalty, best.coefficients + share * (to - best.coefficients))).objective > (
            best.objective
        ):
            share /= 2
            if share < 1e-9:  # rounding: no further progress is possible
                return best
        best = after
    return best


def _measured(gram: Array, y: Array, penalty: float, a: Array) -> Best:
    """Objective and duality gap of coefficients."""
    f = gram @ a
    norm = float(a @ f)
    objective = float(np.logaddexp(0.0, -y * f).sum()) + penalty / 2 * norm
    c = expit(-y * f)
    dual = float((entr(c) + entr(1 - c)).sum()) - float((y * c) @ (gram @ (y * c))) / (2 * penalty)
    return Best(a, norm, objective, objective - dual)


def _newton_point(gram: Array, y: Array, penalty: float, a: Array) -> Array:
    """The minimum of the quadratic model around a, by a Cholesky factor of I + W^(1/2) K W^(1/2)/penalty."""
    f = gram @ a
    c = expit(-y * f)
    curvature, slope = c * (1 - c), -y * c
    roots = np.sqrt(curvature)
    inner = gram * (roots / penalty)
    inner *= roots[:, None]
    inner[np.diag_indices(len(y))] += 1
    factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)
    target = curvature * f - slope
    return np.asarray((target - roots * cho_solve(factor, roots * (gram @ target)) / penalty) / penalty)
