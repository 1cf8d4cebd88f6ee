"""The variance of standardised targets around their predictions, which outliers cannot raise suddenly.

    nu += (min(r^2, 10 nu + .01) - nu) max(.002, 1/(t + 10)),  t the row, from 1

The stack learns with nu itself, and so do its experts. They cut residuals at 3 standard deviations, which would bias
the mean of skewed targets (many zeros, a long tail): so a skewed side is cut later, until as much is cut off above as
below.

    u = 1 + max(0, skew) above, d = 1 + max(0, -skew) below:  r is cut at -3 d sqrt(nu) and 3 u sqrt(nu)
    skew += w .01 (min(3, (r/sqrt(nu) - 3 u)+) - min(3, (-r/sqrt(nu) - 3 d)+)),  within +-6
    nu counts r^2 up to 10 u^2 nu above and 10 d^2 nu below

Outliers on both sides change nothing, and one outlier changes the skew by .03 at most.

A second-order head alone must not learn with nu: rows that it learned with a small nu would outweigh all later ones for
ever. `NoiseLevel` stays as it is until the driver sets it and reweights the evidence of all rows.
"""

import math
from typing import NamedTuple

from nolana.engine.base.state import POSITIVE, Field

START, SMALLEST = 0.1, 1e-3
SLOWEST = 0.002  # gain
CLIP = 3.0  # standard deviations of a residual
SKEW_GAIN, LARGEST_SKEW = 0.01, 6.0


class Noise(NamedTuple):
    """What residuals are like: their variance, and how many times further than others a skewed side is believed."""

    variance: float = 1.0
    above: float = 1.0
    below: float = 1.0

    def clip(self, r: float, limit: float) -> float:
        """A residual within `limit`, on a skewed side within more."""
        return min(self.above * limit, max(-self.below * limit, r))


class ResidualVariance:
    """nu."""

    def __init__(self, start: float = START) -> None:
        self._start = start
        self.clear()

    def clear(self) -> None:
        """Back to before the first row."""
        self.residual_variance = self._start

    @property
    def noise(self) -> Noise:
        """nu, and at least 1e-3."""
        return Noise(max(self.residual_variance, SMALLEST))

    def observe_row(self, square: float, t: int, reach: float = 1.0) -> None:
        """The squared residual of row t, on a side that is believed `reach` times further than usual."""
        nu = self.residual_variance
        self.residual_variance += (min(square, 10 * reach * reach * nu + 0.01) - nu) * max(SLOWEST, 1 / (t + 10))

    def fields(self) -> list[Field]:
        return [Field(self, "residual_variance", low=0.0)]


class SkewedVariance(ResidualVariance):
    """nu and the skew."""

    def clear(self) -> None:
        super().clear()
        self.skew = 0.0

    @property
    def noise(self) -> Noise:
        """nu, u and d."""
        return Noise(super().noise.variance, 1 + max(0.0, self.skew), 1 + max(0.0, -self.skew))

    def observe_residual(self, residual: float, t: int, weight: float) -> None:
        """The residual of row t; it may be infinite."""
        nu, above, below = self.noise
        r = residual / math.sqrt(nu)
        cut = min(CLIP, max(0.0, r - CLIP * above)) - min(CLIP, max(0.0, -r - CLIP * below))
        self.skew = min(LARGEST_SKEW, max(-LARGEST_SKEW, self.skew + weight * SKEW_GAIN * cut))
        self.observe_row(residual * residual, t, above if residual > 0 else below)

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "skew", low=-LARGEST_SKEW, high=LARGEST_SKEW)]


class NoiseLevel(ResidualVariance):
    """nu, and the level in use."""

    def __init__(self) -> None:
        super().__init__()

    def clear(self) -> None:
        super().clear()
        self.noise_level = START

    @property
    def noise(self) -> Noise:
        """The level in use."""
        return Noise(self.noise_level)

    def fields(self) -> list[Field]:
        return [*super().fields(), Field(self, "noise_level", low=POSITIVE)]
