"""A head with a covariance R of its weights: the information of the base once, and what each part added to it.

With L = R^-1 and the base (L_0, w_0):

    L = L_0 + sum_i (L_i - L_0),   w = w_0 + L^-1 sum_i L_i (w_i - w_0)

in coordinates in which R_0 is the identity, where no matrix is worse conditioned than what the parts learned. For the
squared loss this is the head that learned all rows, in any order. Parts do not forget (`Expert.freeze`).

`relaxed` makes up for that when the merged learner learns again. In a direction with the prior variance 1 the rows
added g information each; one process that forgets 1 - mu of its information with each row has

    dr/dt = -g r^2 + mu (1 - r),   r(0) = 1

which is solved for each eigenvalue of the covariance in units of the prior.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State, pack
from nolana.experts.parts import Parts
from nolana.experts.remap import covariance_of

Array = NDArray[np.float64]

SMALLEST = 1e-14  # eigenvalue of a covariance, in units of the base's or of the prior's


def root_of(matrix: Array) -> Array:
    """C with C C' = matrix; eigenvalues that rounding made negative become tiny."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return np.asarray(vectors * np.sqrt(np.maximum(values, SMALLEST * values.max())))


def inverse_of(matrix: Array) -> Array:
    """The inverse of a symmetric positive definite matrix."""
    half = np.linalg.inv(root_of((matrix + matrix.T) / 2))
    return np.asarray(half.T @ half)


def merge_information(parts: Parts, ones: Array | None = None) -> State:
    """Weights and covariance of the merged head; base and parts hold the state of their map too.

    ones: P 1 (m,), or None. A part that never saw the class of an output counts as if its rows had scored -1 there.
    """
    base = parts.base
    root = root_of(covariance_of(base))
    white = np.linalg.inv(root)
    n = len(root)
    information, pull = np.eye(n), np.zeros((n, len(base["weights"])))
    for i, state in enumerate(parts.states):
        own = inverse_of(white @ covariance_of(state) @ white.T)
        information += own - np.eye(n)
        pulled = own @ (white @ (state["weights"] - base["weights"]).T)
        absent = list(parts.absent[i]) if parts.absent else []
        if absent and ones is not None:
            before = white @ (ones + base["weights"][absent]).T
            pulled[:, absent] = (np.eye(n) - own) @ before
        pull += pulled
    covariance = inverse_of(information)
    change = root @ (covariance @ pull)
    weights = np.ascontiguousarray(base["weights"] + change.T)
    return with_covariance({"weights": weights}, root @ covariance @ root.T)


def with_covariance(state: State, covariance: Array) -> State:
    """The state with this covariance, nothing waiting."""
    nothing = np.zeros((0, len(covariance)))
    symmetric = pack((covariance + covariance.T) / 2)
    return state | {"covariance": symmetric, "waiting_left": nothing, "waiting_right": nothing.copy()}


def relaxed(state: State, rows: int, prior: Array, forgetting: float) -> State:
    """The covariance as if the rows after the base had been forgotten while they were learned; prior (m, m)."""
    mu = 1 - forgetting
    if not mu > 0 or not rows:
        return {}
    root = root_of(prior)
    white = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(white @ covariance_of(state) @ white.T)
    values = np.clip(values, SMALLEST, 1.0)
    onto = root @ vectors
    return with_covariance({}, (onto * forgotten(values, rows, mu)) @ onto.T)


def forgotten(values: Array, rows: int, mu: float) -> Array:
    """r(rows) from values = 1/(1 + g rows), the variances without forgetting."""
    g = (1 / values - 1) / rows
    speed = np.sqrt(mu * mu + 4 * g * mu)
    high, low = (speed - mu) / 2, -(speed + mu) / 2  # g r for the two r at which nothing changes
    # g (r - r_high)/(r - r_low) falls as e^(-speed rows) from its value at r = 1.
    ratio = (g - high) / (g - low) * np.exp(-speed * rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (high - low * ratio) / ((1 - ratio) * g)
    return np.where(g * rows > 1e-9, np.clip(r, values, 1.0), 1.0)
