"""The screen of pairs of features: the default learner with it and without it, prequential, mean over seeds.

Accuracy in percent, or R2 times 100. Generated streams have useless features; rows of a seed are drawn by it. Streams
of NOLANA_DATA are shuffled by the seed unless they drift; `puma32h.csv.gz` is read from there if it is present, and
keeps its order. Unfair to "without": most of the generated streams are what the screen was made for.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import nolana
from nolana.errors import DataError
from nolana.evaluate import progressive
from streams import STREAMS, Rows, print_setting, shuffled

Array = NDArray[np.float64]
BLOCK = 1000
REAL = ("covtype", "ijcnn1", "usps", "cpusmall", "elec2", "insects", "interchanging_rbf")


def friedman(x: Array) -> Array:
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def robot_arm(x: Array) -> Array:
    """The distance of the end of four links."""
    angles = np.cumsum(3 * (x[:, :4] - 0.5), axis=1)
    return np.asarray(np.hypot(np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)))


def products(count: int) -> Callable[[Array], Array]:
    return lambda x: np.asarray(((x[:, : 2 * count : 2] - 0.5) * (x[:, 1 : 2 * count : 2] - 0.5)).sum(axis=1))


def parity(x: Array) -> Array:
    return np.asarray((x[:, 0] > 0.37) ^ (x[:, 1] > 0.71) ^ (x[:, 2] > 0.5), dtype=int)


def hyperplane(x: Array) -> Array:
    """It rotates once."""
    turn = np.linspace(0, 2 * np.pi, len(x))[:, None] + np.arange(5)
    return np.asarray((np.cos(turn) * (x[:, :5] - 0.5)).sum(axis=1) > 0, dtype=int)


def four_classes(x: Array) -> Array:
    return np.digitize(np.sin(3 * x[:, 0] * x[:, 1]) + x[:, 2] * x[:, 3], [0.4, 0.8, 1.1])


# Function, features, rows, noise in standard deviations of the target.
GENERATED: dict[str, tuple[Callable[[Array], Array], int, int, float]] = {
    "product, 20 features": (products(1), 20, 12_000, 0.1),
    "product, 60 features": (products(1), 60, 12_000, 0.3),
    "3 products, 40 features": (products(3), 40, 12_000, 0.2),
    "Friedman 1, 15 features": (friedman, 15, 12_000, 0.1),
    "robot arm, 16 features": (robot_arm, 16, 8_000, 0.1),
    "sine of a sum, 8 features": (lambda x: np.asarray(np.sin(2 * x[:, :6].sum(axis=1))), 8, 12_000, 0.1),
    "parity of 3, 8 features": (parity, 8, 40_000, 0.0),
    "four classes, 20 features": (four_classes, 20, 12_000, 0.0),
    "hyperplane, 15 features": (hyperplane, 15, 20_000, 0.0),
}


def generated(name: str, seed: int) -> Rows:
    function, features, rows, noise = GENERATED[name]
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, features))
    y = function(X)
    return X, y + noise * y.std() * rng.normal(size=rows) if y.dtype == float else y


def load(name: str, seed: int) -> Rows:
    """In order, or shuffled by the seed."""
    if name == "puma32h":
        path = Path(os.environ.get("NOLANA_DATA", ".")) / "puma32h.csv.gz"
        if not path.exists():
            raise DataError(f"{path} does not exist")
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]
    source = STREAMS[name]
    X, y = source.load()
    return (X, y) if source.record.drifts else shuffled(X, y, seed)


def score(X: Array, y: NDArray[np.generic], seed: int) -> tuple[float, float]:
    """Prequential score, and CPU milliseconds of the first 2,500 rows."""
    regression = y.dtype.kind == "f"
    model = (nolana.StreamRegressor if regression else nolana.StreamClassifier)(random_state=seed)
    start = time.process_time()
    model.learn(X[:2500], y[:2500])
    first = 1000 * (time.process_time() - start)
    model = type(model)(random_state=seed)
    result = progressive(model, ((X[i : i + BLOCK], y[i : i + BLOCK]) for i in range(0, len(X), BLOCK)))
    if not regression:
        return 100 * result.metrics["accuracy"], first
    return 100 * (1 - result.metrics["rmse"] ** 2 / float(np.var(y))), first


def main() -> None:
    parser = argparse.ArgumentParser(description="the default learner with and without the screen of pairs of features")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--streams", help="separated by semicolons; default: all")
    options = parser.parse_args()
    print(__doc__)
    print_setting(seed=0)
    print(f"\n{'stream':<28} {'without':>8} {'with':>8} {'change':>8} {'+-':>6}   CPU ms of the first 2,500 rows")
    for name in options.streams.split(";") if options.streams else (*GENERATED, "puma32h", *REAL):
        rows = []
        try:
            for seed in range(options.seeds):
                X, y = generated(name, seed) if name in GENERATED else load(name, seed)
                with patch("nolana.learner.events.screened", lambda relevance, *_: relevance):
                    without = score(X, y, seed)
                rows.append((without, score(X, y, seed)))
        except DataError as missing:
            print(f"{name:<28} {missing}")
            continue
        table = np.array(rows)  # (seeds, 2, 2)
        before, after = table[:, :, 0].T
        error = (after - before).std() / np.sqrt(max(1, len(rows) - 1))
        times = " to ".join(f"{each:.0f}" for each in np.median(table[:, :, 1], axis=0))
        change = f"{after.mean():8.2f} {(after - before).mean():+8.2f} {error:6.2f}"
        print(f"{name:<28} {before.mean():8.2f} {change}   {times}", flush=True)


if __name__ == "__main__":
    main()
