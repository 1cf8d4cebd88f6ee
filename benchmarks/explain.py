"""What explain costs, and how far sampled contributions are from exact ones.

    python benchmarks/explain.py

StreamClassifier of 512 KB on 10,000 rows, two classes by the sign of a product of two features and a third one, the
others irrelevant; 50 rows are explained. Time for a row, over that of a prediction in the same run; rows that the
learner scores for it. Error: root mean square of sampled minus exact contributions, over that of the exact ones (all
2^d sets up to d = 14). What is unfair: rows of other streams may have more interactions, which sampling sees worse.
"""

import time

import numpy as np

from nolana import StreamClassifier
from nolana.estimators import explain

ROWS = 50


def seconds(call, rows):
    """Of the fastest of three calls, for a row."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        call(rows)
        times.append(time.perf_counter() - begin)
    return min(times) / len(rows)


def exact(model, x):
    """All sets, however many."""
    most, explain.MOST_EXACT = explain.MOST_EXACT, 14
    explain.sets.cache_clear()
    found = model.explain(x)
    explain.MOST_EXACT = most
    explain.sets.cache_clear()
    return found


def main():
    print(f"{'features':>8}{'scored rows':>13}{'ms a row':>10}{'predictions':>13}{'error':>8}")
    for d in (4, 8, 10, 12, 14, 32, 64):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(10_000, d))
        y = x[:, 0] * x[:, 1] + x[:, 2] > 0
        model, rows = StreamClassifier(random_state=0).partial_fit(x, y), x[:ROWS]
        one, plain = seconds(model.explain, rows), seconds(model.predict, x)
        error = ""
        if explain.MOST_EXACT < d <= 14:
            found, truth = model.explain(rows), exact(model, rows)
            error = f"{100 * np.sqrt(np.mean((found - truth) ** 2) / np.mean(truth**2)):.1f} %"
        print(f"{d:8}{explain.played(d):13,}{1000 * one:10.2f}{one / plain:13,.0f}{error:>8}", flush=True)


if __name__ == "__main__":
    main()
