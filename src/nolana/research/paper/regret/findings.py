"""The findings on the claim of √T, as text that follows from the numbers."""

import math

from nolana.research.paper.experiments.table1 import TITLES
from nolana.research.paper.regret.cells import MAIN
from nolana.research.paper.regret.numbers import Numbers, growth

__all__ = ["NEAR_ROOT", "findings", "growth_text"]

NEAR_ROOT = 0.6  # an exponent up to here counts as √T


def findings(numbers: Numbers) -> list[str]:
    """Paragraphs of the report."""
    return [causes_text(numbers), moves_text(numbers), bound_text(numbers)]


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


def causes_text(numbers: Numbers) -> str:
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


def moves_text(numbers: Numbers) -> str:
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


def bound_text(numbers: Numbers) -> str:
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
