"""``fit`` of the default estimators beside batch methods of scikit-learn: python benchmarks/fit.py. About ten minutes.

Means over 5-fold cross-validation (StratifiedKFold for classes, KFold for numbers; shuffled, seed 0): accuracy and log
loss, or R2. Everybody has default parameters; SVC, SVR, LogisticRegression and Ridge have a StandardScaler before them.
"in order" is ``shuffle=False, max_iter=1``, the ``fit`` of nolana 0.2; "1 pass" is ``max_iter=1``.

The data sets of scikit-learn, and the bank marketing data (45,211 rows by date, nine text columns one-hot encoded) if
the directory in NOLANA_DATA has it.

What is unfair: batch methods see all rows at once, and HistGradientBoosting and SVC keep as many trees and support
vectors as they like; nolana has 512 KB. SVC has no log loss because its default has no probabilities. The defaults of
nobody were chosen on these data but nolana's number of passes, which was (and on five other data sets).
"""

import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import nolana
from nolana import StreamClassifier, StreamRegressor

BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")
BANK = "bank_marketing.csv.gz"
IN_ORDER = {"shuffle": False, "max_iter": 1}
CLASSIFIERS = {
    "nolana": lambda: StreamClassifier(random_state=0),
    "nolana, 1 pass": lambda: StreamClassifier(random_state=0, max_iter=1),
    "nolana, in order": lambda: StreamClassifier(random_state=0, **IN_ORDER),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "SVC / SVR": lambda: make_pipeline(StandardScaler(), SVC()),
    "LogisticRegression / Ridge": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}
REGRESSORS = {
    "nolana": lambda: StreamRegressor(random_state=0),
    "nolana, 1 pass": lambda: StreamRegressor(random_state=0, max_iter=1),
    "nolana, in order": lambda: StreamRegressor(random_state=0, **IN_ORDER),
    "HistGradientBoosting": lambda: HistGradientBoostingRegressor(random_state=0),
    "SVC / SVR": lambda: make_pipeline(StandardScaler(), SVR()),
    "LogisticRegression / Ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
}


def bank():
    """The bank data in the order of the file, or None with a word about it."""
    path = Path(os.environ.get("NOLANA_DATA", "")) / BANK
    if not os.environ.get("NOLANA_DATA") or not path.exists():
        print(f"bank is left out: set NOLANA_DATA to a directory with {BANK}\n")
        return None
    import pandas as pd

    frame = pd.read_csv(path)
    return pd.get_dummies(frame.drop(columns="target")).to_numpy(dtype=float), frame["target"].to_numpy()


def scored(make, x, y):
    """Accuracy and log loss (None without probabilities), or R2 and None; seconds of all five fits."""
    regression = y.dtype.kind == "f"
    folds = (KFold if regression else StratifiedKFold)(5, shuffle=True, random_state=0)
    scores, losses, seconds = [], [], 0.0
    for learned, held_out in folds.split(x, y):
        begin = time.perf_counter()
        model = make().fit(x[learned], y[learned])
        seconds += time.perf_counter() - begin
        predicted, truth = model.predict(x[held_out]), y[held_out]
        scores.append(r2_score(truth, predicted) if regression else accuracy_score(truth, predicted))
        if hasattr(model, "predict_proba"):
            losses.append(log_loss(truth, model.predict_proba(x[held_out]), labels=np.unique(y)))
    return np.mean(scores), np.mean(losses) if losses else None, seconds


def main():
    """One Markdown table: a line for each data set, a column for each method."""
    warnings.simplefilter("ignore")
    print(f"nolana {nolana.__version__}, scikit-learn {sklearn.__version__}, {platform.machine()}, one thread")
    sets = {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in BUNDLED}
    if (rows := bank()) is not None:
        sets["bank"] = rows
    print(f"\n| data, rows | {' | '.join(CLASSIFIERS)} |\n|---|{'---:|' * len(CLASSIFIERS)}")
    spent = dict.fromkeys(CLASSIFIERS, 0.0)
    for name, (x, y) in sets.items():
        makers = REGRESSORS if y.dtype.kind == "f" else CLASSIFIERS
        cells = []
        for method, make in makers.items():
            score, loss, seconds = scored(make, x, y)
            spent[method] += seconds
            cells.append(f"R2 {score:.3f}" if makers is REGRESSORS else f"{100 * score:.1f}")
            cells[-1] += "" if loss is None else f" / {loss:.3f}"
        print(f"| {name}, {len(y):,} | {' | '.join(cells)} |", flush=True)
    print(f"| seconds of all fits | {' | '.join(f'{seconds:.1f}' for seconds in spent.values())} |")


if __name__ == "__main__":
    main()
