"""The cells of Table 2: how often landmarks move by scaling and start, tuning of each variant, and its passes.

The paper describes neither the scaling of the features of usps nor the initial landmarks. The thresholds of Table 2 are
squared distances in unknown units, so the numbers of moves are evidence for both.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nolana.estimators.classifier import NolanaClassifier
from nolana.metrics.label_index import Labels
from nolana.research.paper.harness import Array, Result, Results, Source
from nolana.research.paper.harness.data import TUNING_SEED, rows_of
from nolana.research.paper.harness.passes import choose, paper_settings
from nolana.research.paper.harness.variants import Variant, measured_pass
from nolana.research.tuning import distance_of

# Published, by the threshold: accuracy %, seconds, moves.
TABLE2 = {
    0: (92.00, 30.43, 9298),
    25: (91.91, 25.98, 7742),
    50: (92.14, 20.57, 5523),
    100: (90.91, 9.67, 1262),
    200: (90.27, 5.91, 23),
    300: (90.52, 5.75, 0),
}
DATA = "usps_halves"
TUNED_AT = 50
# By title: solver, refit, most shuffles, whether it is tuned.
VARIANTS = {
    "the paper's": ("randomized", "paper", 1, True),
    "inverse": ("inverse", "carry", 3, True),
    "Newton": ("Newton", "carry", 3, False),
}


def _standardised_features(X: Array) -> Array:
    """Every feature with mean 0 and standard deviation 1; a constant feature becomes 0."""
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _standardised_rows(X: Array) -> Array:
    """Every row with mean 0 and standard deviation 1."""
    deviation = X.std(axis=1, keepdims=True)
    return np.asarray((X - X.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0))


def _centred_unit_rows(X: Array) -> Array:
    """Every row minus the mean row, scaled to length 1."""
    centred = X - X.mean(axis=0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(length > 0, length, 1.0))


SCALINGS: Mapping[str, Callable[[Array], Array]] = {
    "as distributed, [-1, 1]": lambda X: X,
    "[0, 1]": lambda X: (X + 1) / 2,
    "every feature standardised": _standardised_features,
    "one deviation for all, 1": lambda X: X / (float(X.std()) or 1.0),
    "every image standardised": _standardised_rows,
}
# Scaling and the bounds of a factor, which is fitted to the published numbers of moves.
FITTED: Mapping[str, tuple[Callable[[Array], Array], float, float]] = {
    "as distributed, times a factor": (lambda X: X, 0.7, 4.0),
    "centred, all rows of one length": (_centred_unit_rows, 5.0, 30.0),
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


def expected(rows: int) -> Array:
    """The published numbers of moves, in proportion to a stream of `rows` rows."""
    return np.array([moves for _, _, moves in TABLE2.values()]) * rows / paper_settings(DATA).rows


def misfit(moves: Sequence[int], rows: int) -> float:
    """The mean over the thresholds of |log((moves + 1)/(published + 1))|."""
    return float(np.abs(np.log((np.array(moves) + 1) / (expected(rows) + 1))).mean())


def _stream(
    source: Source, limit: int, scaling: str, factor: float, start: str, seed: int
) -> tuple[Array, Labels, Array | None]:
    """Scaled rows, shuffled, their labels, and the initial landmarks; None: the first rows."""
    rows, y = rows_of(source, DATA, limit)
    X = factor * (SCALINGS[scaling] if scaling in SCALINGS else FITTED[scaling][0])(rows)
    order = np.random.default_rng(seed).permutation(len(y))
    initial = STARTS[start](X, paper_settings(DATA).n_landmarks, np.random.default_rng([seed, TUNING_SEED]))
    return X[order], y[order], initial


def counted(source: Source, _: Results, *, limit: int, scaling: str, start: str) -> Result:
    """The moves of the first shuffle for a scaling and a start, and their distance from the published ones.

    All solvers move alike, so the fastest one is used.
    """

    def moves_with(factor: float) -> list[int]:
        """At each threshold."""
        X, y, initial = _stream(source, limit, scaling, factor, start, 0)
        learners = [
            NolanaClassifier(
                n_landmarks=paper_settings(DATA).n_landmarks,
                optimizer="sgd",
                gamma=1 / distance_of(X),
                threshold=float(threshold),
                initial_landmarks=initial,
                scale=False,
            )
            for threshold in TABLE2
        ]
        return [learner.partial_fit(X, y).n_moves_ for learner in learners]

    rows = len(rows_of(source, DATA, limit)[1])
    factor = 1.0
    if scaling in FITTED:
        low, high = FITTED[scaling][1:]
        factor = best_factor(lambda tried: misfit(moves_with(tried), rows), low, high)
    moves = moves_with(factor)
    return {"scaling": scaling, "start": start, "factor": factor, "moves": moves, "misfit": misfit(moves, rows)}


def closest(counts: Sequence[Result]) -> Result:
    """The scaling and start whose moves are closest to the published ones."""
    return min(counts, key=lambda result: float(result["misfit"]))


def _closest_stream(source: Source, inputs: Results, limit: int, seed: int) -> tuple[Array, Labels, Array | None]:
    best = closest([inputs[key] for key in inputs if key.startswith("moves/")])
    return _stream(source, limit, best["scaling"], best["factor"], best["start"], seed)


def _variant_of(title: str, threshold: float, initial: Array | None) -> Variant:
    """One of VARIANTS at a threshold."""
    solver, refit, _, _ = VARIANTS[title]
    return Variant(solver, refit, paper_settings(DATA).n_landmarks, paper_settings(DATA).loss, threshold, initial)


def chosen(source: Source, inputs: Results, *, title: str, limit: int, rows: int, candidates: int) -> Result:
    """The parameters of a variant, tuned at one threshold for all thresholds."""
    X, y, initial = _closest_stream(source, inputs, limit, TUNING_SEED)
    X, y = X[:rows], y[:rows]
    return choose(_variant_of(title, float(TUNED_AT), initial), X, y, "accuracy", candidates, len(y))


def passed(source: Source, inputs: Results, *, title: str, limit: int, threshold: int, shuffle: int) -> Result:
    """One pass at a threshold."""
    X, y, initial = _closest_stream(source, inputs, limit, shuffle)
    parameters: Result = next((inputs[key]["parameters"] for key in inputs if key.startswith("table2/choose/")), {})
    return measured_pass(_variant_of(title, float(threshold), initial).build(parameters, shuffle), X, y)
