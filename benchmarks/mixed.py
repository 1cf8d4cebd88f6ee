"""Mixed tables, as frames with strings and empty cells: python benchmarks/mixed.py [--rows N] [--streams NAME ...].

Prequential scores: log loss of classifications (for clicks also the AUC in %), R2 x 100 of regressions; microseconds of
CPU time a row. Everybody has default parameters and gets the table as it is:

- nolana: `StreamClassifier` / `StreamRegressor`, 512 KB, one pass.
- Vowpal Wabbit: a linear model, and one with all pairs of columns; a category is a feature of its own, numbers are
  standardised by the moments of all rows before. One pass.
- LightGBM and CatBoost: trained again 20 and 10 times on all rows so far, at equal distances; categories are native.

The tables of NOLANA_DATA, and ad clicks that are generated: ten columns of 10 to 100,000 categories (Zipf), effects of
their values and of one pair, a tenth of which are drawn again after each tenth of the stream; 2 % positive.
"generator" is the score of the probabilities that the labels were drawn from.

What is unfair: the boosted trees see all rows again at each training and know nothing until the first one (they are
scored from there on, the others too); categories that they have not seen are missing to them. Vowpal Wabbit has 2^18
weights by default. All use one thread.
"""

import argparse
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import nolana
from nolana import StreamClassifier, StreamRegressor

BLOCK = 1000
TABLES = {  # name: rows at most, task
    "insteval": (60_000, "regression"),
    "movielens100k": (60_000, "regression"),
    "bank_marketing": (None, "classification"),
    "nycflights_late": (60_000, "classification"),
    "mushroom": (None, "classification"),
    "metro_traffic": (None, "regression"),
    "beijing_pm25": (None, "regression"),
    "air_quality_co": (None, "regression"),
}
CARDINALITIES = (10, 20, 50, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
POSITIVE = 0.02
TRAININGS = {"LightGBM": 20, "CatBoost": 10}


class Stream(NamedTuple):
    frame: pd.DataFrame
    y: np.ndarray
    task: str
    truth: np.ndarray | None = None  # the probabilities that labels were drawn from


def clicks(rows: int, seed: int = 0) -> Stream:
    """Ad clicks: log-odds are a sum of effects of the values of ten columns and of one pair, which drift."""
    rng = np.random.default_rng(seed)
    columns, log_odds = {}, np.zeros(rows)
    parts = np.array_split(np.arange(rows), 10)
    for i, values in enumerate(CARDINALITIES):
        chosen = np.minimum(values - 1, (rng.pareto(1.1, rows) * values / 50).astype(int))
        codes = rng.permutation(values)[chosen]
        effects = rng.normal(scale=0.45, size=values)
        for part in parts:
            log_odds[part] += effects[codes[part]]
            moved = rng.random(values) < 0.1
            effects = np.where(moved, rng.normal(scale=0.45, size=values), effects)
        columns[f"c{i}"] = [f"v{code}" for code in codes]
    pair = pd.factorize(pd.Series(columns["c2"]) + "/" + pd.Series(columns["c3"]))[0]
    log_odds += rng.normal(scale=0.5, size=pair.max() + 1)[pair]
    low, high = -20.0, 20.0
    for _ in range(60):  # the constant that makes the mean probability 2 %
        constant = (low + high) / 2
        truth = 1 / (1 + np.exp(-log_odds - constant))
        low, high = (constant, high) if truth.mean() < POSITIVE else (low, constant)
    return Stream(pd.DataFrame(columns), (rng.random(rows) < truth).astype(int), "classification", truth)


def table(name: str, rows: int | None) -> Stream | None:
    """A table of NOLANA_DATA, or None with a word about it."""
    path = Path(os.environ.get("NOLANA_DATA", "")) / f"{name}.csv.gz"
    if not os.environ.get("NOLANA_DATA") or not path.exists():
        print(f"{name} is left out: set NOLANA_DATA to a directory with {path.name}")
        return None
    most, task = TABLES[name]
    frame = pd.read_csv(path, nrows=min(rows or 10**9, most or 10**9))
    y = frame.pop("target").to_numpy()
    return Stream(frame, y.astype(float) if task == "regression" else y.astype(int), task)


def run_nolana(stream: Stream) -> np.ndarray:
    model = (StreamRegressor if stream.task == "regression" else StreamClassifier)(random_state=0)
    parts = []
    for i in range(0, len(stream.y), BLOCK):
        x, y = stream.frame.iloc[i : i + BLOCK], stream.y[i : i + BLOCK]
        if stream.task == "regression":
            parts.append(np.asarray(model.learn(x, y)))
        else:
            parts.append(model.learn_proba(x, y, classes=[0, 1])[1][:, 1])
    return np.concatenate(parts)


def is_text(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column)


def run_vw(stream: Stream, options: list[str]) -> np.ndarray:
    from vowpalwabbit import Workspace

    logistic = [] if stream.task == "regression" else ["--loss_function", "logistic", "--link", "logistic"]
    workspace = Workspace(arg_list=["--quiet", *logistic, *options])
    parts = []
    for name, column in stream.frame.items():
        if is_text(column):
            values = column.fillna("missing").str.replace(r"[ :|]", "_", regex=True)
            parts.append((f"{name}=" + values).str.replace(r"[ :|]", "_", regex=True).tolist())
        else:
            x = column.astype(float)
            mean, spread = x.expanding().mean().shift(1).fillna(0), x.expanding().std().shift(1)
            z = ((x - mean) / spread.replace(0, np.nan)).fillna(0.0).to_numpy()
            title = str(name).replace(" ", "_").replace(":", "_").replace("|", "_")
            parts.append([f"{title}:{value:.5g}" for value in z])
    rows = [" ".join(cells) for cells in zip(*parts, strict=True)]
    labels = stream.y if stream.task == "regression" else 2 * stream.y - 1
    scores = np.empty(len(rows))
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        example = workspace.parse(f"{label} |a {row}")
        workspace.learn(example)
        scores[i] = example.get_simplelabel_prediction()
        workspace.finish_example(example)
    workspace.finish()
    return scores


def trainings(rows: int, times: int) -> Iterator[tuple[int, int]]:
    """Rows that a model is trained on, and up to which it predicts."""
    ends = np.linspace(0, rows, times + 2).astype(int)[1:]
    return zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)


def run_boosting(stream: Stream, name: str) -> np.ndarray:
    frame, regression = stream.frame.copy(), stream.task == "regression"
    text = [column for column in frame if is_text(frame[column])]
    scores = np.full(len(stream.y), np.nan)
    for column in text:
        frame[column] = frame[column].fillna("missing").astype(str if name == "CatBoost" else "category")
    for trained, until in trainings(len(stream.y), TRAININGS[name]):
        if name == "LightGBM":
            from lightgbm import LGBMClassifier, LGBMRegressor

            model = (LGBMRegressor if regression else LGBMClassifier)(n_jobs=1, verbose=-1)
            model.fit(frame[:trained], stream.y[:trained])
        else:
            from catboost import CatBoostClassifier, CatBoostRegressor

            own = CatBoostRegressor if regression else CatBoostClassifier
            model = own(thread_count=1, verbose=0, allow_writing_files=False, cat_features=text)
            model.fit(frame[:trained], stream.y[:trained])
        rows = frame[trained:until]
        scores[trained:until] = model.predict(rows) if regression else model.predict_proba(rows)[:, 1]
    return scores


METHODS: dict[str, Callable[[Stream], np.ndarray]] = {
    "nolana": run_nolana,
    "VW": lambda stream: run_vw(stream, []),
    "VW, all pairs": lambda stream: run_vw(stream, ["--quadratic", "aa"]),
    "LightGBM": lambda stream: run_boosting(stream, "LightGBM"),
    "CatBoost": lambda stream: run_boosting(stream, "CatBoost"),
}


def scored(stream: Stream, scores: np.ndarray) -> str:
    """Over the rows from the first training of CatBoost on."""
    start = len(stream.y) // (TRAININGS["CatBoost"] + 1)
    y, f = stream.y[start:], scores[start:]
    if stream.task == "regression":
        return f"{100 * (1 - np.mean((f - y) ** 2) / y.var()):.2f}"
    loss = log_loss(y, np.clip(f, 1e-6, 1 - 1e-6))
    return f"{loss:.4f}" + (f" ({100 * roc_auc_score(y, f):.2f})" if stream.truth is not None else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, help="of each stream, at most")
    parser.add_argument("--streams", nargs="*", default=[*TABLES, "clicks"])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    print(f"nolana {nolana.__version__}, {nolana.build_name()}, {machine}\n")
    print("| stream | " + " | ".join(options.methods) + " | generator |")
    print("|---" * (len(options.methods) + 2) + "|")
    for name in options.streams:
        stream = clicks(options.rows or 200_000) if name == "clicks" else table(name, options.rows)
        if stream is None:
            continue
        cells = []
        for method in options.methods:
            try:
                start = time.process_time()
                scores = METHODS[method](stream)
                spent = (time.process_time() - start) / len(stream.y)
                cells.append(f"{scored(stream, scores)}, {1e6 * spent:,.0f} us")
            except ImportError as error:
                cells.append(f"- ({error.name} is missing)")
        truth = "" if stream.truth is None else scored(stream, stream.truth)
        print(f"| {name} | " + " | ".join(cells) + f" | {truth} |", flush=True)


if __name__ == "__main__":
    main()
