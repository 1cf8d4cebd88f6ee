"""What class_weight="balanced" costs and gains on rare classes: python benchmarks/class_weights.py. Half a minute.

30,000 rows are learned, 10,000 others scored; means of three seeds. "normal": two normal clusters, four standard
deviations apart in four features (the best possible AUC is .9977, balanced accuracy .9772); "overlap": 2.6 deviations;
"ring": a cluster in a ring in two of six features. The script runs with any version of nolana, to compare them.
"""

import numpy as np
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score, log_loss, roc_auc_score

import nolana
from nolana import NolanaClassifier, StreamClassifier

ROWS, LEARNED, SEEDS = 40_000, 30_000, range(3)
KINDS, RATES, WEIGHTS = ("normal", "overlap", "ring"), (0.01, 0.001), (None, "balanced")


def rows_of(kind, rate, seed):
    """Features and labels 0 and 1, the latter with this rate."""
    rng = np.random.default_rng(seed)
    y = (rng.random(ROWS) < rate).astype(int)
    if kind == "normal":
        return rng.normal(size=(ROWS, 4)) + 2 * y[:, None], y
    if kind == "overlap":
        return rng.normal(size=(ROWS, 3)) + 1.5 * y[:, None], y
    angle = rng.uniform(0, 2 * np.pi, ROWS)
    radius = np.where(y == 1, 0.3, 1.5) + 0.3 * rng.normal(size=ROWS)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=(ROWS, 4))], y


def figures(make, kind, rate, seed):
    """Of the rows that were not learned."""
    x, y = rows_of(kind, rate, seed)
    model = make(seed).partial_fit(x[:LEARNED], y[:LEARNED])
    truth, ranked, predicted = y[LEARNED:], model.decision_function(x[LEARNED:]), model.predict(x[LEARNED:])
    return {
        "auc": roc_auc_score(truth, ranked),
        "average_precision": average_precision_score(truth, ranked),
        "balanced_accuracy": balanced_accuracy_score(truth, predicted),
        "f1": f1_score(truth, predicted),
        "log_loss": log_loss(truth, model.predict_proba(x[LEARNED:])),
    }


def main():
    """A line for each stream, share of the rare class and weight."""
    print(f"nolana {nolana.__version__}")
    makers = {
        "StreamClassifier": lambda weight, seed: StreamClassifier(class_weight=weight, random_state=seed),
        "NolanaClassifier": lambda weight, seed: NolanaClassifier(class_weight=weight),
    }
    for name, make in makers.items():
        for kind in KINDS:
            for rate in RATES:
                for weight in WEIGHTS:
                    found = [figures(lambda s, make=make, w=weight: make(w, s), kind, rate, seed) for seed in SEEDS]
                    means = "  ".join(f"{key} {np.mean([each[key] for each in found]):.4f}" for key in found[0])
                    print(f"{name}, {kind}, {100 * rate:g} % rare, class_weight={weight}:  {means}", flush=True)


if __name__ == "__main__":
    main()
