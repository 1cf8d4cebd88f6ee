"""The cells of Table 2: tuning of each variant, and one pass at a threshold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.research.paper.experiments.moves import DATA, closest, initial_landmarks, scaled
from nolana.research.paper.harness.data import TUNING_SEED, shuffled
from nolana.research.paper.harness.experiment import Array, Result, Results, Source
from nolana.research.paper.harness.passes import paper_settings
from nolana.research.paper.harness.variants import Variant, choose, measured_pass

__all__ = ["TUNED_AT", "VARIANTS", "chosen", "passed"]

TUNED_AT = 50
# By title: solver, refit, most shuffles, whether it is tuned.
VARIANTS = {
    "the paper's": ("randomized", "paper", 1, True),
    "inverse": ("inverse", "carry", 3, True),
    "Newton": ("Newton", "carry", 3, False),
}


def _stream(source: Source, inputs: Results, limit: int, seed: int) -> tuple[Array, NDArray[Any], Array | None]:
    """Shuffled rows, labels and initial landmarks, with the closest scaling and start."""
    setting = closest([inputs[key] for key in inputs if key.startswith("moves/")])
    X = scaled(source, limit, setting["scaling"], setting["factor"])
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], shuffled(source, DATA, limit, seed)[1], initial_landmarks(X, setting["start"], seed)


def variant_of(title: str, threshold: float, initial: Array | None) -> Variant:
    """One of VARIANTS at a threshold."""
    solver, refit, _, _ = VARIANTS[title]
    return Variant(solver, refit, paper_settings(DATA).n_landmarks, paper_settings(DATA).loss, threshold, initial)


def chosen(source: Source, inputs: Results, *, title: str, limit: int, rows: int, candidates: int) -> Result:
    """The parameters of a variant, tuned at one threshold for all thresholds."""
    X, y, initial = _stream(source, inputs, limit, TUNING_SEED)
    return choose(variant_of(title, float(TUNED_AT), initial), X[:rows], y[:rows], candidates)


def passed(source: Source, inputs: Results, *, title: str, limit: int, threshold: int, shuffle: int) -> Result:
    """One pass at a threshold."""
    X, y, initial = _stream(source, inputs, limit, shuffle)
    parameters: dict[str, Any] = next(
        (inputs[key]["parameters"] for key in inputs if key.startswith("table2/choose/")), {}
    )
    return measured_pass(variant_of(title, float(threshold), initial).build(parameters, shuffle), X, y)
