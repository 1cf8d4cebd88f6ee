"""Several labels of a row: python benchmarks/multilabel.py [--rows N] [--labels K].

One `StreamClassifier` with y (n, k) beside a model for each label, with the same memory in all and with k times as
much. Generated rows of ten features; each label is a nonlinear function of two or three of them, some depend on other
labels, 5 % of the labels are flipped, and at half of the rows the functions change. Prequential: the share of rows of
which all labels are right, F1 micro and macro, in percent; microseconds of CPU time a row, and bytes.

What is unfair: nothing is learned about labels that occur together by any of them.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import StreamClassifier
from nolana.metrics import Predictions, resolve
from streams import print_setting

Array = NDArray[np.float64]
BLOCK, FEATURES, FLIPPED = 500, 10, 0.05
METRICS = ("accuracy", "f1_micro", "f1_macro")
MEMORY = 512 << 10


def generate(rows: int, labels: int, seed: int) -> tuple[Array, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, FEATURES)), np.zeros((rows, labels), dtype=np.int64)
    for part in np.array_split(np.arange(rows), 2):
        for label in range(labels):
            a, b, c = X[part][:, rng.permutation(FEATURES)[:3]].T
            score = (np.sin(2 * a) + b, a * b, a * a - b - 0.5 * c)[label % 3]
            own = score > rng.normal() * 0.5
            y[part, label] = own & (y[part, label - 1] > 0) if label % 4 == 3 else own
    return X, np.where(rng.random(y.shape) < FLIPPED, 1 - y, y)


def run(models: list[Any], X: Array, y: NDArray[np.int64]) -> list[float]:
    """Metrics, microseconds a row and bytes; one model of all labels, or one for each."""
    found, seconds = resolve(METRICS), 0.0
    for start in range(0, len(X), BLOCK):
        rows, begin = slice(start, start + BLOCK), time.process_time()
        if len(models) == 1:
            scores = models[0].learn(X[rows], y[rows])
        else:
            columns = [model.learn(X[rows], y[rows, i], classes=[0, 1]) for i, model in enumerate(models)]
            scores = np.column_stack([column[:, 1] for column in columns])
        seconds += time.process_time() - begin
        for metric in found:
            metric.update(Predictions(y[rows], scores, np.arange(y.shape[1])))
    own = [100 * metric.value() for metric in found]
    return [*own, 1e6 * seconds / len(X), sum(model.memory_bytes_ for model in models)]


def main() -> None:
    parser = argparse.ArgumentParser(description="several labels of a row")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=6)
    options = parser.parse_args()
    print(__doc__)
    print_setting(seed=0)
    X, y = generate(options.rows, options.labels, 0)
    print(f"\n{options.rows:,} rows, {options.labels} labels, {y.sum(axis=1).mean():.2f} of them 1 in a row")
    print("\n| models | all labels right | F1 micro | F1 macro | us/row | bytes |\n|---|---|---|---|---|---|")
    methods = {
        "one of all labels, 512 KB": [StreamClassifier(random_state=0, memory=MEMORY)],
        "one for each label, 512 KB together": [
            StreamClassifier(random_state=0, memory=MEMORY // options.labels) for _ in range(options.labels)
        ],
        "one for each label, 512 KB each": [
            StreamClassifier(random_state=0, memory=MEMORY) for _ in range(options.labels)
        ],
    }
    for name, models in methods.items():
        accuracy, micro, macro, microseconds, size = run(models, X, y)
        print(f"| {name} | {accuracy:.1f} | {micro:.1f} | {macro:.1f} | {microseconds:.0f} | {size:,} |", flush=True)


if __name__ == "__main__":
    main()
