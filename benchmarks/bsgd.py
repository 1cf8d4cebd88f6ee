"""BSGD with merging, the strongest published budget method, at its published setting: ijcnn1, B = 100, one pass.

Trained once on the 49,990 training rows, tested on the 91,701 test rows: accuracy %, mean and spread of 5 shuffles of
the training rows. gamma and lambda come from a grid, chosen on training rows alone: for ten shuffles that are not
among the five, trained on all but the last 10,000 rows and scored on those; the best mean is taken. Exit status 1
where the mean on the test rows is below the bound.

What is unfair: the published figure is the authors' own choice of parameters, which they do not state in full.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools
from typing import Any

import numpy as np

from nolana.research.rivals import BSGDClassifier
from streams import libsvm, print_setting, shuffled

BUDGET = 100
WIDTHS = (2.0, 4.0, 8.0)  # gamma
STRENGTHS = (0.1, 0.3, 1.0, 3.0)  # lambda times the number of rows trained on
TUNING_SEEDS = range(100, 110)  # one run spreads by 0.5, more than neighbours in the grid differ
HELD_OUT = 10_000
SHUFFLES = range(5)
PUBLISHED, BOUND = 97.27, 96.5


def trained(X: np.ndarray, y: np.ndarray, gamma: float, strength: float) -> Any:
    return BSGDClassifier(budget=BUDGET, gamma=gamma, regularization=strength / len(X)).fit(X, y)


def held_out_score(X: np.ndarray, y: np.ndarray, gamma: float, strength: float) -> float:
    """Accuracy % on the last rows after training on the others, mean of the tuning shuffles."""
    scores = []
    for seed in TUNING_SEEDS:
        rows, labels = shuffled(X, y, seed)
        model = trained(rows[:-HELD_OUT], labels[:-HELD_OUT], gamma, strength)
        scores.append(100 * model.score(rows[-HELD_OUT:], labels[-HELD_OUT:]))
    return float(np.mean(scores))


def chosen(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The gamma and strength of the best held-out score; prints all of them."""
    print(f"\nheld-out accuracy %, {len(TUNING_SEEDS)} shuffles of the training rows; across: lambda N")
    print(f"{'gamma':>8}" + "".join(f"{strength:>9g}" for strength in STRENGTHS))
    grid = {pair: held_out_score(X, y, *pair) for pair in itertools.product(WIDTHS, STRENGTHS)}
    for gamma in WIDTHS:
        print(f"{gamma:8g}" + "".join(f"{grid[gamma, strength]:9.2f}" for strength in STRENGTHS))
    return max(grid, key=lambda pair: grid[pair])


def main() -> None:
    print(__doc__)
    print_setting(TUNING_SEEDS[0])
    X, y = libsvm("ijcnn1.bz2", n_features=22)
    X_test, y_test = libsvm("ijcnn1.t.bz2", n_features=22)
    gamma, strength = chosen(X, y)
    print(f"chosen: gamma {gamma:g}, lambda {strength:g}/N = {strength / len(X):.3g}, hinge loss")
    scores = [100 * trained(*shuffled(X, y, seed), gamma, strength).score(X_test, y_test) for seed in SHUFFLES]
    mean = float(np.mean(scores))
    print(f"\ntest accuracy % of each shuffle: {', '.join(f'{score:.2f}' for score in scores)}")
    verdict = "holds" if mean >= BOUND else "does not hold"
    print(f"{mean:.2f} +- {np.std(scores):.2f}, published {PUBLISHED}, bound {BOUND}: {verdict}")
    raise SystemExit(mean < BOUND)


if __name__ == "__main__":
    main()
