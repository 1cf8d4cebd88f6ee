"""What every rival shares in NumPy."""

import numpy as np

from nolana.engine.base.state import OUTPUTS, POSITIVE, Array, Field
from nolana.engine.learner.online import Online

__all__ = ["OUTPUTS", "Array", "Field", "Rival"]


class Rival(Online):
    """A rival writes `reset`, `score` and `update`, and names its state."""

    matrix = False  # whether it has a matrix over its support vectors

    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.gamma = 1.0
        self.weights: Array = np.zeros((1, 0))

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "gamma", low=POSITIVE)]

    @staticmethod
    def direction(y: Array, f: Array) -> Array:  # (c,), (c,) -> (c,)
        """Where a row pulls: y for one output; e_y - e_s for several, y its class and s the best-scored other one."""
        if len(y) == 1:
            return y
        own = int(np.argmax(y))
        others = f.copy()
        others[own] = -np.inf
        direction = np.zeros(len(y))
        direction[own], direction[np.argmax(others)] = 1, -1
        return direction
