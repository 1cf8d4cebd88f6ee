"""nolana.river beside River's own models: `predict_one`, then `learn_one`, for each row, in River's own evaluation.

1. elec2: accuracy, time and bytes of nolana.river, of StandardScaler | LogisticRegression and of a forest of ten trees.
   Beside them the estimators of nolana on arrays, in blocks: the difference is the price of Python calls for each row.
2. XOR of two uniform features: accuracy over the second half of the rows. River's RBFSampler takes random cosines of
   single features, so the model is a sum of functions of one feature, and XOR is none; PolynomialExtender has the
   product of the two.
3. Spare slots: what constant columns cost, which the rows of nolana.river have for features that may come.

What is unfair. To nolana: River's linear models on XOR have the learning rate, and RBFSampler the width, that is best
in hindsight. To River: its models run at their defaults on elec2, and nolana's constants were chosen with elec2 in
view; ARF gains from more trees. Times are CPU times of one run, metric and loop included; one thread.

This file is not called river.py, because that would hide the package.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from river import evaluate, feature_extraction, forest, linear_model, metrics, optim, preprocessing

import nolana
import nolana.river
from nolana.errors import DataError
from nolana.evaluate import progressive
from streams import STREAMS, print_setting, shuffled

SEED = 0
BLOCK = 1000
RATES = (0.01, 0.1, 1.0)
WIDTHS = (0.1, 1.0, 10.0)
SPARE = (0, 4, 8, 16)
SPARE_STREAMS = ("elec2", "insects", "covtype", "ijcnn1")
Rows = list[tuple[dict[str, float], bool]]


def dicts(X: np.ndarray, y: np.ndarray) -> Rows:
    names = [f"x{j}" for j in range(X.shape[1])]
    return [(dict(zip(names, row, strict=True)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def electricity(limit: int, forest_rows: int) -> None:
    X, y = STREAMS["elec2"].load()
    X, y = np.ascontiguousarray(X[:limit]), np.asarray(y[:limit] == np.max(y))
    rows, few = dicts(X, y), min(forest_rows, limit, len(y))
    print(f"\nelec2, {len(rows):,} rows of {X.shape[1]} features; the forest learns the first {few:,}")
    print(f"{'model':<40} {f'% of {few:,}':>12} {f'% of {len(rows):,}':>12} {'us/row':>8} {'bytes':>12}")
    models = {
        "nolana.river.StreamClassifier": nolana.river.StreamClassifier(seed=SEED),
        "nolana.river.NolanaClassifier": nolana.river.NolanaClassifier(),
        "StandardScaler | LogisticRegression": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "ARFClassifier(10)": forest.ARFClassifier(n_models=10, seed=SEED),
    }
    for name, model in models.items():
        parts = [rows[:few]] if isinstance(model, forest.ARFClassifier) else [rows[:few], rows[few:]]
        accuracy, scores = metrics.Accuracy(), []
        begin = time.process_time()
        for part in parts:
            evaluate.progressive_val_score(part, model, accuracy)
            scores.append(f"{100 * accuracy.get():.2f}")
        microseconds = 1e6 * (time.process_time() - begin) / sum(map(len, parts))
        print_line(name, [*scores, "-"], microseconds, model._raw_memory_usage)
    blocks = [(X[i : i + BLOCK], y[i : i + BLOCK]) for i in range(0, len(y), BLOCK)]
    for estimator in (nolana.StreamClassifier(random_state=SEED), nolana.NolanaClassifier()):
        begin = time.process_time()
        result = progressive(estimator, blocks)
        microseconds = 1e6 * (time.process_time() - begin) / len(rows)
        name = f"nolana.{type(estimator).__name__}, blocks of {BLOCK:,}"
        print_line(name, ["", f"{100 * result.metrics['accuracy']:.2f}"], microseconds, estimator.memory_bytes_)


def print_line(name: str, scores: list[str], microseconds: float, memory: int) -> None:
    print(f"{name:<40} {scores[0]:>12} {scores[1]:>12} {microseconds:8.1f} {memory:12,}", flush=True)


# XOR


def xor(count: int, noise: int) -> Rows:
    X = np.random.default_rng(SEED).uniform(-1, 1, (count, 2 + noise))
    return dicts(X, (X[:, 0] > 0) ^ (X[:, 1] > 0))


def second_half(model: Any, rows: Rows) -> float:
    half = len(rows) // 2
    evaluate.progressive_val_score(rows[:half], model, metrics.Accuracy())
    return 100 * float(evaluate.progressive_val_score(rows[half:], model, metrics.Accuracy()).get())


def logistic(rate: float) -> Any:
    return linear_model.LogisticRegression(optimizer=optim.SGD(rate))


def settings() -> dict[str, Iterator[Callable[[], Any]]]:
    """For each model all settings to try; the best one is printed."""
    return {
        "LogisticRegression": (lambda r=r: logistic(r) for r in RATES),
        "RBFSampler | LogisticRegression": (
            lambda r=r, g=g: feature_extraction.RBFSampler(gamma=g, seed=SEED) | logistic(r)
            for r in RATES
            for g in WIDTHS
        ),
        "PolynomialExtender(2) | LogisticRegression": (
            lambda r=r: feature_extraction.PolynomialExtender(degree=2) | logistic(r) for r in RATES
        ),
        "ARFClassifier(10)": iter([lambda: forest.ARFClassifier(n_models=10, seed=SEED)]),
        "nolana.river.NolanaClassifier": iter([nolana.river.NolanaClassifier]),
        "nolana.river.StreamClassifier": iter([lambda: nolana.river.StreamClassifier(seed=SEED)]),
    }


def xor_table(count: int) -> None:
    print(f"\nXOR, {count:,} rows: accuracy % over the second half")
    streams = {"2 features": xor(count, 0), "and 4 of noise": xor(count, 4)}
    print(f"{'model':<44}" + "".join(f"{name:>16}" for name in streams))
    table = {name: list(makers) for name, makers in settings().items()}
    for name, makers in table.items():
        scores = [max(second_half(make(), rows) for make in makers) for rows in streams.values()]
        print(f"{name:<44}" + "".join(f"{score:16.1f}" for score in scores), flush=True)


# Spare slots


def spare_slots(limit: int) -> None:
    print(f"\nSpare slots: accuracy % and microseconds per row, first {limit:,} rows in blocks")
    print(f"{'stream':<10} {'estimator':<18}" + "".join(f"{f'{k} columns of 0':>20}" for k in SPARE))
    for name in SPARE_STREAMS:
        try:
            X, y = STREAMS[name].load()
        except DataError as missing:
            print(f"{name} is missing: {missing}")
            continue
        X, y = (X, y) if STREAMS[name].record.drifts else shuffled(X, y, SEED)
        for kind in (nolana.StreamClassifier, nolana.NolanaClassifier):
            cells = []
            for spare in SPARE:
                rows = np.hstack([X[:limit], np.zeros((len(X[:limit]), spare))])
                begin = time.process_time()
                result = progressive(kind(random_state=SEED), [(rows, y[:limit])])
                microseconds = 1e6 * (time.process_time() - begin) / len(rows)
                cells.append(f"{100 * result.metrics['accuracy']:.2f}, {microseconds:.1f}")
            print(f"{name:<10} {kind.__name__:<18}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=45_312, help="of elec2, at most")
    parser.add_argument("--forest-rows", type=int, default=10_000, help="of elec2 for the forest, at most")
    parser.add_argument("--xor-rows", type=int, default=5000)
    parser.add_argument("--spare-rows", type=int, default=20_000, help="of each stream for spare slots, at most")
    options = parser.parse_args()
    print(__doc__)
    print_setting(SEED)
    try:
        electricity(options.rows, options.forest_rows)
    except DataError as missing:
        print(f"elec2 is missing: {missing}")
    xor_table(options.xor_rows)
    spare_slots(options.spare_rows)


if __name__ == "__main__":
    main()
