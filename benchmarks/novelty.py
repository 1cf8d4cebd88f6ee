"""Known anomalies in streams without labels: novelty beside River's HalfSpaceTrees and LODA.

    NOLANA_DATA=... python benchmarks/novelty.py [rows]

From row 1,000 on 2 % of the rows are anomalies, at random places; every row is scored before it is learned, anomalies
too, and no label is learned. AUC x 100 of the scores over the rows from 1,000 on, microseconds a row, seed 0. Generated:
clusters (8 features; anomalies uniform in their box), circle (2; anomalies inside), moving clusters (the same, each
centre walks). Real: one class of usps, insects and RBF is left out of the stream and comes as anomalies.

What is unfair: nolana scores and learns blocks of 100 rows (StreamClassifier, 512 KB), the others row by row in Python;
HalfSpaceTrees is behind a MinMaxScaler, as it needs values between 0 and 1, both have their defaults otherwise. A class
that is left out need not be odd: the digit 1 is closer to other digits than these are to each other.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from river import anomaly, compose, preprocessing
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score

from nolana import StreamClassifier

FIRST, RATE, BLOCK = 1000, 0.02, 100


def generated(rows, rng):
    """Name, usual rows, anomalies."""
    centres, own = 3 * rng.normal(size=(3, 8)), rng.integers(0, 3, rows)
    yield "clusters", centres[own] + rng.normal(size=(rows, 8)), rng.uniform(-8, 8, (rows, 8))
    angle, inside = rng.uniform(0, 2 * np.pi, (2, rows))
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(rows, 2))
    radius = 0.8 * np.sqrt(rng.random(rows))
    yield "circle", ring, np.column_stack([radius * np.cos(inside), radius * np.sin(inside)])
    walk = np.cumsum(0.03 * rng.normal(size=(rows, 3, 8)), axis=0)
    moving = (centres + walk)[np.arange(rows), own] + rng.normal(size=(rows, 8))
    yield "moving clusters", moving, rng.uniform(-8, 8, (rows, 8))


def left_out(data, rows):
    """The same, for a class of each file."""
    files = [data / "usps.bz2", data / "usps.t.bz2"]
    parts = [load_svmlight_file(str(file), n_features=256) for file in files]
    x, y = np.vstack([part[0].toarray() for part in parts]), np.concatenate([part[1] for part in parts])
    order = np.random.default_rng(0).permutation(len(y))
    for digit in (0, 1, 4, 8):
        usual = order[y[order] != digit + 1]
        yield f"usps without {digit}", x[usual][:rows], x[y == digit + 1]
    for name, some in (("insects_gradual_balanced", 3), ("drift_interchangingRBF", 1)):
        frame = pd.read_csv(data / f"{name}.csv.gz", nrows=3 * rows)
        y, x = frame["label"].to_numpy(), frame.drop(columns="label").to_numpy(float)
        for label in np.unique(y)[:some]:
            yield f"{name.split('_')[0 if some > 1 else 1]} without {label}", x[y != label][:rows], x[y == label]


def mixed(usual, odd, rng):
    """Rows, and which of them are anomalies; those of a file come in its order."""
    is_odd = rng.random(len(usual)) < RATE
    is_odd[:FIRST] = False
    x = usual.copy()
    x[is_odd] = odd[np.sort(rng.choice(len(odd), is_odd.sum(), replace=len(odd) < is_odd.sum()))]
    return x, is_odd


def nolana(x):
    """Large is odd."""
    model, scores = StreamClassifier(random_state=0), np.zeros(len(x))
    for i in range(0, len(x), BLOCK):
        if i:
            scores[i : i + BLOCK] = 1 - model.novelty(x[i : i + BLOCK])
        model.learn(x[i : i + BLOCK])
    return scores


def river(make):
    def score(x):
        model, scores = make(), np.zeros(len(x))
        for i, row in enumerate(x.tolist()):
            named = dict(enumerate(row))
            scores[i] = model.score_one(named)
            model.learn_one(named)
        return scores

    return score


METHODS = {
    "nolana": nolana,
    "HalfSpaceTrees": river(lambda: compose.Pipeline(preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=0))),
    "LODA": river(lambda: anomaly.LODA(seed=0)),
}


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    streams = [*generated(rows, np.random.default_rng(0)), *left_out(Path(os.environ["NOLANA_DATA"]), rows)]
    print(f"{'stream':24}{'rows':>8}" + "".join(f"{name:>16}{'us':>7}" for name in METHODS))
    totals = dict.fromkeys(METHODS, 0.0)
    for name, usual, odd in streams:
        x, is_odd = mixed(usual, odd, np.random.default_rng(1))
        line = f"{name:24}{len(x):8,}"
        for method, score in METHODS.items():
            begin = time.process_time()
            found = 100 * roc_auc_score(is_odd[FIRST:], score(x)[FIRST:])
            totals[method] += found / len(streams)
            line += f"{found:16.1f}{1e6 * (time.process_time() - begin) / len(x):7.0f}"
        print(line, flush=True)
    print(f"{'mean':32}" + "".join(f"{total:16.1f}{'':7}" for total in totals.values()))


if __name__ == "__main__":
    main()
