"""A map turns rows into features and knows when it changes; the heads that learn on it are notified."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Field, Size

Array = NDArray[np.float64]


class Growth(NamedTuple):
    """One more feature: P' = P (+) 0 + z z'/g."""

    z: Array  # (m + 1,)
    g: float


class Move(NamedTuple):
    """Landmark q moved: weights become T alpha with T = I + carry e_q'."""

    q: int
    s: float  # how new the place is
    carry: Array  # (m,)
    column: Array  # P'[:,q] (m,)


class Remap(NamedTuple):
    """All features changed at once: weights (c, m) become carry(weights)."""

    carry: Callable[[Array], Array]


Event = Growth | Move | Remap


class Map(ABC):
    """Features of one row at a time, in `phi`, until the next `evaluate`."""

    remaps = False  # whether its changes are events of kind Remap, which only first-order heads support
    takes_sparse_rows: ClassVar[bool] = False  # whether it reads the non-zeros of a row, by `evaluate_sparse`
    phi: Array
    self_value: float  # k(x, x) of the row

    def __init__(self, features: int) -> None:
        self.features = features
        self._listeners: list[Callable[[Event], None]] = []

    def attach(self, listener: Callable[[Event], None]) -> None:
        self._listeners.append(listener)

    def notify(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    @property
    @abstractmethod
    def side(self) -> Size | int:
        """How many features: a size of the state, or a fixed number."""

    def clear(self) -> None:
        """Forget what was learned: nothing, unless the map learns."""

    def drifted(self) -> None:
        """The row that is being learned has raised the drift alarm."""

    def see(self, raw: Array | None) -> None:  # (d,)
        """The row as it came, with keys of categories and NaN, before it is scaled; None if no cell is special."""

    @abstractmethod
    def evaluate(self, x: Array) -> None:  # (d,)
        """The features of a row."""

    def evaluate_sparse(self, places: NDArray[np.int32], values: Array) -> None:
        """The features of a row whose non-zeros have these places."""
        raise ValueError("this map takes dense rows")

    def prior(self) -> Array:
        """P (m, m), the prior covariance of the weights up to a factor."""
        raise ValueError(f"{type(self).__name__} has no prior matrix")

    def prior_product(self) -> Array:
        """P phi of the row."""
        raise ValueError(f"{type(self).__name__} has no prior matrix")

    def fields(self) -> list[Field]:
        """The state: empty, unless the map learns."""
        return []

    def restored(self) -> None:
        """The fields have been set."""

    def before(self, step: int) -> None:
        """The row is about to be learned; `step` counts the rows learned, with this one."""

    def after(self, step: int) -> None:
        """The row was learned."""

    def observe(self) -> None:
        """The row has no label; only what needs none learns it."""

    def transform(self, x: Array) -> Array:  # (n, d) -> (n, m)
        """The features of rows that are not learned."""
        rows = []
        for row in x:
            self.evaluate(row)
            rows.append(self.phi.copy())
        return np.array(rows).reshape(len(x), -1) if rows else np.zeros((0, len(self.phi)))
