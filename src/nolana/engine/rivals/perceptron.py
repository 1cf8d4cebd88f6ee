"""What the kernel perceptrons share: when to learn, and in which direction.

    two classes: direction y;   several: e_y - e_s, y the row's own class and s the best-scored other one
    margin = direction . f (y f, or f_y - f_s); a mistake is margin <= 0

The squared length of a direction is 1 or 2, so for two classes on two outputs the margin and the squared norm
(2 k(x,x)) are both twice those on one output. The multiclass form is the ultraconservative perceptron of
Crammer, Singer, "Ultraconservative Online Algorithms for Multiclass Problems", JMLR 2003.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.rivals.supports import SupportRival

Array = NDArray[np.float64]


class Perceptron(SupportRival):
    """A perceptron writes `mistake`."""

    def mistake(self, x: Array, direction: Array) -> None:  # (d,), (c,)
        """Learn x in this direction."""
        raise NotImplementedError

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        direction = self.direction(y, f)
        if direction @ f <= 0:
            self.mistake(x, direction)

    @property
    def length(self) -> int:
        """|direction|^2."""
        return 1 if self.outputs == 1 else 2
