"""Kernels of one row against the landmarks: k(x, u_i), and |x - u_i|^2 beside it for the landmark policy."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Kernel(Protocol):
    """What a learner asks of a kernel; gamma is the learner's state, not the kernel's."""

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:  # (d,), (m, d) -> (m,), (m,)
        """k(x, u_i) and |x - u_i|^2."""
        ...

    def self(self, x: Array, gamma: float) -> float:
        """k(x, x)."""
        ...


def squared_distances(x: Array, u: Array) -> Array:
    """|x - u_i|^2, by the differences."""
    off = u - x
    return np.asarray(np.einsum("ij,ij->i", off, off))


def decayed(gamma: float, distances: Array) -> Array:
    """exp(-gamma distance), 0 where the product overflows."""
    with np.errstate(over="ignore"):
        return np.exp(-gamma * distances)


class RBF:
    """exp(-gamma |x - u|^2)."""

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        distances = squared_distances(x, u)
        return decayed(gamma, distances), distances

    def self(self, x: Array, gamma: float) -> float:
        return 1.0


class Laplacian:
    """exp(-gamma |x - u|_1)."""

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        return decayed(gamma, np.abs(u - x).sum(axis=1)), squared_distances(x, u)

    def self(self, x: Array, gamma: float) -> float:
        return 1.0


class DotKernel:
    """A function of x.u, |x|^2 and |u|^2."""

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        raise NotImplementedError

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        product, x_norm, u_norm = u @ x, x @ x, np.einsum("ij,ij->i", u, u)
        distances = np.maximum(0.0, x_norm + u_norm - 2 * product)
        return self.value(product, np.full(len(u), x_norm), u_norm, gamma), distances

    def self(self, x: Array, gamma: float) -> float:
        norm = np.atleast_1d(x @ x)
        return float(self.value(norm, norm, norm, gamma)[0])


class Linear(DotKernel):
    """x.u."""

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        return product


class Cosine(DotKernel):
    """x.u / |x||u|, 0 where either is 0."""

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        scale = np.sqrt(x_norm) * np.sqrt(u_norm)
        return np.asarray(np.divide(product, scale, out=np.zeros_like(product), where=scale > 0))


class Polynomial(DotKernel):
    """(gamma x.u + coef0)^degree."""

    def __init__(self, degree: int, coef0: float) -> None:
        self.degree, self.coef0 = degree, coef0

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        return np.asarray((gamma * product + self.coef0) ** self.degree)
