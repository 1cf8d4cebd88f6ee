"""Memory that does not grow, or exit status 1: of the learner, and of `nolana learn` at the end of a pipe.

The learner after 20,000 rows and after 2,000,000. The command, with checkpoints, while 5,000,000 rows of CSV are
written into its standard input: its resident memory after every 50,000 rows, as /proc tells it, may be 2 MB above what
it was after the first 50,000, no more.

What is unfair: the learner is warm at the first reading, so what Python, NumPy and scikit-learn take to load is in
neither difference; resident memory counts pages, so a leak of a few hundred kilobytes can hide below what is allowed;
rows/s of the learner is for blocks of 1,000, the making of the stream not counted, that of the command waits for the
rows, which this process makes. The command is asked while up to a pipe's content (64 kB, 1,000 rows) is on its way.
"""

import argparse
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from nolana import NolanaClassifier
from streams import print_setting

Array = NDArray[np.float64]

SEED = 0
FEATURES, LANDMARKS, BLOCK = 22, 100, 1000
EARLY, LATE = 20_000, 2_000_000
CLUSTERS = 20
PERIOD = 300_000  # rows in which a cluster comes back to its place
ALLOWED_GROWTH = 1_000_000  # bytes of resident memory

COMMAND = [sys.executable, "-c", "from nolana.cli import main; main()", "learn", "-", "--target", "y", "--json"]
COMMAND += ["--method", "nolana"]
COLUMNS = 8
PIPED_ROWS, STRETCH = 5_000_000, 50_000  # rows of the pipe, and between two readings
ALLOWED_DRIFT = 2_000_000  # bytes of resident memory of the command


@dataclass(frozen=True)
class Reading:
    rows: int
    moves: int
    state: int  # bytes the learner says it has
    resident: int | None  # bytes of the process; None where it is not measured


def drifting_blocks(seed: int, features: int = FEATURES) -> Iterator[tuple[Array, NDArray[np.intp]]]:
    """Clusters of alternating class, each on its own circle; blocks of 1,000 rows for ever."""
    rng = np.random.default_rng(seed)
    centres, directions = rng.standard_normal((2, CLUSTERS, features))
    row = 0
    while True:
        cluster = rng.integers(CLUSTERS, size=BLOCK)
        angle = 2 * np.pi * (row / PERIOD + cluster / CLUSTERS)
        places = np.cos(angle)[:, None] * centres[cluster] + np.sin(angle)[:, None] * directions[cluster]
        yield places + 0.5 * rng.standard_normal((BLOCK, features)), cluster % 2
        row += BLOCK


def resident_bytes(process: int | str = "self") -> int | None:
    statm = Path(f"/proc/{process}/statm")
    if not statm.exists():
        return None
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def learn_until(model: NolanaClassifier, rows: int, blocks: Iterator[tuple[Array, NDArray[np.intp]]]) -> float:
    """Seconds spent learning."""
    seconds, learned = 0.0, getattr(model, "n_rows_", 0)
    for _ in range(learned, rows, BLOCK):
        X, y = next(blocks)
        begin = time.perf_counter()
        model.learn(X, y)
        seconds += time.perf_counter() - begin
    return seconds


def reading_of(model: NolanaClassifier) -> Reading:
    return Reading(model.n_rows_, model.n_moves_, model.memory_bytes_, resident_bytes())


def print_readings(early: Reading, late: Reading) -> None:
    def line(label: str, before: int | None, after: int | None) -> str:
        if before is None or after is None:
            return f"{label:<16} not measured: there is no /proc here"
        return f"{label:<16} {before:>14,} {after:>14,} {after - before:>+14,}"

    print(f"\n{'':<16} {'early':>14} {'late':>14} {'difference':>14}")
    print(line("rows", early.rows, late.rows))
    print(line("landmark moves", early.moves, late.moves))
    print(line("memory_bytes_", early.state, late.state))
    print(line("resident bytes", early.resident, late.resident))


def complaints(early: Reading, late: Reading) -> list[str]:
    found = []
    if late.moves == early.moves:
        found.append("no landmark moved between the readings, so they say nothing about moving landmarks")
    if late.state != early.state:
        found.append(f"memory_bytes_ went from {early.state:,} to {late.state:,}")
    if early.resident is not None and late.resident is not None and late.resident - early.resident > ALLOWED_GROWTH:
        found.append(f"resident memory grew by {late.resident - early.resident:,} bytes, over {ALLOWED_GROWTH:,}")
    return found


def of_the_learner(rows: int) -> list[str]:
    model, blocks = NolanaClassifier(n_landmarks=LANDMARKS, scale=False), drifting_blocks(SEED)
    learn_until(model, EARLY, blocks)
    early = reading_of(model)
    seconds = learn_until(model, rows, blocks)
    late = reading_of(model)
    print_readings(early, late)
    print(f"\n{(late.rows - early.rows) / seconds:,.0f} rows/s at d = {FEATURES}, m = {LANDMARKS}, Newton")
    return complaints(early, late)


# The command


def csv_texts(rows: int) -> Iterator[bytes]:
    """CSV with a header, a stretch at a time."""
    names = [*(f"x{j}" for j in range(COLUMNS)), "y"]
    blocks = drifting_blocks(SEED, COLUMNS)
    for start in range(0, rows, STRETCH):
        some = list(itertools.islice(blocks, STRETCH // BLOCK))
        X, y = (np.concatenate([block[i] for block in some]) for i in range(2))
        table = pa.table([*np.round(X.T, 4), y], names=names)
        sink = io.BytesIO()
        pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(include_header=start == 0))
        yield sink.getvalue()


def of_the_command(rows: int) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        options = ["--model", f"{directory}/model", "--checkpoint-every", "100000"]
        with subprocess.Popen([*COMMAND, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            begin, readings = time.perf_counter(), []
            for text in csv_texts(rows):
                process.stdin.write(text)
                process.stdin.flush()
                readings.append(resident_bytes(process.pid))
            process.stdin.close()
            told = json.loads(process.stdout.read())
            seconds = time.perf_counter() - begin
    sizes = [size for size in readings if size is not None]
    print(f"\nnolana learn -: {told['rows']:,} rows of {COLUMNS} features, {told['moves']:,} moves, m = {LANDMARKS}")
    print(f"{told['rows'] / seconds:,.0f} rows/s, accuracy {100 * told['metrics']['accuracy']:.2f} %")
    found = [] if told["rows"] == rows else [f"the command learned {told['rows']:,} rows, {rows:,} were written"]
    if len(sizes) < len(readings):
        print("resident bytes not measured: there is no /proc here")
        return found
    first, drift = sizes[0], [size - sizes[0] for size in sizes]
    print(f"resident bytes after {STRETCH:,} rows {first:,}")
    print(f"later {min(drift):+,} to {max(drift):+,}, at last {drift[-1]:+,} (bound {ALLOWED_DRIFT:+,})")
    if max(drift) > ALLOWED_DRIFT:
        found.append(f"resident memory of the command grew by {max(drift):,} bytes, over {ALLOWED_DRIFT:,}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=LATE, help="that the learner learns")
    parser.add_argument("--piped-rows", type=int, default=PIPED_ROWS, help="that the command reads")
    chosen = parser.parse_args()
    print(__doc__)
    print_setting(SEED)
    found = of_the_learner(chosen.rows) + of_the_command(chosen.piped_rows)
    for complaint in found:
        print(f"FAILED: {complaint}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
