"""Predictions that stay sane: a table `item | measure | figure | bound`, one function for each item. About a minute.

Only the public interface is used, so that the script runs on older versions too: `PYTHONPATH=old/src python trust.py`.
Streams are generated, with the seeds that the measures name; lagged streams need the data sets (`NOLANA_DATA`), and are
left out where these are missing. Blocks of 500 rows, predict then learn. The online linear regression is gradient steps
of 0.01 on weights and intercept, which is what River's `LinearRegression()` does by default.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import csv
import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nolana
from nolana.experts import Bins, Landmarks, Linear, Neighbours

Array = NDArray[np.float64]
Row = tuple[str, str, float, str]

FIRST = 200  # rows that no error counts in
LAGGED = ("beijing_pm25", "metro_traffic", "bike_hourly", "air_quality_co")


def scores(x: Array, y: Array, **parameters: Any) -> Array:
    """What the default learner predicts for each row before it learns it."""
    model = nolana.StreamRegressor(**({"random_state": 0} | parameters))
    return np.concatenate([np.ravel(model.learn(x[i : i + 500], y[i : i + 500])) for i in range(0, len(x), 500)])


def rmse(error: Array, first: int = FIRST) -> float:
    return float(np.sqrt(np.mean(error[first:] ** 2)))


def online_linear(x: Array, y: Array, rate: float = 0.01) -> Array:
    """Gradient steps on the squared error, predict then learn."""
    weights, intercept, predicted = np.zeros(x.shape[1]), 0.0, np.empty(len(y))
    for i, (row, target) in enumerate(zip(x, y, strict=True)):
        predicted[i] = row @ weights + intercept
        step = 2 * rate * (predicted[i] - target)
        weights, intercept = weights - step * row, intercept - step
    return predicted


def outside(predicted: Array, y: Array) -> float:
    """How far a prediction is outside the last 1,000 targets at most, in their range."""
    most = 0.0
    for i in range(FIRST, len(y)):
        low, high = y[max(0, i - 1000) : i].min(), y[max(0, i - 1000) : i].max()
        most = max(most, (predicted[i] - high) / (high - low), (low - predicted[i]) / (high - low))
    return float(most)


def moving(seed: int, n: int = 5000) -> dict[str, tuple[Array, Array]]:
    """Targets whose level moves."""
    rng = np.random.default_rng(seed)
    t, x = np.arange(n), rng.normal(size=(n, 4))
    a = np.linspace(0, 10, n) + 0.1 * x[:, 3]
    return {
        "trend": (x, 0.01 * t + x[:, 0]),
        "jump": (x, x[:, 0] + 100.0 * (t > n // 2)),
        "random walk": (x, np.cumsum(rng.normal(size=n)) + x[:, 0]),
        "growing feature": (np.c_[a, x[:, 0]], 3 * a + x[:, 0]),
        "period": (x, 10 * np.sin(2 * np.pi * t / 500) + x[:, 0]),
    }


def scaled(seed: int, n: int = 5000) -> dict[str, tuple[Array, Array]]:
    """Targets that change their unit in the middle."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    y, late = x[:, 0] + x[:, 1] ** 2, np.arange(n) >= n // 2
    return {"times 1,000": (x, np.where(late, 1000 * y, y)), "over 1,000": (x, np.where(late, y / 1000, y))}


def item_1() -> Iterator[Row]:
    """Level, range and unit of the targets."""
    for seed in (0, 1):
        for name, (x, y) in (moving(seed) | scaled(seed)).items():
            predicted = scores(x, y)
            yield "1", f"{name}, seed {seed}: furthest outside the last 1,000 targets", outside(predicted, y), "<= 1"
            best = min(rmse(y - np.r_[0.0, y[:-1]]), rmse(y - online_linear(x, y)))
            ratio = rmse(y - predicted) / best
            yield "1", f"{name}, seed {seed}: RMSE over the better of last target and linear", ratio, "<= 1.2"
            if name in scaled(seed):
                late = slice(3000, None)
                error = float(np.mean((y - predicted)[late] ** 2) / y[late].var())
                yield "1", f"{name}, seed {seed}: R2 from 500 rows after", 1 - error, ">= 0.9"
    for expert in (Linear(), Landmarks(), Bins(), Neighbours()):
        streams = moving(0) | scaled(0)
        most = max(outside(scores(x, y, experts=[expert]), y) for x, y in streams.values())
        yield "1", f"{type(expert).__name__} alone, seed 0: furthest outside, of all streams", most, "<= 1"
        x, y = streams["trend"]
        best = min(rmse(y - np.r_[0.0, y[:-1]]), rmse(y - online_linear(x, y)))
        ratio = rmse(y - scores(x, y, experts=[expert])) / best
        yield "1", f"{type(expert).__name__} alone, trend, seed 0: RMSE over the better of both", ratio, "<= 1.2"
    for name, x, y in lagged():
        column, own = rmse(y - x[:, -1]), rmse(y - scores(x, y))
        yield "1", f"{name} with its lag 1 as a feature: RMSE over that of the column", own / column, "<= 1"


def lagged() -> Iterator[tuple[str, Array, Array]]:
    """Sensor data with the last target as the last feature: numeric columns, empty cells as 0, 20,000 rows at most."""
    folder = Path(os.environ.get("NOLANA_DATA", ""))
    for name in LAGGED:
        path = folder / f"{name}.csv.gz"
        if not path.is_file():
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))[:20_001]
        numeric = [j for j in range(len(header) - 1) if all(is_number(row[j]) for row in rows)]
        x = np.array([[float(row[j] or 0) for j in numeric] for row in rows])
        y = np.array([float(row[-1]) for row in rows])
        yield name, np.ascontiguousarray(np.c_[x, np.r_[y[0], y[:-1]]]), y


def is_number(cell: str) -> bool:
    """Whether a cell is empty or a number."""
    try:
        return not cell or bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def item_3() -> Iterator[Row]:
    """Offsets and units."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3))
    y = x[:, 0] + x[:, 1] ** 2
    for offset in (0.0, 1e7, 1e8, 1e9):
        error = rmse(scores(x, y + offset) - offset - y, 500) / float(y.std())
        yield "3", f"y + {offset:.0e}, seed 0: RMSE / sd", error, "<= 0.2"
    yield "3", "X + 1e+08, seed 0: RMSE / sd", rmse(scores(x + 1e8, y) - y, 500) / float(y.std()), "<= 0.2"
    for unit in (1e-30, 1e30):
        yield (
            "3",
            f"X in units of {unit:.0e}, seed 0: RMSE / sd",
            rmse(scores(x * unit, y) - y, 500) / y.std(),
            "<= 0.2",
        )


def tailed(seed: int, n: int = 20_000) -> dict[str, tuple[Array, Array]]:
    """Targets with many zeros or heavy tails."""
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=(n, 4)), rng.random(n)
    often = 1 / (1 + np.exp(3 - 0.7 * x[:, 1]))
    return {
        "95 % zeros, lognormal": (x, np.where(u < 0.05, np.exp(0.5 * x[:, 0] + rng.normal(size=n)), 0.0)),
        "zeros by a feature, gamma": (x, np.where(u < often, 5 * rng.gamma(1, size=n), 0.0)),
        "Student t, 3 degrees": (x, x[:, 0] + 0.5 * x[:, 1] ** 2 + rng.standard_t(3, n)),
        "lognormal": (x, np.exp(0.3 * x[:, 0] + rng.normal(size=n))),
        "Pareto tail 2.5": (x, x[:, 0] + 0.5 * x[:, 1] + rng.pareto(2.5, n)),
        "exponential of linear": (x, np.exp(x @ [0.5, -0.3, 0.2, 0.0] + 0.5 * rng.normal(size=n))),
        "60 % zeros, lognormal": (x, np.where(u < 0.4, np.exp(0.5 * x[:, 0] + 0.7 * rng.normal(size=n)), 0.0)),
    }


def item_11() -> Iterator[Row]:
    """Skewed targets: the mean must not be biased."""
    for name in tailed(0):
        found = []
        for seed in range(3):
            x, y = tailed(seed)[name]
            whole, alone = scores(x, y), scores(x, y, experts=[Linear()])
            mean = np.cumsum(np.r_[0.0, y[:-1]]) / np.maximum(1, np.arange(len(y)))
            errors = [rmse(y - p) for p in (whole, alone, online_linear(x, y, 0.001), mean)]
            found.append([*errors, abs(float(np.mean((y - whole)[1000:]))) / float(y.std())])
        whole, alone, linear, mean, bias = np.mean(found, axis=0)
        about = f"{name}, seeds 0 to 2: "
        yield "11", about + "RMSE over that of the linear expert alone", whole / alone, "<= 1"
        yield "11", about + "RMSE over that of an online linear regression (rate 0.001)", whole / linear, "(<= 1)"
        yield "11", about + "RMSE over that of the running mean", whole / mean, "(<= 1)"
        yield "11", about + "bias / sd", bias, "<= 0.08"


def clean(seed: int, n: int = 8000) -> tuple[Array, NDArray[np.int64]]:
    """Three classes of 6 features, about 90 % to be had."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 6))
    score = np.column_stack([z[:, 0] * z[:, 1], z[:, 2] + 0.5 * z[:, 3], np.abs(z[:, 4]) - 0.8])
    return z * [1, 10, 0.1, 1, 5, 1], (score + 0.1 * rng.gumbel(size=score.shape)).argmax(axis=1)


def item_8() -> Iterator[Row]:
    """Features that change their unit in the middle."""
    for seed in (7, 8):
        x, y = clean(seed)
        late = np.arange(len(y)) >= len(y) // 2
        for place in ("around 0", "around 3 deviations"):
            moved = x if place == "around 0" else x + 3 * x.std(axis=0)
            for unit in (1.0, 1000.0, 0.001):
                changed = np.where(late[:, None], unit * moved, moved)
                model = nolana.StreamClassifier(random_state=0)
                predicted = model.learn(changed, y)
                found = model.classes_[predicted.argmax(axis=1)]
                right = 100 * float((found == y)[1000:].mean())
                bound = "" if unit == 1 else "within 1.5 of times 1"
                yield "8", f"all features {place}, times {unit:g}, seed {seed}: accuracy %", right, bound


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| item | measure | figure | bound |\n|---|---|---|---|")
    for item in (item_1, item_3, item_8, item_11):
        for number, measure, figure, bound in item():
            print(f"| {number} | {measure} | {figure:.4g} | {bound} |", flush=True)


if __name__ == "__main__":
    main()
