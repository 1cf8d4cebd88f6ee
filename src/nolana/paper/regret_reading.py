"""What the numbers say about the claim of √T, in words that follow from them."""

import math

from nolana.paper.regret_cells import MAIN
from nolana.paper.regret_numbers import Numbers, growth
from nolana.paper.table1 import TITLES

__all__ = ["reading"]

NEAR_ROOT = 0.6  # an exponent up to here counts as √T


def reading(numbers: Numbers) -> list[str]:
    """Paragraphs."""
    return [
        f"{on_the_growth(numbers)} {on_the_causes(numbers)}",
        on_the_moves(numbers),
        on_the_bound(numbers),
    ]


def on_the_growth(numbers: Numbers) -> str:
    """Whether it is √T."""
    powers = {data: numbers.exponent(data, MAIN) for data in numbers.data}
    if any(math.isnan(power) for power in powers.values()):
        return "With √T moves the regret is not positive at every length, so no power of T fits it."
    told = " and ".join(
        f"T^{power:.2f} on {TITLES[data]} (T^{numbers.exponent(data, MAIN, numbers.sizes[data][-2:]):.2f} in the last "
        "doubling)"
        for data, power in powers.items()
    )
    slow = [power <= NEAR_ROOT for power in powers.values()]
    if all(slow):
        verdict = f"no faster than √T, if {NEAR_ROOT:g} still counts as a half, as the paper claims"
    elif any(slow):
        verdict = f"√T on some of the data, if {NEAR_ROOT:g} still counts as a half, and faster on the rest"
    elif max(powers.values()) < 1:
        verdict = "slower than T, but faster than √T, so the claim is not quite met over these lengths"
    else:
        verdict = "the claim of √T is not met over these lengths"
    return f"With √T moves the regret grows like {told}: {verdict}."


def on_the_causes(numbers: Numbers) -> str:
    """Which terms carry the growth."""
    told = []
    for data in numbers.data:
        sizes = numbers.sizes[data]
        first, last = (numbers.mean(data, rows, "start", MAIN) for rows in (sizes[0], sizes[-1]))
        norm = numbers.mean(data, sizes[-1], "squared_norm")
        terms = numbers.terms(data, sizes[-1])
        told.append(
            f"""on {TITLES[data]} |w*|² goes from {first:.0f} to {last:.0f} (|f*|² is {norm:.0f}), and the price of
            the map is {terms["price of the map"] / terms["regret"]:.0%} of the regret at the end"""
        )
    return f"""Two things come from the map having √T landmarks only: the best model is seen through it, so its
        image w* is smaller than it and comes nearer with more landmarks, and what the map cannot express no step can
        win back. In numbers, {"; ".join(told)}."""


def on_the_moves(numbers: Numbers) -> str:
    """The factor that the printed proof drops, and what moves did."""
    told = []
    for data in numbers.data:
        sizes = numbers.sizes[data]
        terms = numbers.terms(data, sizes[-1])
        power = growth(sizes, [numbers.terms(data, rows)["τ(R+C)/2η"] for rows in sizes])
        told.append(
            f"""{TITLES[data]}: {terms["τ(R+C)"]:,.0f} as printed, {terms["τ(R+C)/2η"]:,.0f} with the factor,
            growing like T^{power:.2f}; what the moves really added, J/2η, is {terms["J/2η"]:+.1f} of a regret of
            {terms["regret"]:.1f}, {terms["J"] / terms["τ(R+C)"]:.2%} of what the bound allows for"""
        )
    return f"""The proof as printed drops a factor 1/2η before τ(R+C), and the cross terms of the squares. With the
        factor the term is τ(R+C)/2η, and for η of the order 1/√T and τ of the order √T that is of the order T:
        put right, the bound no longer excludes regret that is linear in T, and √T does not follow from it. At the
        longest T, on {"; on ".join(told)}."""


def on_the_bound(numbers: Numbers) -> str:
    """T moves, and how much the bound is worth."""
    told, harmless, sums = [], [], []
    for data in numbers.data:
        rows = numbers.sizes[data][-1]
        always, some, none = (numbers.regret(data, rows, arm) for arm in ("every row moves", MAIN, "no moves"))
        harmless.append(always < 1.25 * some)
        told.append(f"{always:.1f} on {TITLES[data]} (√T moves {some:.1f}, none {none:.1f})")
        terms = numbers.terms(data, rows)
        bound = sum(terms[name] for name in ("|w*|²/2η", "ηL²T/2", "τ(R+C)", "Σ√(T_s/T)|K-K_s|₂/λ"))
        sums.append(bound / (rows * math.log(2)))
    practice = (
        "so in practice moves do not hurt the way the bound must fear"
        if all(harmless)
        else "so many moves can hurt in practice too"
    )
    worth = "says nothing here" if min(sums) > 1 else "says little here" if max(sums) > 1 else "says something here"
    return f"""Where every row moves a landmark, T moves instead of √T, the regret at the longest T is
        {" and ".join(told)}, {practice}. As a number the bound {worth}, even as printed: its terms add up to
        {" and ".join(f"{value:.1f}" for value in sums)} times T log 2, which is what a model costs that always
        answers 0."""
