"""Seconds to read files into arrays, beside what one would take instead, in one run.

LIBSVM text: covtype, 581,012 rows of 54 features, bzip2 (the bound is for this). CSV: the insects stream as it comes,
gzip, and the first 100,000 rows of covtype written out as plain CSV. One thread, best of the repeats, readers
taking turns; the values of all readers are compared.

What is unfair: scikit-learn gives a sparse matrix, and the time to make it dense is counted, as nolana's rows are dense
from the start; "blocks of 1,000" holds one block at a time, the others the whole file; the floor is bzip2 alone, which
every reader pays; pandas is left at its default parser, which may be wrong in the last digit.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import bz2
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file

import nolana
from streams import path_of, print_setting

BOUND = 15.0  # seconds for covtype
FEATURES = 54
CSV_ROWS = 100_000

Read = Callable[[], Any]  # the whole (n, d) array, or None where it is not kept


def by_blocks(path: Path, **options: Any) -> Read:
    def job() -> None:
        with nolana.streams.open(path, **options) as stream:
            for _ in stream:
                pass

    return job


def best_of(jobs: dict[str, Read], repeats: int) -> dict[str, float]:
    """Least seconds of each job, the jobs taking turns; all arrays must agree."""
    seconds = dict.fromkeys(jobs, np.inf)
    for _ in range(repeats):
        first = None
        for name, job in jobs.items():
            begin = time.perf_counter()
            values = job()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
            if values is None:
                continue
            first = values if first is None else first
            if values.shape != first.shape or not np.allclose(values, first, rtol=1e-14, atol=0):
                raise SystemExit(f"{name} reads other values than the reader before it")
    return seconds


def show(title: str, seconds: dict[str, float], bounded: tuple[str, ...] = ()) -> None:
    print(f"\n{title}")
    for name, value in seconds.items():
        verdict = f"  bound {BOUND:g} s: {'holds' if value <= BOUND else 'does not hold'}" if name in bounded else ""
        print(f"  {name:<44} {value:8.2f} s{verdict}", flush=True)


def libsvm(repeats: int) -> None:
    path = path_of("covtype.binary.scale01.bz2")

    def floor() -> None:
        bz2.decompress(path.read_bytes())

    jobs: dict[str, Read] = {
        "bzip2 alone": floor,
        "nolana.streams.read, n_features=54": lambda: nolana.streams.read(path, n_features=FEATURES)[0],
        "nolana.streams.read, width found first": lambda: nolana.streams.read(path)[0],
        "nolana.streams.open, blocks of 1,000": by_blocks(path, n_features=FEATURES),
        "sklearn.datasets.load_svmlight_file": lambda: load_svmlight_file(path, n_features=FEATURES)[0].toarray(),
    }
    title = "LIBSVM, bzip2: covtype, 581,012 rows of 54 features"
    show(title, best_of(jobs, repeats), tuple(name for name in jobs if name.startswith("nolana")))


def csv(title: str, path: Path, repeats: int) -> None:
    jobs: dict[str, Read] = {
        "nolana.streams.read": lambda: nolana.streams.read(path)[0],
        "nolana.streams.open, blocks of 1,000": by_blocks(path),
        "pandas.read_csv": lambda: pd.read_csv(path).to_numpy(np.float64)[:, :-1],
        "numpy.loadtxt": lambda: np.loadtxt(path, delimiter=",", skiprows=1)[:, :-1],
    }
    show(title, best_of(jobs, repeats))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(__doc__)
    print_setting(seed=None)
    try:
        libsvm(repeats)
        csv("CSV, gzip: insects", path_of("insects_gradual_balanced.csv.gz"), repeats)
        with tempfile.TemporaryDirectory() as directory:
            with nolana.streams.open(
                path_of("covtype.binary.scale01.bz2"), n_features=FEATURES, block_rows=CSV_ROWS
            ) as stream:
                first = next(iter(stream))
            path = Path(directory) / "covtype.csv"
            pd.DataFrame(np.column_stack([first.X, first.y])).to_csv(path, index=False, header=[*"x" * FEATURES, "y"])
            csv(f"CSV, plain: covtype, the first {CSV_ROWS:,} rows", path, repeats)
    except FileNotFoundError as missing:
        print(f"\nnothing to read: {missing}")


if __name__ == "__main__":
    main()
