"""How fast rows come out of files: 200,000 rows of 10 numbers and a label, in blocks of 1,000, best of 3.

Unfair: the file is in the page cache, and numbers of 17 digits are the longest text has. "mixed" has beside five
numbers a column of text (one-hot), a time, and one number in ten missing.
"""

import gzip
import io
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import nolana
from streams import print_setting

ROWS, SEED = 200_000, 0


def numbers() -> pa.Table:
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(ROWS, 10))
    return pa.table({**{f"x{j}": X[:, j] for j in range(10)}, "y": (X[:, 0] > 0).astype(int)})


def mixed() -> pa.Table:
    rng = np.random.default_rng(SEED)
    columns = {f"x{j}": pa.array(rng.normal(size=ROWS)) for j in range(5)}
    columns["x0"] = pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.1)
    columns["colour"] = pa.array(rng.choice(["red", "green", "blue", "ochre"], ROWS))
    columns["when"] = pa.array(
        [f"2024-01-01T{i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}" for i in range(ROWS)]
    )
    return pa.table({**columns, "y": rng.integers(0, 2, ROWS)})


def csv_of(table: pa.Table) -> bytes:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
    return "\n".join([",".join(table.column_names), *lines]).encode()


def jsonl_of(table: pa.Table) -> bytes:
    return "\n".join(json.dumps(row) for row in table.to_pylist()).encode()


def libsvm_of(table: pa.Table) -> bytes:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return "\n".join(
        f"{row[-1]} " + " ".join(f"{j}:{v}" for j, v in enumerate(row[:-1], start=1)) for row in rows
    ).encode()


def parquet_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def arrow_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    return sink.getvalue()


def main() -> None:
    print(__doc__)
    print_setting(SEED)
    plain, varied = numbers(), mixed()
    how = {"categories": "onehot", "missing": "mean"}
    cases = [
        ("csv", csv_of(plain), {}),
        ("csv.gz", gzip.compress(csv_of(plain), 6), {}),
        ("csv.zst", zstandard.compress(csv_of(plain)), {}),
        ("jsonl", jsonl_of(plain), {}),
        ("svm", libsvm_of(plain), {"n_features": 10}),
        ("parquet", parquet_of(plain), {}),
        ("arrow", arrow_of(plain), {}),
        ("mixed.csv", csv_of(varied), how),
        ("mixed.jsonl", jsonl_of(varied), how),
        ("mixed.parquet", parquet_of(varied), how),
    ]
    print(f"\n{'file':<14} {'rows/s':>12} {'MB/s':>8}")
    with tempfile.TemporaryDirectory() as directory:
        for name, content, parameters in cases:
            path = Path(directory) / f"rows.{name}"
            path.write_bytes(content)
            best = np.inf
            for _ in range(3):
                begin = time.perf_counter()
                with nolana.streams.open(path, **parameters) as stream:
                    rows = sum(len(block.X) for block in stream)
                best = min(best, time.perf_counter() - begin)
            print(f"{name:<14} {rows / best:>12,.0f} {len(content) / best / 1e6:>8.0f}")


if __name__ == "__main__":
    main()
