"""Known anomalies in streams without labels: novelty beside River's HalfSpaceTrees and LODA.

    NOLANA_DATA=... python benchmarks/novelty.py [rows] [bins]

From row 1,000 on 2 % of the rows are anomalies, at random places; every row is scored before it is learned, anomalies
too, and no label is learned. AUC x 100 of the scores over the rows from 1,000 on, microseconds a row. Generated:
clusters (8 features; anomalies uniform in their box), circle (2; anomalies inside), moving clusters (the same, each
centre walks). Real: one class of usps, insects and RBF is left out of the stream and comes as anomalies.

What is unfair: nolana scores and learns blocks of 100 rows (StreamClassifier, 512 KB), the others row by row in Python;
HalfSpaceTrees is behind a MinMaxScaler, as it needs values between 0 and 1, both have their defaults otherwise. A class
that is left out need not be odd: the digit 1 is closer to other digits than these are to each other.

`bins` compares novelty with the bins of the same learner instead: the mean logarithm of the variances that a row finds
in its bins, the share of bins that have the variance of the start, and the variances beside the distance. They learn
labels that are coins, with which a variance is a count of the rows.
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

from nolana import StreamClassifier, engine
from nolana.experts import Bins

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


def bins(kind):
    def score(x):
        model, scores = StreamClassifier(random_state=0), np.zeros(len(x))
        coins = np.random.default_rng(2).integers(0, 2, len(x))
        for i in range(0, len(x), BLOCK):
            if i:
                block, learner = x[i : i + BLOCK], model._learner
                expert = next(each for each in learner.experts if isinstance(each, Bins))
                own = learner.export([learner.experts.index(expert)])[0][1]
                map, scaled = own.map.build(engine), np.asarray(learner.scaling.apply(block))
                found = own.head_states[0]["variances"] / own.heads[0].arguments["variance"]
                shares = found[np.array([map.slots_of(row) for row in scaled])]
                odd = np.log(shares).mean(axis=1) if kind == "variance" else (shares > 0.9999).mean(axis=1)
                scores[i : i + BLOCK] = (
                    odd if kind != "both" else np.log(shares).mean(axis=1) - np.log(model.novelty(block))
                )
            model.learn(x[i : i + BLOCK], coins[i : i + BLOCK])
        return scores

    return score


ALTERNATIVES = {
    "nolana": nolana,
    "bins, variance": bins("variance"),
    "bins, unseen": bins("unseen"),
    "both": bins("both"),
}
METHODS = {
    "nolana": nolana,
    "HalfSpaceTrees": river(lambda: compose.Pipeline(preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=0))),
    "LODA": river(lambda: anomaly.LODA(seed=0)),
}


def costs():
    """Milliseconds of the first question after rows were learned, and microseconds of each further row."""
    x = np.random.default_rng(0).normal(size=(10_000, 10))
    model, first, further = StreamClassifier(random_state=0).partial_fit(x[:6000], None), [], []
    for i in range(6000, 9000, 100):
        for rows, times in ((x[i : i + 1], first), (x[i:], further)):
            begin = time.process_time()
            model.novelty(rows)
            times.append((time.process_time() - begin) / len(rows))
        model.learn(x[i : i + 100])
    return 1e3 * np.median(first), 1e6 * np.median(further)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    streams = [*generated(rows, np.random.default_rng(0)), *left_out(Path(os.environ["NOLANA_DATA"]), rows)]
    methods = ALTERNATIVES if "bins" in sys.argv[2:] else METHODS
    print(f"{'stream':28}{'rows':>8}" + "".join(f"{name:>16}{'us':>7}" for name in methods))
    totals = dict.fromkeys(methods, 0.0)
    for name, usual, odd in streams:
        x, is_odd = mixed(usual, odd, np.random.default_rng(1))
        line = f"{name:28}{len(x):8,}"
        for method, score in methods.items():
            begin = time.process_time()
            found = 100 * roc_auc_score(is_odd[FIRST:], score(x)[FIRST:])
            totals[method] += found / len(streams)
            line += f"{found:16.1f}{1e6 * (time.process_time() - begin) / len(x):7.0f}"
        print(line, flush=True)
    print(f"{'mean':36}" + "".join(f"{total:16.1f}{'':7}" for total in totals.values()))
    print("novelty: {:.2f} ms for the first row after learning, {:.2f} us for each further one".format(*costs()))


if __name__ == "__main__":
    main()
