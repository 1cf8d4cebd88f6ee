"""How often the landmarks of usps move at the thresholds of Table 2, for a scaling and initial landmarks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.classifier import NolanaClassifier
from nolana.research.paper.experiments.scalings import FITTED, SCALINGS, STARTS, best_factor
from nolana.research.paper.harness.data import TUNING_SEED, rows_of, shuffled
from nolana.research.paper.harness.experiment import Array, Result, Results, Source
from nolana.research.paper.harness.passes import paper_settings
from nolana.research.paper.harness.published import TABLE2
from nolana.research.tuning import distance_of

__all__ = ["DATA", "closest", "counted", "expected", "initial_landmarks", "misfit", "scaled"]

DATA = "usps_halves"


def expected(rows: int) -> Array:
    """The published numbers of moves, in proportion to a stream of `rows` rows."""
    return np.array([moves for _, _, moves in TABLE2.values()]) * rows / paper_settings(DATA).rows


def misfit(moves: Sequence[int], rows: int) -> float:
    """The mean over the thresholds of |log((moves + 1)/(published + 1))|."""
    return float(np.abs(np.log((np.array(moves) + 1) / (expected(rows) + 1))).mean())


def scaled(source: Source, limit: int, scaling: str, factor: float) -> Array:
    """All rows, in the order of the file."""
    apply = SCALINGS[scaling] if scaling in SCALINGS else FITTED[scaling][0]
    return factor * apply(rows_of(source, DATA, limit)[0])


def initial_landmarks(X: Array, start: str, shuffle: int) -> Array | None:
    """The initial landmarks; None: the first rows."""
    return STARTS[start](X, paper_settings(DATA).n_landmarks, np.random.default_rng([shuffle, TUNING_SEED]))


def moves_of(X: Array, y: NDArray[Any], initial: Array | None) -> list[int]:
    """How often landmarks move at each threshold. All solvers move alike, so the fastest one is used."""
    moves = []
    for threshold in TABLE2:
        learner = NolanaClassifier(
            n_landmarks=paper_settings(DATA).n_landmarks,
            optimizer="sgd",
            gamma=1 / distance_of(X),
            threshold=float(threshold),
            initial_landmarks=initial,
            scale=False,
        )
        moves.append(learner.partial_fit(X, y).n_moves_)
    return moves


def counted(source: Source, _: Results, *, limit: int, scaling: str, start: str) -> Result:
    """The moves of the first shuffle for a scaling and a start, and their distance from the published ones."""
    order = np.random.default_rng(0).permutation(len(rows_of(source, DATA, limit)[1]))
    y = shuffled(source, DATA, limit, 0)[1]

    def moves_with(factor: float) -> list[int]:
        X = scaled(source, limit, scaling, factor)
        return moves_of(X[order], y, initial_landmarks(X, start, 0))

    factor = 1.0
    if scaling in FITTED:
        low, high = FITTED[scaling][1:]
        factor = best_factor(lambda tried: misfit(moves_with(tried), len(y)), low, high)
    moves = moves_with(factor)
    return {
        "scaling": scaling,
        "start": start,
        "factor": factor,
        "moves": moves,
        "misfit": misfit(moves, len(y)),
        "distance": distance_of(scaled(source, limit, scaling, factor)),
    }


def closest(counts: Sequence[Result]) -> Result:
    """The scaling and start whose moves are closest to the published ones."""
    return min(counts, key=lambda result: float(result["misfit"]))
