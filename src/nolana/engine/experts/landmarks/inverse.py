"""P = (E + delta I)^-1 over the landmarks, updated by one product per landmark move.

Moving u_q to u' (all vectors over the OLD landmarks)::

    b = k_u' - E[:,q]       t = e_q + P b       p = P[:,q]
    s = k(u',u') - 2 k(u',u_q) + k(u_q,u_q) - b.P b        clamped at 0: how new the place is
    D = s P_qq + t_q^2                                      a sum of non-negatives
    P'[i,j] = P[i,j] + (P_qq t_i t_j - t_q (p_i t_j + t_i p_j) - s p_i p_j)/D      i, j != q
    P'[i,q] = (t_q p_i - P_qq t_i)/D ,   P'[q,q] = P_qq/D
    alpha' = T alpha ,  T = I + c e_q' ,  c_i = -(s p_i + t_q t_i)/D ,  c_q = t_q/D - 1

T carries the model: it leaves alpha' = alpha + P'(z - E' alpha), z the old model at the new landmarks.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Move(NamedTuple):
    """What a landmark move does to everything expressed in alpha."""

    inverse: Array  # P' (m, m)
    q: int
    s: float
    carry: Array  # c (m,)
    trusted: bool  # whether P' passed its check


def grown(p: Array, k: Array, self: float, delta: float) -> tuple[Array, Array, float]:
    """P with one more landmark: P (+) 0 + z z'/g, z = [-P k; 1], g = k(u,u) + delta - k.P k; also z and g."""
    product = p @ k
    z = np.append(-product, 1.0)
    g = self + delta - k @ product
    larger = np.zeros((len(z), len(z)))
    larger[:-1, :-1] = p
    return larger + np.outer(z, z) / g, z, float(g)


def moved(
    p: Array, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float, delta: float
) -> Move:
    """P and T after landmark q moved; new_values = k(u', u_j), old_values = E[:,q]."""
    b = new_values - old_values
    t = p @ b
    raw = new_self - 2 * new_values[q] + old_self - b @ t
    s = max(0.0, float(raw))
    t[q] += 1
    column, tq, pqq = p[:, q].copy(), t[q], p[q, q]
    d = s * pqq + tq * tq
    cross = np.outer(column, t)
    after = p + (pqq * np.outer(t, t) - tq * (cross + cross.T) - s * np.outer(column, column)) / d
    v = (tq * column - pqq * t) / d
    v[q] = pqq / d
    after[:, q] = after[q, :] = v
    carry = -(s * column + tq * t) / d
    carry[q] = tq / d - 1

    target = new_values.copy()
    target[q] = new_self + delta
    error = after @ target
    error[q] -= 1
    trusted = bool(np.abs(error).max() <= 1e-6 and raw >= -1e-10 * (new_self + old_self))
    return Move(after, q, s, carry, trusted)


def factored(gram: Array, delta: float) -> tuple[Array, float]:
    """L of E + delta I = L L'; delta grows if that is not positive definite, and is returned."""
    if not np.isfinite(gram).all():
        raise FloatingPointError("the kernel matrix of the landmarks overflowed; scale the features")
    while True:
        try:
            return np.asarray(np.linalg.cholesky(gram + delta * np.eye(len(gram))), dtype=np.float64), delta
        except np.linalg.LinAlgError:
            delta = 10 * delta if delta > 0 else 1e-12


def inverted(gram: Array, delta: float) -> tuple[Array, float]:
    """(E + delta I)^-1 by its Cholesky factor, and the delta that was needed."""
    factor, delta = factored(gram, delta)
    w = np.linalg.inv(factor)
    p = w.T @ w
    return np.asarray((p + p.T) / 2, dtype=np.float64), delta
