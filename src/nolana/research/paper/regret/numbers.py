"""The numbers of the section, from the results of the cells: regret, its terms, and how they grow."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nolana.research.paper.harness.experiment import Results
from nolana.research.paper.regret.cells import MAIN, RATE, key_of

__all__ = ["Numbers", "growth"]


def growth(sizes: Sequence[float], values: Sequence[float]) -> float:
    """p of the power T^p with the best fit in logarithms; NaN if a value is not positive."""
    if len(sizes) < 2 or min(values) <= 0:
        return math.nan
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


@dataclass(frozen=True)
class Numbers:
    """Means over the draws."""

    results: Results
    sizes: Mapping[str, Sequence[int]]  # T, by data set
    draws: int

    @property
    def data(self) -> list[str]:
        """The available data sets."""
        return list(self.sizes)

    def mean(self, data: str, rows: int, field: str, arm: str | None = None) -> float:
        """A field of the cells, or of one of their arms."""
        cells = [self.results[key_of(data, rows, draw)] for draw in range(self.draws)]
        return float(np.mean([cell[field] if arm is None else cell["arms"][arm][field] for cell in cells]))

    def regret(self, data: str, rows: int, arm: str) -> float:
        """sum_t L_t(w_t) - L_t(f*)."""
        return self.mean(data, rows, "cost", arm) - self.mean(data, rows, "objective")

    def terms(self, data: str, rows: int) -> dict[str, float]:
        """The terms of the bound for the main arm; all but the spectral error are means over the draws."""
        eta = RATE / math.sqrt(rows)

        def of(field: str) -> float:
            return self.mean(data, rows, field, MAIN)

        first = self.results[key_of(data, rows, 0)]
        radii = of("moves") * (of("largest_norm") + of("largest_image"))
        return {
            "regret": self.regret(data, rows, MAIN),
            "|w*|²/2η": of("start") / (2 * eta),
            "ηΣ|g|²/2": eta / 2 * of("squared_steps"),
            "ηL²T/2": eta / 2 * of("largest_step") * rows,
            "J": of("jumps"),
            "J/2η": of("jumps") / (2 * eta),
            "cost of the map": of("image_cost") - self.mean(data, rows, "objective"),
            "-|w-w*|²/2η": -of("end") / (2 * eta),
            "-slack": of("cost") - of("image_cost") - of("inner"),
            "τ(R+C)": radii,
            "τ(R+C)/2η": radii / (2 * eta),
            "|K-K_s|₂, mean": float(first["spectral"]),
            "Σ√(T_s/T)|K-K_s|₂/λ": float(first["spectral_bound"]),
        }

    def exponent(self, data: str, arm: str, sizes: Sequence[int] | None = None) -> float:
        """The power of T by which the regret of an arm grows over `sizes`, by default all of them."""
        sizes = sizes or self.sizes[data]
        return growth(sizes, [self.regret(data, rows, arm) for rows in sizes])

    def largest_gap(self) -> float:
        """The largest duality gap of all best models, relative to their cost."""
        cells = [
            self.results[key_of(data, rows, draw)]
            for data in self.data
            for rows in self.sizes[data]
            for draw in range(self.draws)
        ]
        return float(max(abs(cell["gap"]) / cell["objective"] for cell in cells))

    def moves_made(self) -> str:
        """The moves for every length, to compare with √T."""
        return "; ".join(
            f"{data} " + ", ".join(f"{self.mean(data, rows, 'moves', MAIN):.0f} of {rows}" for rows in self.sizes[data])
            for data in self.data
        )
