"""Why methods of Table 1 score worse than published, if the cause is known: each cause with its numbers."""

from collections.abc import Collection

import numpy as np

from nolana.research import datasets, rivals
from nolana.research.paper.harness.experiment import Cell, Results, Scale
from nolana.research.paper.harness.passes import FACTORS, limit_of, paper_settings, pass_key, passed, tuning_key

MERGED_INTO = "usps_halves"  # the data set on which the budget of DualSGD allows the fewest random projections
LONG_STEPS = "cpusmall"
WIDER = 2


def _wider_key(shuffle: int) -> str:
    return f"why/{MERGED_INTO}/DualSGD/{WIDER} times the projections/shuffle {shuffle}"


def _projections() -> int:
    m, features = paper_settings(MERGED_INTO).n_landmarks, datasets.catalogue()[MERGED_INTO].features
    return int(rivals.at_equal_budget("DualSGD", n_landmarks=m, n_features=features).n_components)


def cells(available: Collection[str], scale: Scale) -> list[Cell]:
    """DualSGD with more projections than its budget allows."""
    if MERGED_INTO not in available:
        return []
    limit = limit_of(MERGED_INTO, scale)
    arguments = {
        "data": MERGED_INTO,
        "method": "DualSGD",
        "limit": limit,
        "rows": min(scale.tuning_rows, limit),
        "beyond": {"n_components": WIDER * _projections()},
    }
    needs = (tuning_key(MERGED_INTO, "DualSGD"),)
    return [
        Cell(_wider_key(shuffle), passed, arguments | {"shuffle": shuffle}, needs, cost=1e-5 * limit)
        for shuffle in range(scale.shuffles)
    ]


def causes(results: Results, short: Collection[tuple[str, str]], scale: Scale) -> list[str]:
    """The known causes for the methods (data, method) that score worse."""
    words = []
    if (MERGED_INTO, "DualSGD") in short:
        wider = [results[_wider_key(shuffle)] for shuffle in range(scale.shuffles)]
        progressive, held_out = (100 * np.mean([run[name] for run in wider]) for name in ("progressive", "held_out"))
        words.append(
            f"""DualSGD on usps: beside its support vectors the budget allows m r/d = {_projections()} random
            projections, into which all other support vectors are merged. With {WIDER * _projections()} projections,
            beyond the budget, it has {progressive:.2f} % (progressive) and {held_out:.2f} % (held out)."""
        )
    if (LONG_STEPS, "DualSGD") in short:
        history = results[pass_key(LONG_STEPS, "DualSGD", 0)]["history"]
        factor = FACTORS["rmse"]
        (early, begun), (rows, whole) = history[len(history) // 10], history[-1]
        rest = factor * np.sqrt(max(0.0, (rows * whole**2 - early * begun**2) / (rows - early)))
        words.append(
            f"""DualSGD on cpusmall: its steps are 1/(lambda t), and with a lambda small enough to learn the first steps
            are far too long. In the first shuffle the RMSE is {factor * begun:.3g} over the first {early:,} rows and
            {rest:.3g} over the others; a score on held-out rows ignores the first rows."""
        )
    return words
