"""The time of the default learner beside that of another version of nolana, in turn; set NOLANA_DATA.

    git worktree add /tmp/earlier REVISION
    python -m venv /tmp/earlier/.venv && /tmp/earlier/.venv/bin/pip install /tmp/earlier
    python benchmarks/versions.py /tmp/earlier/.venv/bin/python [--rows 24000] [--repeats 5]

Each run is a process of its own that learns the rows in blocks of 1,000, the start included, without the conversion of
rows. CPU time of `learn` in microseconds a row, medians over the repeats; the ratio is that of the medians, and that of
the fastest runs, which other work on the machine distorts least. One thread.

What is unfair: each version runs as it is installed, with the build of the core that it chooses for this machine.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

import nolana

BLOCK = 1000
NAMES = ("ijcnn1", "covtype", "insects")


def measure(path: Path) -> float:
    """Microseconds a row of the rows in a file, by the nolana of this interpreter."""
    warnings.simplefilter("ignore")
    rows = np.load(path)
    X, y = rows["X"], rows["y"]
    nolana.StreamClassifier(random_state=0).learn(X[:10], y[:10])  # what is imported at the first rows
    learner = nolana.StreamClassifier(random_state=0)
    start = process_time()
    for i in range(0, len(X), BLOCK):
        learner.learn(X[i : i + BLOCK], y[i : i + BLOCK])
    return 1e6 * (process_time() - start) / len(X)


def run(python: str, path: Path) -> float:
    """The same by another interpreter, in a process of its own."""
    command = [python, str(Path(__file__).resolve()), "--measure", str(path)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare(other: str, rows: int, repeats: int) -> None:
    from default_speed import rows_of
    from streams import print_setting

    print_setting(seed=0)
    print(f"\n{'stream':<10} {'rows':>8} {'other':>8} {'this':>8} {'ratio':>8} {'of fastest':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            X, y = rows_of(name, rows)
            path = Path(folder) / f"{name}.npz"
            np.savez(path, X=X, y=y)
            times: dict[str, list[float]] = {other: [], sys.executable: []}
            for repeat in range(repeats):
                for python in sorted(times, reverse=repeat % 2 == 1):
                    times[python].append(run(python, path))
            theirs, ours = times[other], times[sys.executable]
            before, now = median(theirs), median(ours)
            ratios = f"{now / before:>8.2f} {min(ours) / min(theirs):>11.2f}"
            print(f"{name:<10} {len(y):>8,} {before:>8.2f} {now:>8.2f} {ratios}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="the time of another version of nolana")
    parser.add_argument("other", nargs="?", help="a Python that has the other version")
    parser.add_argument("--rows", type=int, default=24_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(measure(options.measure))
    elif options.other and Path(options.other).absolute() != Path(sys.executable):
        print(__doc__)
        compare(options.other, options.rows, options.repeats)
    else:
        parser.error("name another Python than this one, which has the other version")


if __name__ == "__main__":
    main()
