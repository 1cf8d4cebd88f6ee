"""A budgeted support set in NumPy: vectors, their coefficients for each output, their order of arrival."""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count
from nolana.engine.base.state import Size
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.rivals.rival import OUTPUTS, Field, Rival

Array = NDArray[np.float64]


class SupportRival(Rival):
    """A rival f_o(x) = sum_i weights_oi k(x, supports_i) on at most `budget` support vectors."""

    def __init__(self, features: Count, budget: Count, kernel: Kernel) -> None:
        super().__init__(features)
        self.budget, self.kernel = budget, kernel
        self.reset()

    def reset(self) -> None:
        self.supports: Array = np.zeros((0, self.features))
        self.weights = np.zeros((self.outputs, 0))  # (c, n)
        self.ages: Array = np.zeros(0)
        self.arrivals: Array = np.zeros(1)
        self.k: Array = np.zeros(0)

    @property
    def side(self) -> Size:
        return Size("supports", self.budget)

    def fields(self) -> list[Field]:
        own = [Field(self, "supports", (self.side, self.features)), Field(self, "weights", (OUTPUTS, self.side))]
        return [*super().fields(), *own, Field(self, "ages", (self.side,)), Field(self, "arrivals", (1,))]

    def restored(self) -> None:
        self.k = np.zeros(self.size)

    @property
    def size(self) -> int:
        return len(self.supports)

    def score(self, x: Array) -> Array:
        self.k = self.kernel.row(x, self.supports, self.gamma)[0]  # the update that follows uses it
        return self.weights @ self.k

    def self_value(self, x: Array) -> float:
        return self.kernel.self(x, self.gamma)

    def add(self, x: Array, coefficients: Array) -> None:  # (d,), (c,)
        self.supports = np.vstack([self.supports, x])
        self.weights = np.column_stack([self.weights, coefficients])
        self.ages = np.append(self.ages, self.arrivals[0])
        self.arrivals = self.arrivals + 1
        self.k = np.append(self.k, self.self_value(x))

    def remove(self, i: int) -> None:
        """The last vector takes the place of vector i."""
        last = self.size - 1
        for name in ("supports", "ages", "k"):
            array = getattr(self, name)
            array[i] = array[last]
            setattr(self, name, array[:last].copy())
        self.weights[:, i] = self.weights[:, last]
        self.weights = np.ascontiguousarray(self.weights[:, :last])

    def replace(self, i: int, x: Array) -> None:
        """Vector i is now x, and the youngest; its coefficients are the caller's."""
        self.supports[i] = x
        self.ages[i] = self.arrivals[0]
        self.arrivals = self.arrivals + 1

    def oldest(self) -> int:
        return int(np.argmin(self.ages))

    def gram(self) -> Array:
        """k(x_i, x_j) over the support set."""
        rows = [self.kernel.row(s, self.supports, self.gamma)[0] for s in self.supports]
        return np.array(rows).reshape(self.size, self.size)


class GrowingRival(SupportRival):
    """A support set without a bound; `budget` is its first room."""

    @property
    def side(self) -> Size:
        return Size("supports")
