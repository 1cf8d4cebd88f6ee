"""What the last labels add: prequential scores with lag=1 and without, beside the last value or label.

    NOLANA_DATA=... python benchmarks/time.py [rows]

R2 x 100 for regression, accuracy in percent for classes; 512 KB, seed 0, blocks of 1,000 rows in the order of the file.
The last column is the time of lag=1 over that without, in one run. The second table is of forecasts further ahead: all
methods know the labels of L rows before. What is unfair: in streams in random order the last value has no chance; they
show what a lag costs there.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import nolana
from nolana.columns import encode_table, infer_schema, table_of
from nolana.evaluate import progressive

REGRESSION = ("bike_hourly", "metro_traffic", "beijing_pm25", "air_quality_co", "house8l", "puma32h")
AHEAD = 2, 24, 168  # rows
CLASSES = ("elec2", "insects_gradual_balanced", "drift_interchangingRBF")


def score(model, X, y):
    """Of the blocks of a stream, and the seconds that it took."""
    begin, right, error = time.perf_counter(), 0, 0.0
    for i in range(0, len(y), 1000):
        scores = model.learn(X.iloc[i : i + 1000], y[i : i + 1000])
        if hasattr(model, "classes_"):
            right += int((model.classes_[np.argmax(scores, axis=1)] == y[i : i + 1000]).sum())
        else:
            error += float(((scores - y[i : i + 1000]) ** 2).sum())
    seconds = time.perf_counter() - begin
    return (100 * right / len(y) if hasattr(model, "classes_") else 100 * (1 - error / len(y) / y.var())), seconds


def ahead(frame, y, lag):
    """R2 x 100 of forecasts so many rows ahead: the last value that is known, no lag, the lag."""
    table = table_of(frame)
    rows, found = encode_table(infer_schema(table), table), []
    for own in (None, lag):
        result = progressive(
            nolana.StreamRegressor(lag=own, random_state=0), [(rows, y)], metrics=["r2"], delay=lag - 1
        )
        found.append(100 * result.metrics["r2"])
    return 100 * result.baselines["last value"]["r2"], *found


def panel(series=1000, rows=30, seed=0):
    """Random walks in turns."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(size=(rows, series)), axis=0)
    order = np.concatenate([rng.permutation(series) for _ in range(rows)])
    x = rng.normal(size=len(order))
    y = walks[np.repeat(np.arange(rows), series), order] + x
    return pd.DataFrame({"x": x, "series": order}), y


def main():
    warnings.simplefilter("ignore")
    data, most = Path(os.environ["NOLANA_DATA"]), int(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"{'stream':28}{'last':>8}{'no lag':>8}{'lag=1':>8}{'time':>7}")
    for name in (*REGRESSION, *CLASSES):
        frame = pd.read_csv(data / f"{name}.csv.gz", nrows=most)
        target = "target" if "target" in frame else frame.columns[-1]
        y, X = frame[target].to_numpy(), frame.drop(columns=target)
        regression = name in REGRESSION
        y = y.astype(float) if regression else y
        last = 100 * (1 - np.mean((y[1:] - y[:-1]) ** 2) / y.var()) if regression else 100 * np.mean(y[1:] == y[:-1])
        make = nolana.StreamRegressor if regression else nolana.StreamClassifier
        (plain, before), (known, after) = (score(make(lag=lag, random_state=0), X, y) for lag in (None, 1))
        print(f"{name:28}{last:8.2f}{plain:8.2f}{known:8.2f}{after / before:7.2f}", flush=True)
    print(f"\n{'stream':28}{'lag':>8}{'last':>8}{'no lag':>8}{'lag':>8}")
    for name in REGRESSION:
        frame = pd.read_csv(data / f"{name}.csv.gz", nrows=most)
        y, X = frame["target"].to_numpy(dtype=float), frame.drop(columns="target")
        for lag in AHEAD:
            scores = "".join(f"{score:8.2f}" for score in ahead(X, y, lag))
            print(f"{name:28}{lag:8}{scores}", flush=True)
    print()
    print(f"{'random walks in turns':28}{'no group':>12}{'group':>8}")
    for series, rows in ((1000, 30), (10_000, 8)):
        X, y = panel(series, rows)
        models = (nolana.StreamRegressor(lag=1, group=group, random_state=0) for group in (None, "series"))
        none, own = (score(model, X, y)[0] for model in models)
        print(f"{f'{series:,} series':28}{none:12.2f}{own:8.2f}", flush=True)


if __name__ == "__main__":
    main()
