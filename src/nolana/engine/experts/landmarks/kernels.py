"""Kernels of one row against the landmarks: k(x, u_i), and |x - u_i|^2 beside it for the landmark policy.

rbf         exp(-gamma |x - u|^2)
laplacian   exp(-gamma |x - u|_1)
polynomial  (gamma x.u + coef0)^degree
cosine      x.u / |x||u|
linear      x.u

Adding a kernel here and in core/experts/landmarks/kernels.cpp is all there is to do.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Degree, NonNegative

__all__ = ["RBF", "Cosine", "DotKernel", "Kernel", "Laplacian", "Linear", "Polynomial", "UserKernel"]

Array = NDArray[np.float64]

NARROWEST = 1e300  # gamma while one landmark is all there is: every other row counts as far away
SMALLEST_SQUARE = 1e-200  # squares below this are nothing: their inverses overflow
LARGEST_RATIO = 1e15  # of two values k(x, x) in one kernel matrix
LARGEST_VALUE = 1e60  # of a feature; squares of larger ones overflow
SLAB = 32_768  # differences of features that are held at a time


def squared_distances(x: Array, u: Array) -> Array:
    """|x - u_i|^2, by the differences."""
    off = u - x
    return np.asarray(np.einsum("...j,...j->...", off, off))


def decayed(gamma: float, distances: Array) -> Array:
    """exp(-gamma distance), 0 if the product overflows."""
    with np.errstate(over="ignore"):
        return np.exp(-gamma * distances)


def width_of_distances(distances: Array) -> float | None:
    """gamma = 1 / median; None if it is 0, or if there are none."""
    median = float(np.median(distances)) if len(distances) else 0.0
    return 1 / median if median > SMALLEST_SQUARE else None


class Kernel(ABC):
    """gamma is the state of a map, not of its kernel."""

    label: ClassVar[str | None] = None  # its name for users
    uses_gamma: ClassVar[bool] = False
    stationary: ClassVar[bool] = False  # whether k(x, x) is 1 everywhere

    @abstractmethod
    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:  # (d,), (m, d) -> (m,), (m,)
        """k(x, u_i) and |x - u_i|^2."""

    @abstractmethod
    def self(self, x: Array, gamma: float) -> float:
        """k(x, x)."""

    @property
    def largest_value(self) -> float:
        """Features beyond this overflow in the kernel or in the squared distance."""
        return LARGEST_VALUE

    def gram(self, x: Array, z: Array, gamma: float) -> Array:  # (n, d), (m, d) -> (n, m)
        """The kernel matrix of two blocks, row by row, so that it does not depend on the block.

        Symmetric to the last bit if both blocks are the same object.
        """
        values = np.array([self.row(row, z, gamma)[0] for row in x]).reshape(len(x), len(z))
        if x is z:
            values = (values + values.T) / 2
            values[np.diag_indices(len(x))] = self.diagonal(x, gamma)
        return values

    def diagonal(self, x: Array, gamma: float) -> Array:
        """k(x_i, x_i)."""
        return np.array([self.self(row, gamma) for row in x])

    def fits(self, x: Array, gamma: float) -> NDArray[np.bool_]:  # (n, d) -> (n,)
        """Whether a kernel matrix with these rows and landmarks of width gamma has an inverse in double precision."""
        return np.ones(len(x), dtype=bool)

    def distances(self, x: Array, u: Array) -> Array:
        """What the width is taken from."""
        return squared_distances(x, u)

    def width_of(self, landmarks: Array) -> float | None:
        """gamma = 1 / median distance between landmarks; None if no two landmarks differ."""
        rows = [self.distances(landmarks[i], landmarks[i + 1 :]) for i in range(len(landmarks) - 1)]
        return width_of_distances(np.concatenate(rows)) if rows else None

    def pairwise(self, x: Array) -> Array:  # (n, d) -> (n, n)
        """The distances between all rows, some rows at a time."""
        step = max(1, SLAB // max(1, x.size))
        slabs = [self.distances(x[i : i + step, None], x) for i in range(0, len(x), step)]
        return np.concatenate(slabs) if slabs else np.zeros((0, 0))

    def first_width(self, x: Array) -> float:
        """gamma while the first row is the only landmark."""
        return NARROWEST if self.uses_gamma else 1.0


class RBF(Kernel):
    """exp(-gamma |x - u|^2)."""

    label = "rbf"
    uses_gamma = stationary = True

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        distances = squared_distances(x, u)
        return decayed(gamma, distances), distances

    def pairwise(self, x: Array) -> Array:
        """By products of the rows around their mean: nothing large cancels if rows are scaled."""
        off = x - x.mean(axis=0) if len(x) else x
        products = off @ off.T
        norms = np.diagonal(products)
        return np.asarray(np.maximum(0.0, norms[:, None] + norms - 2 * products))

    def self(self, x: Array, gamma: float) -> float:
        return 1.0


class Laplacian(Kernel):
    """exp(-gamma |x - u|_1)."""

    label = "laplacian"
    uses_gamma = stationary = True

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        return decayed(gamma, self.distances(x, u)), squared_distances(x, u)

    def self(self, x: Array, gamma: float) -> float:
        return 1.0

    def distances(self, x: Array, u: Array) -> Array:
        return np.asarray(np.abs(u - x).sum(axis=-1))


class DotKernel(Kernel):
    """A function of x.u, |x|^2 and |u|^2."""

    @abstractmethod
    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array: ...

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        product, x_norm, u_norm = u @ x, x @ x, np.einsum("ij,ij->i", u, u)
        distances = np.maximum(0.0, x_norm + u_norm - 2 * product)
        return self.value(product, np.full(len(u), x_norm), u_norm, gamma), distances

    def self(self, x: Array, gamma: float) -> float:
        norm = np.atleast_1d(x @ x)
        return float(self.value(norm, norm, norm, gamma)[0])


class Linear(DotKernel):
    """x.u."""

    label = "linear"

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        return product


class Cosine(DotKernel):
    """x.u / |x||u|, 0 if either is 0."""

    label = "cosine"

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        scale = np.sqrt(x_norm) * np.sqrt(u_norm)
        return np.asarray(np.divide(product, scale, out=np.zeros_like(product), where=scale > 0))


class Polynomial(DotKernel):
    """(gamma x.u + coef0)^degree."""

    label = "polynomial"
    uses_gamma = True

    def __init__(self, degree: Degree, coef0: NonNegative) -> None:
        self.degree, self.coef0 = degree, coef0

    def value(self, product: Array, x_norm: Array, u_norm: Array, gamma: float) -> Array:
        return np.asarray((gamma * product + self.coef0) ** self.degree)

    @property
    def largest_value(self) -> float:
        return float(LARGEST_VALUE ** (1 / self.degree))

    def fits(self, x: Array, gamma: float) -> NDArray[np.bool_]:
        norms = np.einsum("ij,ij->i", x, x)
        return np.asarray(self.value(norms, norms, norms, gamma) < LARGEST_RATIO)

    def first_width(self, x: Array) -> float:
        norm = float(x @ x)
        return 1 / norm if norm > SMALLEST_SQUARE else 1.0


class UserKernel(Kernel):
    """A user's ``block(X, Z) -> K``, one row at a time; it runs in the NumPy engine."""

    user_parameter = "kernel"

    def __init__(self, block: Any) -> None:
        if not callable(block):
            raise ValueError(f"kernel={block!r} is not callable; pass a function block(X, Z) -> K")
        self.block = block  # (n, d), (m, d) -> (n, m)

    def row(self, x: Array, u: Array, gamma: float) -> tuple[Array, Array]:
        if not len(u):
            return np.zeros(0), np.zeros(0)
        return self.evaluate(x[None], u)[0], squared_distances(x, u)

    def self(self, x: Array, gamma: float) -> float:
        return float(self.evaluate(x[None], x[None])[0, 0])

    def evaluate(self, x: Array, z: Array) -> Array:
        values = np.asarray(self.block(x, z), dtype=np.float64)
        if values.shape != (len(x), len(z)) or not np.isfinite(values).all():
            raise ValueError(
                f"kernel: the callable must return finite values of shape {(len(x), len(z))} for blocks of "
                f"{len(x)} and {len(z)} rows; it returned shape {values.shape}"
            )
        return values
