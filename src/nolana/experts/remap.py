"""One general change of the map: another kernel (width, feature scaling), other landmarks, or both.

Another kernel over the same landmarks keeps the EVIDENCE and changes the prior. With A = E + delta I the
values at the landmarks v = A alpha have mean A alpha, covariance A R A and prior tau A. What the data said,
(A R A)^-1 - (tau A)^-1 >= 0, is added to the new prior (tau A')^-1; the mean values stay:

    alpha' = P' A alpha ,   R' = P' [ (tau A')^-1 + (A R A)^-1 - (tau A)^-1 ]^-1 P'

It is positive definite and at most tau P' whatever the two kernels are.

Other landmarks under the same kernel is conditioning of the Gaussian process, exact: with C = k(u'_i, u_j)
(+ delta where a landmark continues an old one) and B = P' C,

    alpha' = B alpha ,   R' = B R B' + tau (P' - B P B')

which for one landmark is the move of `nolana.engine.experts.landmarks.inverse`. O(m^3), rare.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State, pack, unpack
from nolana.engine.experts.landmarks.inverse import factored, inverted

Array = NDArray[np.float64]
Gram = Callable[[Array, Array], Array]  # (n, d), (m, d) -> (n, m)


def remap(
    state: State,
    *,
    before: Gram,
    after: Gram,
    coordinates: Array | None = None,
    landmarks: Array | None = None,
    ridge: float,
    prior: float,
) -> State:
    """The state under another kernel, at other landmarks, or both.

    ``coordinates`` are the old landmarks as the new kernel sees them (another feature scaling); ``landmarks``
    (m', d) replace them.
    """
    old = state["landmarks"]
    places = old if coordinates is None else coordinates
    state = rekernel(state, before(old, old), after(places, places), ridge, prior) | {"landmarks": places}
    if landmarks is None:
        return state
    return relocate(state, landmarks, after(landmarks, landmarks), after(landmarks, places), prior)


def covariance_of(state: State) -> Array:
    """R (m, m), what waits included."""
    n = state["waiting_left"].shape[1]
    return unpack(state["covariance"] + pack((state["waiting_left"].T @ state["waiting_right"]).reshape(n, n)))


def set_covariance(state: State, covariance: Array) -> None:
    """Another covariance; what waits becomes zero, as many as before, because sizes stay."""
    state["covariance"] = pack(covariance)
    for name in ("waiting_left", "waiting_right"):
        state[name] = np.zeros_like(state[name])


def with_matrices(state: State, inverse: Array, covariance: Array | None) -> State:
    """The state with other matrices in it; what waits becomes zero."""
    after = state | {"inverse": pack(inverse), "since_refresh": 0.0}
    if covariance is not None:
        nothing = np.zeros((len(state["waiting_left"]), len(inverse)))  # as many as before: sizes stay
        after |= {"covariance": pack(covariance), "waiting_left": nothing, "waiting_right": nothing.copy()}
    return after


def rekernel(state: State, before: Array, after: Array, ridge: float, prior: float) -> State:
    """Another kernel over the same landmarks: kernel matrices before and after (m, m), the new ridge.

    The weights (c, m) may be those of several heads, one below the other.
    """
    from scipy.linalg import solve_triangular  # loading SciPy takes longer than many commands

    if not len(before):  # LAPACK refuses empty matrices
        return state | {"ridge": ridge}
    identity = np.eye(len(before))
    new, ridge = factored(after, ridge)
    new_inverse = solve_triangular(new, identity, lower=True)
    p = new_inverse.T @ new_inverse
    a = before + state["ridge"] * identity
    covariance = None
    if "covariance" in state:
        # In whitened coordinates w = L' alpha the prior is tau I, and v = L w = L' w' gives w = L^-1 L' w'.
        old = np.linalg.cholesky(a)
        onto = solve_triangular(old, new, lower=True)
        precision = identity / prior + evidence(old.T @ covariance_of(state) @ old, onto, prior)
        try:
            half = solve_triangular(np.linalg.cholesky(precision), new_inverse, lower=True)
            covariance = half.T @ half
        except (np.linalg.LinAlgError, ValueError):  # not finite
            covariance = prior * p
    weights = state["weights"] @ (a @ p)  # in this order several targets are learned as each alone
    return with_matrices(state, p, covariance) | {"weights": weights, "ridge": ridge}


def evidence(white: Array, onto: Array, prior: float) -> Array:  # (m, m), (m, m) -> (m, m)
    """onto' (W^-1 - I/tau) onto: what the rows said, by their covariance W <= tau I in whitened coordinates.

    Rounding may leave eigenvalues of W above tau, which say nothing: only then they are needed one by one.
    """
    from scipy.linalg import solve_triangular

    try:
        np.linalg.cholesky(prior * np.eye(len(white)) - white)
        half = solve_triangular(np.linalg.cholesky(white), onto, lower=True)
        return np.asarray(half.T @ half - onto.T @ onto / prior)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh((white + white.T) / 2)
        onto = vectors.T @ onto
        return np.asarray(onto.T @ ((1 / np.clip(values, 1e-12 * prior, prior) - 1 / prior)[:, None] * onto))


def reweight(state: State, gram: Array, factor: float, prior: float) -> State:
    """What the rows said counts `factor` times as much as it did, against the same prior; gram = k(u, u).

    In whitened coordinates with eigenvalues v of the covariance: 1/v' = 1/tau + factor (1/v - 1/tau), and the mean of
    each coordinate is multiplied by factor v'/v.
    """
    from scipy.linalg import solve_triangular  # loading SciPy takes longer than many commands

    root = np.linalg.cholesky(gram + state["ridge"] * np.eye(len(gram)))
    white = root.T @ covariance_of(state) @ root
    values, vectors = np.linalg.eigh((white + white.T) / 2)
    values = np.clip(values, 1e-12 * prior, prior)
    after = 1 / (1 / prior + factor * (1 / values - 1 / prior))
    back = solve_triangular(root.T, vectors, lower=False)  # alpha = back times the coordinates
    weights = (state["weights"] @ (root @ vectors) * (factor * after / values)) @ back.T
    nothing = np.zeros((0, len(gram)))
    waiting = {"waiting_left": nothing, "waiting_right": nothing.copy()}
    return state | {"weights": weights, "covariance": pack((back * after) @ back.T)} | waiting


def relocate(state: State, landmarks: Array, gram: Array, cross: Array, prior: float) -> State:
    """Other landmarks (m', d) under the same kernel: gram = k(u', u') and cross = k(u'_i, u_j).

    Landmark i continues the old landmark i, wherever it went; further ones are new.
    """
    ridge = state["ridge"]
    p_old = unpack(state["inverse"])
    p, ridge = inverted(gram, ridge)
    b = p @ (cross + ridge * np.eye(len(landmarks), len(state["landmarks"])))
    covariance = None
    if "covariance" in state:
        covariance = prior * p - b @ (prior * p_old - covariance_of(state)) @ b.T
        covariance = (covariance + covariance.T) / 2
    after = with_matrices(state, p, covariance)
    return after | {"landmarks": landmarks, "weights": state["weights"] @ b.T, "ridge": ridge}
