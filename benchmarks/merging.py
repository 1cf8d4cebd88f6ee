"""Merging against one process: held-out accuracy of rounds of frozen parts, and the time of worker processes.

Each learner learns the same shuffled rows, once in one process and once in rounds: a leader with its maps moving learns
the first 2 % of a round, 8 frozen parts the others, and their merge leads the next round
(`nolana.estimators.rounds`). The score is that of 20,000 rows that neither has seen.

What is unfair. To merging: one process has its maps moving all the time, and each of its rows was scored after all rows
before it. To one process: a merge of the landmark learner forgets less than its rows did one by one.

Scaling: `nolana learn` on the same rows with 1 and 2 workers. Both learn the same 8 parts and end with the same model;
reading, the leader and merging are not divided. The share of the machine that was idle before each run is printed
beside it; below 90 % the times say nothing.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nolana
from nolana.estimators.rounds import RoundLearner
from streams import STREAMS, print_setting, shuffled

HELD_OUT = 20_000
IDLE_NEEDED = 0.9
COMMAND = "import sys; sys.argv[0] = 'nolana'; from nolana.cli import main; main()"

LEARNERS: dict[str, tuple[Callable[[int], Any], int]] = {  # and rows of a round
    "StreamClassifier": (lambda seed: nolana.StreamClassifier(random_state=seed), 20_000),
    "NolanaClassifier": (lambda seed: nolana.NolanaClassifier(n_landmarks=100), 10_000),
}


def accuracies(name: str, rows: int, round_rows: int, parts: int, seed: int) -> tuple[float, float]:
    """Held-out accuracy of one process, and of rounds."""
    make, _ = LEARNERS[name]
    X, y = shuffled(*STREAMS["covtype"].load(), seed)
    X, y = X[: rows + HELD_OUT], y[: rows + HELD_OUT]
    one, learner = make(seed), RoundLearner(make(seed), parts)
    for start in range(0, rows, round_rows):
        block = slice(start, min(rows, start + round_rows))
        one.learn(X[block], y[block])
        learner.learn(X[block], y[block])
    return one.score(X[rows:], y[rows:]), learner.score(X[rows:], y[rows:])


def print_costs(parts: int) -> None:
    """Bytes of a pickled part, 8 (m d + m (m + 1)) for a landmark expert, and CPU time of split and merge."""
    X, y = shuffled(*STREAMS["covtype"].load(), 0)
    d = X.shape[1]
    print(f"\n{'learner':<17} {'m':>4} {'bytes of a part':>16} {'formula':>8} {'split ms':>9} {'merge ms':>9}")
    models = [(nolana.StreamClassifier(random_state=0), None)]
    models += [(nolana.NolanaClassifier(n_landmarks=m), m) for m in (100, 200)]
    for model, m in models:
        model.learn(X[:5000], y[:5000])
        begin = time.process_time()
        learners = model.split(parts)
        middle = time.process_time()
        for i, part in enumerate(learners):
            part.learn(X[5000 + i : 25_000 : parts], y[5000 + i : 25_000 : parts])
        learned = time.process_time()
        nolana.merge(learners)
        times = 1000 * (middle - begin), 1000 * (time.process_time() - learned)
        formula = "" if m is None else f"{8 * (m * d + m * (m + 1)):,}"
        size = len(pickle.dumps(learners[0], pickle.HIGHEST_PROTOCOL))
        name = type(model).__name__
        print(f"{name:<17} {m or '':>4} {size:>16,} {formula:>8} {times[0]:>9.0f} {times[1]:>9.0f}", flush=True)


def idle_share(seconds: float = 2.0) -> float:
    """The share of the machine's time that nobody used in the last seconds."""

    def times() -> list[int]:
        return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]

    before = times()
    time.sleep(seconds)
    spent = np.subtract(times(), before)
    return float((spent[3] + spent[4]) / max(1, spent.sum()))


def seconds_of(source: Path, workers: int) -> tuple[float, float]:
    """The idle share before `nolana learn` with so many workers, and its seconds."""
    model = source.with_suffix(f".{workers}")
    idle, begin = idle_share(), time.perf_counter()
    words = ["learn", str(source), "--model", str(model), "--target", "label", "--workers", str(workers)]
    subprocess.run([sys.executable, "-c", COMMAND, *words], check=True, stdout=subprocess.DEVNULL, timeout=600)
    return idle, time.perf_counter() - begin


def print_scaling(rows: int) -> None:
    X, y = shuffled(*STREAMS["covtype"].load(), 0)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.csv"
        names = ",".join(f"x{i}" for i in range(X.shape[1]))
        table = np.column_stack([X[:rows], y[:rows]])
        np.savetxt(source, table, fmt="%.6g", delimiter=",", header=f"{names},label", comments="")
        results = {workers: seconds_of(source, workers) for workers in (1, 2)}
    print(f"\n{'workers':<8} {'idle before':>11} {'seconds':>8}")
    for workers, (idle, seconds) in results.items():
        print(f"{workers:<8} {100 * idle:>9.0f} % {seconds:>8.1f}")
    if min(idle for idle, _ in results.values()) < IDLE_NEEDED:
        print("the machine was busy before one of the runs: these times say nothing about scaling")
    else:
        print(f"1 -> 2 workers: {results[1][1] / results[2][1]:.2f} times as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of covtype to learn")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--round", type=int, default=0, help="rows of a round; 0: 20,000 and 10,000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scaling-rows", type=int, default=100_000, help="0: no scaling")
    arguments = parser.parse_args()
    print(__doc__)
    print_setting(seed=arguments.seeds)
    print(f"\ncovtype, {arguments.rows:,} rows, {arguments.parts} parts")
    print(f"{'learner':<17} {'round':>7} {'seed':>5} {'one process':>12} {'rounds':>8} {'points':>7}")
    for name, (_, default) in LEARNERS.items():
        round_rows = arguments.round or default
        changes = []
        for seed in range(arguments.seeds):
            one, rounds = accuracies(name, arguments.rows, round_rows, arguments.parts, seed)
            changes.append(100 * (rounds - one))
            print(f"{name:<17} {round_rows:>7,} {seed:>5} {100 * one:>12.2f} {100 * rounds:>8.2f} {changes[-1]:>+7.2f}")
        if changes:
            print(f"{name:<17} {round_rows:>7,} {'mean':>5} {'':>12} {'':>8} {np.mean(changes):>+7.2f}", flush=True)
    print_costs(arguments.parts)
    if arguments.scaling_rows:
        print_scaling(arguments.scaling_rows)


if __name__ == "__main__":
    main()
