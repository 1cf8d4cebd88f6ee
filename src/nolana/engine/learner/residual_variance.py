"""The variance of standardised targets around their predictions, which outliers cannot raise suddenly.

    nu += (min(r^2, 10 nu + .01) - nu) max(.002, 1/(t + 10)),  t the row, from 1

The stack learns with nu itself. A second-order head alone must not: rows that it learned with a small nu would outweigh
all later ones for ever. `NoiseLevel` stays as it is until the driver sets it and reweights the
evidence of all rows.
"""

from nolana.engine.base.state import POSITIVE, Field

START, SMALLEST = 0.1, 1e-3
SLOWEST = 0.002  # gain


class ResidualVariance:
    """nu."""

    def __init__(self, start: float = START) -> None:
        self._start = start
        self.clear()

    def clear(self) -> None:
        """Back to before the first row."""
        self.residual_variance = self._start

    @property
    def noise(self) -> float:
        """nu, and at least 1e-3."""
        return max(self.residual_variance, SMALLEST)

    def observe_row(self, square: float, t: int) -> None:
        """The squared residual of row t."""
        nu = self.residual_variance
        self.residual_variance += (min(square, 10 * nu + 0.01) - nu) * max(SLOWEST, 1 / (t + 10))

    def fields(self) -> list[Field]:
        return [Field(self, "residual_variance", low=0.0)]


class NoiseLevel(ResidualVariance):
    """nu, and the level in use."""

    def __init__(self) -> None:
        super().__init__()

    def clear(self) -> None:
        super().clear()
        self.noise_level = START

    @property
    def noise(self) -> float:
        """The level in use."""
        return self.noise_level

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "noise_level", low=POSITIVE)]
