"""What is learned on the features of a map: f_o(x) = w_o . phi(x) for c outputs."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from nolana.engine.base.state import OUTPUTS, Field
from nolana.engine.experts.map import Array, Event, Growth, Map, Move
from nolana.engine.learner.losses import Loss
from nolana.engine.learner.residual_variance import Noise


def unseen(rows: int) -> float:
    """The log-odds of a class that none of so many rows had."""
    return -math.log(rows + 1)


class Head(ABC):
    """weights (c, m); it sees the features, the prior product and the events of its map, nothing else."""

    encodes: ClassVar[bool] = False  # whether it says what other maps see in place of categories
    judging = True  # whether rows say something new about what was learned; not in a second pass

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.weights: Array = np.zeros((0, 0))

    def attach(self, map: Map) -> None:
        """Called once by the learner; ValueError if this head cannot learn on the map."""
        self.map = map
        map.attach(self.follow)

    @property
    def outputs(self) -> int:
        return len(self.weights)

    def clear(self, outputs: int) -> None:
        """Forget what was learned; this many outputs from now on."""
        self.weights = np.zeros((outputs, self.map.side if isinstance(self.map.side, int) else 0))

    def append_output(self, rows: int) -> None:
        """One output more, which has been -1 for so many rows: w = -P 1."""
        self.weights = np.vstack([self.weights, -self.map.prior().sum(axis=1)])

    def scores(self) -> Array:  # (c,)
        """f of the row that the map evaluated."""
        return self.weights @ self.map.phi

    def connect(self, heads: list["Head"]) -> None:
        """All heads of the learner, in the order of the experts; for a head that reads another one."""

    def encode(self, raw: Array) -> Array:  # (d,) -> (d,)
        """The row that the map has seen, with numbers in place of its categories."""
        return raw

    def has_unknown(self) -> bool:
        """Whether the row that the map has seen has a category that nobody has learned."""
        return False

    @abstractmethod
    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:  # (c,), (c,)
        """The row that was scored; step counts rows from 1, noise is that of a scalar target."""

    def observe(self) -> None:
        """A row without a label, which the map has observed."""

    def follow(self, event: Event) -> None:
        """The map changed."""
        if isinstance(event, Growth):
            self.weights = np.column_stack([self.weights, np.zeros(self.outputs)])
        elif isinstance(event, Move):
            self.weights = self.weights + np.outer(self.weights[:, event.q], event.carry)
        else:
            self.weights = event.carry(self.weights)

    def fields(self) -> list[Field]:
        return [Field(self, "weights", (OUTPUTS, self.map.side))]

    def restored(self) -> None:
        """The fields have been set."""
