"""Speed of the default learner, as ratios measured in one run, on rows of real streams; set NOLANA_DATA.

Against NolanaClassifier(n_landmarks=100): each job makes a learner and learns the first rows of a stream in blocks of
1,000, start included, and once more only 1,000 and 5,000 rows, where the start counts most. The jobs take turns, and
times are medians of CPU time: what else runs on the machine distorts them less. Against the forests of MOA and River on
elec2: one pass over the first rows, predict then learn, and the accuracy beside it. One thread.

What is unfair: landmarks cost most while they grow and Java compiles MOA's learner while it runs. Few rows (`--rows`,
`--forest-rows`) therefore flatter the default learner; take many. River is called from Python for each row.
Time is that of `learn`, without the conversion of rows. The forests run once.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import nolana
from default import stream
from libraries import BLOCK, PEERS, blocks_of
from nolana import NolanaClassifier
from nolana.errors import DataError
from nolana.evaluate import progressive
from nolana.experts import Bins
from nolana.research.paper.harness.machine import version_of
from nolana.research.peers import Task
from speed import interleaved
from streams import STREAMS, print_setting, shuffled

SEED = 0
NAMES = ("ijcnn1", "covtype", "insects")
START = (1_000, 5_000)  # rows
BOUNDS = {"default": 2.5, "cells alone": 0.6}  # times NolanaClassifier(n_landmarks=100)
FORESTS = {"MOA ARF(10)": 12, "River ARF(10)": 50}  # times the default learner, at least


def rows_of(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first rows, shuffled unless the stream drifts."""
    X, y = STREAMS[name].load()
    if not STREAMS[name].record.drifts:
        X, y = shuffled(X, y, SEED)
    return np.ascontiguousarray(X[:rows]), y[:rows]


def learn_all(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    def job() -> None:
        learner = make()
        for i in range(0, len(X), BLOCK):
            learner.learn(X[i : i + BLOCK], y[i : i + BLOCK])

    return job


def against_landmarks(rows: int, repeats: int) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "landmarks": lambda: NolanaClassifier(n_landmarks=100, scale=True, random_state=SEED)
    }
    makers["default"] = lambda: nolana.StreamClassifier(random_state=SEED)
    makers["cells alone"] = lambda: nolana.StreamClassifier(experts=[Bins()], random_state=SEED)
    print(f"\nMicroseconds per row of at most {rows:,} rows, and times NolanaClassifier(n_landmarks=100) (bound)")
    print(f"{'stream':<10} {'landmarks':>10} " + "".join(f"{name:>26}" for name in BOUNDS))
    starts = []
    for name in NAMES:
        try:
            X, y = rows_of(name, rows)
        except DataError as missing:
            print(f"{name:<10} is missing: {missing}")
            continue
        times = interleaved({job: learn_all(make, X, y) for job, make in makers.items()}, repeats, process_time)
        cells = [comparison(times, job, len(y)) for job in BOUNDS]
        print(f"{name:<10} {1e6 * times['landmarks'] / len(y):10.2f} " + "".join(f"{c:>26}" for c in cells), flush=True)
        for count in START:
            jobs = {job: learn_all(make, X[:count], y[:count]) for job, make in makers.items()}
            starts.append((name, count, interleaved(jobs, repeats, process_time)))
    print("\nMilliseconds of the first rows, the learner made included")
    print(f"{'stream':<10} {'rows':>6}" + "".join(f"{job:>13}" for job in makers))
    for name, count, times in starts:
        print(f"{name:<10} {count:>6,}" + "".join(f"{1e3 * times[job]:13.0f}" for job in makers))


def comparison(times: dict[str, float], job: str, rows: int) -> str:
    ratio = times[job] / times["landmarks"]
    return f"{1e6 * times[job] / rows:.2f}, {ratio:.2f} (<= {BOUNDS[job]}{'' if ratio <= BOUNDS[job] else ' !'})"


def against_forests(rows: int, repeats: int) -> None:
    print(f"\nelec2, at most {rows:,} rows: accuracy % and microseconds per row")
    try:
        X, y = rows_of("elec2", rows)
    except DataError as missing:
        print(f"elec2 is missing: {missing}")
        return
    task = Task.of(X, y, regression=False)
    ours = [progressive(learner, blocks_of(learner, X, y)) for learner in (default(task) for _ in range(repeats))]
    time = float(np.median([result.microseconds_per_row for result in ours]))
    print(f"{'nolana':<14} {100 * ours[0].metrics['accuracy']:6.2f} {time:9.2f}")
    for name, bound in FORESTS.items():
        if PEERS[name].missing:
            print(f"{name:<14} does not run: {PEERS[name].missing}")
            continue
        forest = PEERS[name].make(task, SEED)
        result = progressive(forest, blocks_of(forest, X, y))
        ratio = result.microseconds_per_row / time
        print(
            f"{name:<14} {100 * result.metrics['accuracy']:6.2f} {result.microseconds_per_row:9.2f}   "
            f"{ratio:.0f} times as long (>= {bound}{'' if ratio >= bound else ' !'})",
            flush=True,
        )


def default(task: Task) -> Any:
    """The default learner; before it exists, 100 landmarks."""
    return stream(task, SEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="of each stream, at most")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--forest-rows", type=int, default=45_312, help="of elec2, at most")
    options = parser.parse_args()
    print(__doc__)
    print_setting(SEED)
    print(f"others    capymoa {version_of('capymoa')}")
    against_landmarks(options.rows, options.repeats)
    against_forests(options.forest_rows, options.repeats)


if __name__ == "__main__":
    main()
