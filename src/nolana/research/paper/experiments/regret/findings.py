"""What the cells of the regret experiment say: regret, its terms, how they grow, and the findings as text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nolana.research.paper.experiments.regret.cells import MAIN, RATE, key_of
from nolana.research.paper.experiments.table1 import TITLES
from nolana.research.paper.harness import Results

NEAR_ROOT = 0.6  # an exponent up to here counts as √T


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


def findings(numbers: Numbers) -> list[str]:
    """Paragraphs of the report."""
    return [_causes_text(numbers), _moves_text(numbers), _bound_text(numbers)]


def growth_text(numbers: Numbers) -> str:
    """Whether the regret grows like √T."""
    powers = {data: numbers.exponent(data, MAIN) for data in numbers.data}
    if any(math.isnan(power) for power in powers.values()):
        return "With √T moves the regret is not positive at every length, so no power of T fits it."
    by_data = " and ".join(
        f"T^{power:.2f} on {TITLES[data]} (T^{numbers.exponent(data, MAIN, numbers.sizes[data][-2:]):.2f} in the last "
        "doubling)"
        for data, power in powers.items()
    )
    slow = [power <= NEAR_ROOT for power in powers.values()]
    if all(slow):
        verdict = f"no faster than √T, as the paper claims (an exponent up to {NEAR_ROOT:g} counts as a half)"
    elif any(slow):
        verdict = f"like √T on some data sets (an exponent up to {NEAR_ROOT:g} counts as a half) and faster on the rest"
    elif max(powers.values()) < 1:
        verdict = "slower than T but faster than √T, so the claim does not quite hold over these lengths"
    else:
        verdict = "the claim of √T does not hold over these lengths"
    return f"With √T moves the regret grows like {by_data}: {verdict}."


def _causes_text(numbers: Numbers) -> str:
    """Which terms cause the growth."""
    by_data = []
    for data in numbers.data:
        sizes = numbers.sizes[data]
        first, last = (numbers.mean(data, rows, "start", MAIN) for rows in (sizes[0], sizes[-1]))
        norm = numbers.mean(data, sizes[-1], "squared_norm")
        terms = numbers.terms(data, sizes[-1])
        by_data.append(
            f"""on {TITLES[data]} |w*|² grows from {first:.0f} to {last:.0f} (|f*|² is {norm:.0f}), and the cost of the
            map is {terms["cost of the map"] / terms["regret"]:.0%} of the regret at the end"""
        )
    return f"""Two effects come from the small map of only √T landmarks: the image w* of the best model is smaller than
        the model itself and approaches it with more landmarks, and no step can recover what the map cannot express. In
        numbers, {"; ".join(by_data)}."""


def _moves_text(numbers: Numbers) -> str:
    """The missing factor in the printed proof, and the measured effect of the moves."""
    by_data = []
    for data in numbers.data:
        sizes = numbers.sizes[data]
        terms = numbers.terms(data, sizes[-1])
        power = growth(sizes, [numbers.terms(data, rows)["τ(R+C)/2η"] for rows in sizes])
        by_data.append(
            f"""{TITLES[data]}: {terms["τ(R+C)"]:,.0f} as printed, {terms["τ(R+C)/2η"]:,.0f} with the factor, growing
            like T^{power:.2f}; the measured effect of the moves, J/2η, is {terms["J/2η"]:+.1f} of a regret of
            {terms["regret"]:.1f}, {terms["J"] / terms["τ(R+C)"]:.2%} of the bound"""
        )
    return f"""The printed proof drops a factor 1/2η before τ(R+C), and the cross terms of the squares. With the factor
        the term is τ(R+C)/2η, and for η of the order 1/√T and τ of the order √T that is of the order T: the corrected
        bound does not exclude regret that is linear in T, so √T does not follow from it. At the longest T, on
        {"; on ".join(by_data)}."""


def _bound_text(numbers: Numbers) -> str:
    """The regret with T moves, and the size of the bound."""
    by_data, harmless, sums = [], [], []
    for data in numbers.data:
        rows = numbers.sizes[data][-1]
        always, some, none = (numbers.regret(data, rows, arm) for arm in ("every row moves", MAIN, "no moves"))
        harmless.append(always < 1.25 * some)
        by_data.append(f"{always:.1f} on {TITLES[data]} (√T moves {some:.1f}, none {none:.1f})")
        terms = numbers.terms(data, rows)
        bound = sum(terms[name] for name in ("|w*|²/2η", "ηL²T/2", "τ(R+C)", "Σ√(T_s/T)|K-K_s|₂/λ"))
        sums.append(bound / (rows * math.log(2)))
    practice = (
        "so in practice moves do not harm as the bound allows"
        if all(harmless)
        else "so many moves can harm in practice too"
    )
    size = (
        "is too large to be useful here"
        if min(sums) > 1
        else "is of little use here"
        if max(sums) > 1
        else "is informative here"
    )
    return f"""If every row moves a landmark, T moves instead of √T, the regret at the longest T is
        {" and ".join(by_data)}, {practice}. The value of the bound {size}, even as printed: its terms add up to
        {" and ".join(f"{value:.1f}" for value in sums)} times T log 2, the cost of a model that always predicts 0."""
