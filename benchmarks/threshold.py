"""The threshold from which a row moves its landmark: 0, the median, never; for the map alone and for learners.

Errors |G - Gbar|_F / |G|_F of `OnlineNystroem` over 1,500 rows after 20,000, and scores of learners with 100 landmarks
over at most 60,000 rows, each predicted before it is learned. Streams that drift are in order, the others shuffled.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import nolana
from nolana.evaluate import progressive

NAMES = ("cpusmall", "usps", "ijcnn1", "covtype", "elec2", "insects", "interchanging_rbf")
THRESHOLDS = (0.0, "median", float("inf"))
LANDMARKS = (20, 100, 200)
MAP_ROWS, JUDGED, LEARNER_ROWS, BLOCK = 20_000, 1_500, 60_000, 1_000
SHUFFLES = 3


def stream(name, shuffle):
    X, y = nolana.research.datasets.load(name)
    if nolana.research.datasets.catalogue()[name].drifts:
        return X[:LEARNER_ROWS], y[:LEARNER_ROWS]
    order = np.random.default_rng(shuffle).permutation(len(y))[:LEARNER_ROWS]
    return X[order], y[order]


def error(name, landmarks, threshold):
    X, _ = stream(name, 0)
    judged = X[np.random.default_rng(1).permutation(len(X))[:JUDGED]]
    online = nolana.OnlineNystroem(n_landmarks=landmarks, threshold=threshold).partial_fit(X[:MAP_ROWS])
    return online.approximation_error(judged)


def score(name, optimizer, threshold):
    record, scores = nolana.research.datasets.catalogue()[name], []
    kind, metric = nolana.NolanaClassifier, "accuracy"
    if record.task == "regression":
        kind, metric = nolana.NolanaRegressor, "rmse"
    for shuffle in range(1 if record.drifts else SHUFFLES):
        X, y = stream(name, shuffle)
        blocks = [(X[i : i + BLOCK], y[i : i + BLOCK]) for i in range(0, len(y), BLOCK)]
        learner = kind(threshold=threshold, optimizer=optimizer)
        value = progressive(learner, blocks, metrics=[metric]).metrics[metric]
        scores.append(100 * value if metric == "accuracy" else value)
    return float(np.mean(scores))


def main():
    print("error of the map              ", *(f"{one!s:>8}" for one in THRESHOLDS))
    for name in NAMES:
        for m in LANDMARKS:
            errors = [error(name, m, one) for one in THRESHOLDS]
            print(f"{name:18} m = {m:<8}", *(f"{one:8.4f}" for one in errors), flush=True)
    for optimizer in ("newton", "sgd"):
        print(f"{optimizer}: accuracy %, RMSE of cpusmall")
        for name in NAMES:
            scores = [score(name, optimizer, one) for one in THRESHOLDS]
            print(f"{name:31}", *(f"{one:8.2f}" for one in scores), flush=True)


if __name__ == "__main__":
    main()
