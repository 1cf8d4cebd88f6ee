"""Kernels by name, the width from the data, and kernel matrices.

rbf         exp(-gamma |x - z|^2)
laplacian   exp(-gamma |x - z|_1)
polynomial  (gamma x.z + coef0)^degree
cosine      x.z / |x||z|
linear      x.z
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import reference
from nolana.reference.kernels import squared_distances

Array = NDArray[np.float64]
Block = Callable[[Array, Array], Array]  # (n, d), (m, d) -> (n, m)

NAMES = ("rbf", "laplacian", "polynomial", "cosine", "linear")
CLASSES = {"rbf": "RBF", "laplacian": "Laplacian", "polynomial": "Polynomial", "cosine": "Cosine", "linear": "Linear"}

# With one landmark there is no distance to take a width from: every other row counts as far away.
NARROWEST = 1e300


# Squares below this are nothing: their inverses overflow.
SMALLEST_SQUARE = 1e-200


class CallableKernel:
    """A user's ``block(X, Z) -> K``, one row at a time; it runs in the reference engine."""

    def __init__(self, block: Block) -> None:
        self.block = block

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


@dataclass(frozen=True)
class KernelChoice:
    """A kernel as the user asked for it."""

    name: str | Block
    degree: int = 3
    coef0: float = 1.0

    @property
    def needs_reference(self) -> bool:
        return callable(self.name)

    @property
    def uses_gamma(self) -> bool:
        return self.name in ("rbf", "laplacian", "polynomial")

    @property
    def stationary(self) -> bool:
        """Whether k(x, x) is 1 everywhere."""
        return self.name in ("rbf", "laplacian")

    @property
    def largest_value(self) -> float:
        """Features beyond this overflow in the kernel or in the squared distance."""
        return 1e60 ** (1 / self.degree) if self.name == "polynomial" else 1e60

    def build(self, engine: Any) -> Any:
        """The kernel object of an engine."""
        if callable(self.name):
            return CallableKernel(self.name)
        arguments = (self.degree, self.coef0) if self.name == "polynomial" else ()
        return getattr(engine, CLASSES[self.name])(*arguments)

    def gram(self, x: Array, z: Array, gamma: float) -> Array:  # (n, d), (m, d) -> (n, m)
        """The kernel matrix of two blocks, row by row, so that it does not depend on the block.

        Symmetric to the last bit where both blocks are the same object.
        """
        kernel = self.build(reference)
        values = np.array([kernel.row(row, z, gamma)[0] for row in x]).reshape(len(x), len(z))
        if x is z:
            values = (values + values.T) / 2
            values[np.diag_indices(len(x))] = [kernel.self(row, gamma) for row in x]
        return values

    def diagonal(self, x: Array, gamma: float) -> Array:
        """k(x_i, x_i)."""
        kernel = self.build(reference)
        return np.array([kernel.self(row, gamma) for row in x])

    def width_of(self, landmarks: Array) -> float | None:
        """gamma = 1 / median distance between landmarks: squared Euclidean, or absolute for the Laplacian.

        None where no two landmarks differ.
        """
        n = len(landmarks)
        if n < 2:
            return None
        if self.name == "laplacian":
            rows = [np.abs(landmarks[i + 1 :] - landmarks[i]).sum(axis=1) for i in range(n - 1)]
        else:
            rows = [squared_distances(landmarks[i], landmarks[i + 1 :]) for i in range(n - 1)]
        median = float(np.median(np.concatenate(rows)))
        return 1 / median if median > SMALLEST_SQUARE else None

    def first_width(self, x: Array) -> float:
        """gamma while the first row is the only landmark."""
        if self.name != "polynomial":
            return NARROWEST if self.uses_gamma else 1.0
        norm = float(x @ x)
        return 1 / norm if norm > SMALLEST_SQUARE else 1.0
