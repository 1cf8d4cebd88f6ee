"""Microseconds per row of every rival at the budget of NOLANA with m = 100, rank 0.8 m and d = 22, one output.

On normal noise with labels drawn from nothing, where about every second row is a mistake, and on the first rows of a
shuffled ijcnn1 (left out where the data is not there), where few are. Predict then learn in blocks of 1,000 that no
method has seen, methods taking turns, medians. One thread.

What is unfair: methods that learn from mistakes alone are as fast as the stream is easy; the budget equalises the
numbers kept, not the work: a Doubly SGD feature is drawn anew for each row; PassiveAggressive with a kernel and
KernelOGD have no budget and grow slower as they go. Rates and widths are the defaults, so no accuracy is shown.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from nolana import NolanaClassifier, rivals
from speed import interleaved, noise
from streams import STREAMS, print_setting, shuffled

SEED = 0
FEATURES, LANDMARKS = 22, 100
WARM, BLOCK = 2000, 1000  # rows before the clock starts, rows of a repeat
BOUND = 10.0  # microseconds per row
BOUNDED = ("PassiveAggressive", "NOGD", "FOGD", "DualSGD", "RRF")


def models() -> dict[str, Any]:
    budget = {"n_landmarks": LANDMARKS, "n_features": FEATURES, "random_state": SEED}
    own = {
        "nolana, sgd": NolanaClassifier(n_landmarks=LANDMARKS, optimizer="sgd", scale=False),
        "nolana, newton": NolanaClassifier(n_landmarks=LANDMARKS, scale=False),
    }
    theirs = {name: rivals.at_equal_budget(name, **budget) for name in rivals.catalogue()}
    kernel = {"PassiveAggressive, rbf": rivals.at_equal_budget("PassiveAggressive", kernel="rbf", **budget)}
    return own | theirs | kernel


def fresh_block(model: Any, X: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    """A job that learns the next block at each call."""

    def job() -> None:
        rows = slice(model.n_rows_, model.n_rows_ + BLOCK)
        model.learn(X[rows], y[rows])

    return job


def microseconds(X: np.ndarray, y: np.ndarray, repeats: int) -> dict[str, tuple[float, int]]:
    """Time per row and bytes of each method."""
    learners = models()
    for model in learners.values():
        model.learn(X[:WARM], y[:WARM])
    times = interleaved({name: fresh_block(model, X, y) for name, model in learners.items()}, repeats)
    return {name: (1e6 * times[name] / BLOCK, model.memory_bytes_) for name, model in learners.items()}


def ijcnn1(rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    try:
        X, y = shuffled(*STREAMS["ijcnn1"].load(), SEED)
    except FileNotFoundError as missing:
        print(f"\nijcnn1 is left out: {missing}")
        return None
    return X[:rows], y[:rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    repeats = parser.parse_args().repeats
    print(__doc__)
    print_setting(SEED)
    rows = WARM + repeats * BLOCK
    streams = {"noise": noise(FEATURES, rows), "ijcnn1": ijcnn1(rows)}
    found = {name: microseconds(*data, repeats) for name, data in streams.items() if data is not None}
    print(f"\n{'':<24}" + "".join(f"{name + ' us/row':>16}" for name in found) + f"{'bytes':>12}  bound")
    for method in next(iter(found.values())):
        cells = "".join(f"{result[method][0]:16.2f}" for result in found.values())
        slowest = max(result[method][0] for result in found.values())
        verdict = "holds" if slowest < BOUND else "does not hold"
        bound = f"< {BOUND:g}: {verdict}" if method in BOUNDED else ""
        largest = max(result[method][1] for result in found.values())
        print(f"{method:<24}{cells}{largest:12,}  {bound}")


if __name__ == "__main__":
    main()
