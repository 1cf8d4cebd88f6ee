"""E ~ U S U' after row and column q of E changed: E' = E + a b' + b a', a = e_q.

exact        a full eigendecomposition of E'.
rank2        a b' + b a' as two symmetric rank-one updates of the stored decomposition: each is a diagonal
             plus rank one, whose eigenvalues are the roots of the secular equation (LAPACK's lasd4) and whose
             eigenvectors follow from Gu & Eisenstat's corrected weights (SIAM J. Matrix Anal. 1994).
randomized   subspace iteration warm-started at Q = U: `iterations` times Q <- orth(E' Q), then the small
             problem Q' E' Q (Halko, Martinsson, Tropp 2011; Si, Kumar, Li).

rank2 and randomized keep nothing but U and S, so E' stands for U S U' + a b' + b a', with b taken against
the STORED column: what the truncation lost in row q is repaired at every move of landmark q.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Iterations

Array = NDArray[np.float64]


class Spectrum:
    """The leading eigenpairs of E: vectors (m, r), values (r,) in descending order."""

    def __init__(self, vectors: Array, values: Array) -> None:
        self.vectors, self.values = vectors, values

    @classmethod
    def of(cls, gram: Array, rank: int) -> "Spectrum":
        """From scratch."""
        n = len(gram)
        values, vectors = np.linalg.eigh(gram)  # all of them: divide and conquer beats a subset up to m = 1000
        leading = slice(n - 1, n - rank - 1 if rank < n else None, -1)
        return cls(np.ascontiguousarray(vectors[:, leading]), np.maximum(values[leading], 0.0))

    def column(self, q: int) -> Array:
        """Column q of U S U'."""
        return np.asarray(self.vectors @ (self.values * self.vectors[q]))

    def aligned_with(self, before: "Spectrum") -> "Spectrum":
        """The same, each vector with the sign nearer to the one it replaces."""
        shared = min(self.vectors.shape[1], before.vectors.shape[1])
        signs = np.ones(self.vectors.shape[1])
        signs[:shared] = np.where(
            np.einsum("ij,ij->j", self.vectors[:, :shared], before.vectors[:, :shared]) < 0, -1.0, 1.0
        )
        return Spectrum(self.vectors * signs, self.values)


class Solver(ABC):
    """Updates a spectrum when a landmark moves."""

    label: ClassVar[str]  # its name for users
    needs_gram: ClassVar[bool] = False

    @abstractmethod
    def moved(self, spectrum: Spectrum, q: int, column: Array, gram: Array | None) -> Spectrum:
        """After column q of E became `column`; gram is E' where the solver needs it."""


class Exact(Solver):
    """A full eigendecomposition of E'."""

    label = "exact"
    needs_gram = True

    def moved(self, spectrum: Spectrum, q: int, column: Array, gram: Array | None) -> Spectrum:
        assert gram is not None
        return Spectrum.of(gram, len(spectrum.values)).aligned_with(spectrum)


def change_of_column(spectrum: Spectrum, q: int, column: Array) -> Array:
    """b with U S U' + e_q b' + b e_q' having `column` as its column q."""
    b = column - spectrum.column(q)
    b[q] /= 2
    return b


class Randomized(Solver):
    """Warm-started subspace iteration."""

    label = "randomized"

    def __init__(self, iterations: Iterations) -> None:
        self.iterations = iterations

    def moved(self, spectrum: Spectrum, q: int, column: Array, gram: Array | None) -> Spectrum:
        u, s = spectrum.vectors, spectrum.values
        b = change_of_column(spectrum, q, column)

        def apply(basis: Array) -> Array:
            product = u @ (s[:, None] * (u.T @ basis)) + np.outer(b, basis[q])
            product[q] += b @ basis
            return product

        basis = u
        for _ in range(self.iterations):
            basis = np.linalg.qr(apply(basis))[0]
        small = basis.T @ apply(basis)
        values, rotation = np.linalg.eigh((small + small.T) / 2)
        after = Spectrum(basis @ rotation[:, ::-1], np.maximum(values[::-1], 0.0))
        return after.aligned_with(spectrum)


class Rank2(Solver):
    """Two symmetric rank-one updates."""

    label = "rank2"

    def moved(self, spectrum: Spectrum, q: int, column: Array, gram: Array | None) -> Spectrum:
        rank = len(spectrum.values)
        b = change_of_column(spectrum, q, column)
        size = float(np.linalg.norm(b))
        if size == 0:
            return spectrum
        # a b' + b a' = (a' a'' - c' c'')/2 with a = sqrt|b| e_q + b/sqrt|b| and c their difference.
        unit = np.zeros(len(b))
        unit[q] = np.sqrt(size)
        scaled = b / np.sqrt(size)
        u, s = rank_one(spectrum.vectors, spectrum.values, unit + scaled, 0.5)
        u, s = rank_one(u, s, unit - scaled, -0.5)
        after = Spectrum(u[:, :rank], np.maximum(s[:rank], 0.0))
        return after.aligned_with(spectrum)


def rank_one(u: Array, s: Array, v: Array, rho: float) -> tuple[Array, Array]:
    """Eigenpairs of U diag(s) U' + rho v v', descending; one more than before where v leaves the span of U."""
    inside = u.T @ v
    outside = v - u @ inside
    again = u.T @ outside
    inside, outside = inside + again, outside - u @ again
    length = float(np.linalg.norm(outside))
    if u.shape[1] < len(v) and length > 1e-14 * np.linalg.norm(v):
        u = np.column_stack([u, outside / length])
        s = np.append(s, 0.0)
        inside = np.append(inside, length)
    # lasd4 wants ascending squares d^2 plus a positive rank one: shift, and mirror for rho < 0.
    sign = 1.0 if rho > 0 else -1.0
    shift = float((sign * s).min())
    order = np.argsort(sign * s, kind="stable")
    values, rotation = secular(sign * s[order] - shift, inside[order], abs(rho))
    values = sign * (values + shift)
    back = np.argsort(-values, kind="stable")
    return u[:, order] @ rotation[:, back], values[back]


def secular(d: Array, z: Array, rho: float) -> tuple[Array, Array]:
    """Eigenpairs of diag(d) + rho z z' for ascending d >= 0 and rho > 0, ascending.

    Deflation first: where z_i is negligible, (d_i, e_i) stays; where two d agree, a rotation moves all of z
    into one of them.
    """
    n = len(d)
    z = z.copy()
    rotation = np.eye(n)
    scale = max(float(d[-1]), rho * float(z @ z))
    tolerance = 8 * np.finfo(float).eps * scale
    last = -1
    for i in range(n):
        if rho * abs(z[i]) * np.linalg.norm(z) <= tolerance:
            z[i] = 0.0
            continue
        if last >= 0 and d[i] - d[last] <= tolerance:
            radius = np.hypot(z[last], z[i])
            c, t = z[i] / radius, z[last] / radius
            z[last], z[i] = 0.0, radius
            old = rotation[:, last].copy()
            rotation[:, last] = c * old - t * rotation[:, i]
            rotation[:, i] = t * old + c * rotation[:, i]
        last = i
    live = np.flatnonzero(z)
    values = d.copy()
    if len(live) == 1:
        values[live] += rho * z[live] ** 2
    elif len(live):
        values[live], inner = _roots(d[live], z[live], rho)
        rotation[:, live] = rotation[:, live] @ inner
    order = np.argsort(values, kind="stable")
    return values[order], rotation[:, order]


def _roots(d: Array, z: Array, rho: float) -> tuple[Array, Array]:
    """The secular equation without deflation: roots, and orthonormal eigenvectors as columns."""
    n, norm = len(d), float(np.linalg.norm(z))
    roots = np.sqrt(d)
    from scipy.linalg.lapack import dlasd4  # loading SciPy takes longer than many commands

    lasd4: Callable[..., tuple[Array, float, Array, int]] = dlasd4
    values, gaps = np.empty(n), np.empty((n, n))  # gaps[j, i] = d_j - lambda_i, without cancellation
    for i in range(n):
        below, root, above, info = lasd4(i, roots, z / norm, rho * norm * norm)
        if info:  # did not converge: a dense solver always answers
            dense, vectors = np.linalg.eigh(np.diag(d) + rho * np.outer(z, z))
            return dense, vectors
        values[i], gaps[:, i] = root * root, below * above
    # The weights for which these values are exact (Loewner's formula): their vectors are orthogonal.
    ratios = -gaps.copy()
    poles = d[:, None] - d[None, :]
    ratios[:, :-1] /= np.where(np.arange(n)[:, None] > np.arange(n - 1), -poles[:, :-1], -poles[:, 1:])
    weights = np.copysign(np.sqrt(np.maximum(np.prod(ratios, axis=1), 0.0)), z)
    vectors = weights[:, None] / gaps
    return values, vectors / np.linalg.norm(vectors, axis=0)
