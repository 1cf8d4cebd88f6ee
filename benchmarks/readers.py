"""How fast rows come out of files: beside what one would take instead, and format by format; all in one run.

Beside others, seconds for the whole file: covtype, 581,012 rows of 54 features as LIBSVM text, bzip2 (the bound is
for this); the insects stream as it comes, CSV, gzip; the first 100,000 rows of covtype as plain CSV. Format by
format, rows/s in blocks of 1,000: 200,000 rows of ten numbers and a label; and "mixed": five numbers, one of them
missing in one row of ten, a column of text, a time and a label; ten columns of strings beside pandas. One thread,
medians of repeats that take turns; the arrays of all readers are compared.

What is unfair: scikit-learn gives a sparse matrix, and the time to make it dense is counted, as nolana's rows are dense
from the start; "blocks of 1,000" holds one block at a time, the others the whole file; the floor is bzip2 alone, which
every reader pays; pandas is left at its default parser, which may be wrong in the last digit. All files are in the page
cache; the generated numbers have 15 to 17 digits, the longest that text has, while covtype's are short, most of them 0.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import bz2
import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import zstandard
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import nolana
from nolana.errors import DataError
from nolana.runs import Recipe, Scoring, SourceOptions, start
from speed import interleaved
from streams import STREAMS, print_setting

BOUND = 15.0  # seconds for covtype
FEATURES = 54
CSV_ROWS = 100_000
GENERATED_ROWS, SEED = 200_000, 0
MIXED = {"growing": "leave_out"}

Read = Callable[[], Any]  # the whole (n, d) array, or None where it is not kept


def by_blocks(path: Path, **options: Any) -> Read:
    def job() -> None:
        with nolana.sources.open(path, **options) as stream:
            for _ in stream:
                pass

    return job


# Beside others


def compare(title: str, jobs: dict[str, Read], repeats: int, bounded: tuple[str, ...] = ()) -> None:
    """Seconds of each reader; all arrays must agree."""
    first: list[Any] = []

    def checked(name: str, job: Read) -> Callable[[], None]:
        def run() -> None:
            values = job()
            if values is None:
                return
            first[:] = first or [values]
            if values.shape != first[0].shape or not np.allclose(values, first[0], rtol=1e-14, atol=0):
                raise SystemExit(f"{name} reads other values than the reader before it")

        return run

    for name, job in jobs.items():
        checked(name, job)()
    print(f"\n{title}")
    for name, seconds in interleaved(jobs, repeats).items():
        verdict = f"  bound {BOUND:g} s: {'holds' if seconds <= BOUND else 'does not hold'}" if name in bounded else ""
        print(f"  {name:<44} {seconds:8.2f} s{verdict}", flush=True)


def libsvm(repeats: int) -> None:
    [path] = STREAMS["covtype"].paths()

    def floor() -> None:
        bz2.decompress(path.read_bytes())

    jobs: dict[str, Read] = {
        "bzip2 alone": floor,
        "nolana.sources.read, n_features=54": lambda: nolana.sources.read(path, n_features=FEATURES)[0],
        "nolana.sources.read, width found first": lambda: nolana.sources.read(path)[0],
        "nolana.sources.open, blocks of 1,000": by_blocks(path, n_features=FEATURES),
        "sklearn.datasets.load_svmlight_file": lambda: load_svmlight_file(path, n_features=FEATURES)[0].toarray(),
    }
    title = f"LIBSVM, bzip2: covtype, 581,012 rows of {FEATURES} features"
    compare(title, jobs, repeats, tuple(name for name in jobs if name.startswith("nolana")))


def csv(title: str, path: Path, repeats: int) -> None:
    jobs: dict[str, Read] = {
        "nolana.sources.read": lambda: nolana.sources.read(path)[0],
        "nolana.sources.open, blocks of 1,000": by_blocks(path),
        "pandas.read_csv": lambda: pd.read_csv(path).to_numpy(np.float64)[:, :-1],
        "numpy.loadtxt": lambda: np.loadtxt(path, delimiter=",", skiprows=1)[:, :-1],
    }
    compare(title, jobs, repeats)


def strings(directory: Path, repeats: int) -> None:
    """Ten columns of 10 to 100,000 strings: read, and learned by the default learner, as ratios to pandas."""
    rng = np.random.default_rng(SEED)
    columns = {f"c{j}": [f"value_{v}" for v in rng.integers(0, 10 ** (1 + j % 5), GENERATED_ROWS)] for j in range(10)}
    path = directory / "strings.csv"
    pd.DataFrame({**columns, "y": rng.integers(0, 2, GENERATED_ROWS)}).to_csv(path, index=False)

    def learned() -> None:
        start(str(path), SourceOptions(target="y"), Recipe(), Scoring()).process()

    jobs: dict[str, Read] = {
        "pandas.read_csv": lambda: pd.read_csv(path),
        "nolana.sources.open, blocks of 1,000": by_blocks(path, growing="leave_out"),
        "the same, predicted and learned": learned,
    }
    print(f"\nCSV, ten columns of strings, {GENERATED_ROWS:,} rows")
    found = interleaved(jobs, repeats)
    for name, seconds in found.items():
        ratio = seconds / found["pandas.read_csv"]
        print(f"  {name:<44} {GENERATED_ROWS / seconds:>12,.0f} rows/s {ratio:8.2f} times the time of pandas")


def beside_others(directory: Path, repeats: int) -> None:
    libsvm(repeats)
    csv("CSV, gzip: insects", STREAMS["insects"].paths()[0], repeats)
    with nolana.sources.open(STREAMS["covtype"].paths()[0], n_features=FEATURES, block_rows=CSV_ROWS) as stream:
        first = next(iter(stream))
    path = directory / "covtype.csv"
    np.savetxt(
        path, np.column_stack([first.X, first.y]), fmt="%g", delimiter=",", header="x," * FEATURES + "y", comments=""
    )
    csv(f"CSV, plain: covtype, the first {CSV_ROWS:,} rows", path, repeats)


# Format by format


def numbers() -> pd.DataFrame:
    X = np.random.default_rng(SEED).normal(size=(GENERATED_ROWS, 10))
    return pd.DataFrame({**{f"x{j}": X[:, j] for j in range(10)}, "y": (X[:, 0] > 0).astype(int)})


def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(SEED)
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=GENERATED_ROWS) for j in range(5)}
    columns["x0"][rng.random(GENERATED_ROWS) < 0.1] = np.nan
    columns["colour"] = rng.choice(["red", "green", "blue", "ochre"], GENERATED_ROWS)
    seconds = np.datetime64("2024-01-01T00:00:00") + np.arange(GENERATED_ROWS)
    return pd.DataFrame({**columns, "when": seconds.astype(str), "y": rng.integers(0, 2, GENERATED_ROWS)})


def csv_of(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def jsonl_of(frame: pd.DataFrame) -> bytes:
    return frame.to_json(orient="records", lines=True, double_precision=15).encode()


def libsvm_of(frame: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    dump_svmlight_file(frame.to_numpy()[:, :-1], frame["y"], sink, zero_based=False)
    return sink.getvalue()


def parquet_of(frame: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.to_parquet(sink, index=False)
    return sink.getvalue()


def arrow_of(frame: pd.DataFrame) -> bytes:
    table, sink = pa.Table.from_pandas(frame, preserve_index=False), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    return sink.getvalue()


def by_format(directory: Path, repeats: int) -> None:
    plain, varied = numbers(), mixed()
    contents: dict[str, tuple[bytes, dict[str, Any]]] = {
        "csv": (csv_of(plain), {}),
        "csv.gz": (gzip.compress(csv_of(plain), 6), {}),
        "csv.zst": (zstandard.compress(csv_of(plain)), {}),
        "jsonl": (jsonl_of(plain), {}),
        "svm": (libsvm_of(plain), {"n_features": 10}),
        "parquet": (parquet_of(plain), {}),
        "arrow": (arrow_of(plain), {}),
        "mixed.csv": (csv_of(varied), MIXED),
        "mixed.jsonl": (jsonl_of(varied), MIXED),
        "mixed.parquet": (parquet_of(varied), MIXED),
    }
    jobs = {}
    for name, (content, options) in contents.items():
        path = directory / f"rows.{name}"
        path.write_bytes(content)
        jobs[name] = by_blocks(path, **options)
    print(f"\nblocks of 1,000, {GENERATED_ROWS:,} rows\n{'file':<14} {'rows/s':>12} {'MB/s':>8}")
    for name, seconds in interleaved(jobs, repeats).items():
        print(f"{name:<14} {GENERATED_ROWS / seconds:>12,.0f} {len(contents[name][0]) / seconds / 1e6:>8.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(__doc__)
    print_setting(SEED)
    with tempfile.TemporaryDirectory() as directory:
        by_format(Path(directory), repeats)
        strings(Path(directory), repeats)
        try:
            beside_others(Path(directory), repeats)
        except DataError as missing:
            print(f"\nnothing to read: {missing}")


if __name__ == "__main__":
    main()
