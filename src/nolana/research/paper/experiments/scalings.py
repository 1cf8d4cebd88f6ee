"""Possible scalings of the features of usps, and possible initial landmarks: the paper does not describe either.

The thresholds of Table 2 are squared distances in unknown units, so the numbers of moves are evidence for both.
"""

from collections.abc import Callable, Mapping

import numpy as np

from nolana.research.paper.harness.experiment import Array


def standardised_features(X: Array) -> Array:
    """Every feature with mean 0 and standard deviation 1; a constant feature becomes 0."""
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def standardised_rows(X: Array) -> Array:
    """Every row with mean 0 and standard deviation 1."""
    deviation = X.std(axis=1, keepdims=True)
    return np.asarray((X - X.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0))


def centred_unit_rows(X: Array) -> Array:
    """Every row minus the mean row, scaled to length 1."""
    centred = X - X.mean(axis=0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(length > 0, length, 1.0))


SCALINGS: Mapping[str, Callable[[Array], Array]] = {
    "as distributed, [-1, 1]": lambda X: X,
    "[0, 1]": lambda X: (X + 1) / 2,
    "every feature standardised": standardised_features,
    "one deviation for all, 1": lambda X: X / (float(X.std()) or 1.0),
    "every image standardised": standardised_rows,
}
# Scaling and the bounds of a factor, which is fitted to the published numbers of moves.
FITTED: Mapping[str, tuple[Callable[[Array], Array], float, float]] = {
    "as distributed, times a factor": (lambda X: X, 0.7, 4.0),
    "centred, all rows of one length": (centred_unit_rows, 5.0, 30.0),
}


def _noise(X: Array, count: int, rng: np.random.Generator) -> Array:
    return np.asarray(X.mean(axis=0) + X.std(axis=0) * rng.normal(size=(count, X.shape[1])))


# Initial landmarks from scaled rows, a count and a generator; None: the first rows become the landmarks.
STARTS: Mapping[str, Callable[[Array, int, np.random.Generator], Array | None]] = {
    "the first rows": lambda X, count, rng: None,
    "rows drawn at random": lambda X, count, rng: X[rng.choice(len(X), count, replace=len(X) < count)],
    "normal noise like the rows": _noise,
}


def best_factor(misfit: Callable[[float], float], low: float, high: float, rounds: int = 4) -> float:
    """The factor with the least misfit: five values on a logarithmic scale, then five around the best, and so on."""
    known: dict[float, float] = {}
    for _ in range(rounds):
        tried = [float(factor) for factor in np.geomspace(low, high, 5)]
        for factor in tried:
            if factor not in known:
                known[factor] = misfit(factor)
        best = min(range(5), key=lambda i: known[tried[i]])
        low, high = tried[max(0, best - 1)], tried[min(4, best + 1)]
    return min(known, key=lambda factor: known[factor])
