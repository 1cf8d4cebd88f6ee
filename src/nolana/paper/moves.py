"""How often the landmarks of usps move at the thresholds of Table 2, under a scaling and a start."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.classifier import NolanaClassifier
from nolana.paper.experiment import Result, Results, Source
from nolana.paper.passes import facts_of
from nolana.paper.published import TABLE2
from nolana.paper.rows import TUNING_SEED, rows_of, shuffled
from nolana.paper.scalings import FITTED, SCALINGS, STARTS, best_factor
from nolana.tuning import distance_of

__all__ = ["DATA", "counted", "expected", "misfit", "nearest", "scaled", "started"]

Array = NDArray[np.float64]

DATA = "usps_halves"


def expected(rows: int) -> Array:
    """The published moves, for a stream of so many rows."""
    return np.array([moves for _, _, moves in TABLE2.values()]) * rows / facts_of(DATA).rows


def misfit(moves: Sequence[int], rows: int) -> float:
    """The mean over the thresholds of |log((moves + 1)/(published + 1))|."""
    return float(np.abs(np.log((np.array(moves) + 1) / (expected(rows) + 1))).mean())


def scaled(source: Source, limit: int, scaling: str, factor: float) -> Array:
    """All rows, in the order of the file."""
    apply = SCALINGS[scaling] if scaling in SCALINGS else FITTED[scaling][0]
    return factor * apply(rows_of(source, DATA, limit)[0])


def started(X: Array, start: str, shuffle: int) -> Array | None:
    """The landmarks to begin with."""
    return STARTS[start](X, facts_of(DATA).n_landmarks, np.random.default_rng([shuffle, TUNING_SEED]))


def moves_of(X: Array, y: NDArray[Any], initial: Array | None) -> list[int]:
    """How often landmarks move at each threshold; whatever the solver, so the fastest counts."""
    found = []
    for threshold in TABLE2:
        learner = NolanaClassifier(
            n_landmarks=facts_of(DATA).n_landmarks,
            optimizer="sgd",
            gamma=1 / distance_of(X),
            threshold=float(threshold),
            initial_landmarks=initial,
        )
        found.append(learner.partial_fit(X, y).n_moves_)
    return found


def counted(source: Source, _: Results, *, limit: int, scaling: str, start: str) -> Result:
    """The moves of the first shuffle under a scaling and a start, and how far they are from the published ones."""
    order = np.random.default_rng(0).permutation(len(rows_of(source, DATA, limit)[1]))
    y = shuffled(source, DATA, limit, 0)[1]

    def moves(factor: float) -> list[int]:
        X = scaled(source, limit, scaling, factor)
        return moves_of(X[order], y, started(X, start, 0))

    factor = 1.0
    if scaling in FITTED:
        low, high = FITTED[scaling][1:]
        factor = best_factor(lambda tried: misfit(moves(tried), len(y)), low, high)
    found = moves(factor)
    return {
        "scaling": scaling,
        "start": start,
        "factor": factor,
        "moves": found,
        "misfit": misfit(found, len(y)),
        "distance": distance_of(scaled(source, limit, scaling, factor)),
    }


def nearest(counts: Sequence[Result]) -> Result:
    """The scaling and start whose moves are most like the published ones."""
    return min(counts, key=lambda result: float(result["misfit"]))
