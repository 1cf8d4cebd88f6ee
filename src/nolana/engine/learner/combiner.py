"""How the scores of several experts become one."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Field
from nolana.engine.learner.residual_variance import Noise

Array = NDArray[np.float64]


class Combiner(ABC):
    """Scores (experts, c) to f (c,)."""

    # Names of the fields that judge the experts by rows that they had not seen: a second pass leaves them as they were.
    judgement: ClassVar[tuple[str, ...]] = ()

    def clear(self, experts: int, outputs: int) -> None:
        """Forget what was learned."""

    def know(self, target: float, error: float) -> None:
        """What is known when the next row is combined; NaN: nothing.

        Regression: error is what the experts did not explain of the last known target. Classes: target is the last
        known label, error 1 if another one had been predicted.
        """

    def set_unknown(self, unknown: bool) -> None:
        """Whether the next row has a category that nobody has learned."""

    @property
    def unexplained(self) -> float:
        """What the experts did not explain of the target of the row that was learned last."""
        return 0.0

    @abstractmethod
    def combine(self, scores: Array) -> Array: ...

    def spread(self, scores: Array, f: Array) -> float:
        """Root mean square distance of the experts' scores of a scalar target from their combination f."""
        return float(np.sqrt(np.mean((scores[:, 0] - f[0]) ** 2)))

    def learn(self, scores: Array, y: Array, f: Array, weight: float) -> None:
        """The row whose scores were combined last."""

    @property
    def noise(self) -> Noise:
        """The noise of a scalar target, as far as it is known."""
        return Noise()

    def target(self, y: Array) -> Array:  # (c,) -> (c,)
        """What the experts learn from the row that the combiner has just learned."""
        return y

    @property
    def alarmed(self) -> bool:
        """Whether the row that was learned last raised the drift alarm."""
        return False

    @property
    def alarms(self) -> list[float]:
        """Rows (from 1) at which the experts' error rose suddenly, the last ones."""
        return []

    def fields(self) -> list[Field]:
        """The state."""
        return []
