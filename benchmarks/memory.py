"""Memory after 20,000 rows and after 2,000,000: the same, or exit status 1.

What is unfair: the learner is warm at the first reading, so what Python, NumPy and scikit-learn take to load is in
neither difference; resident memory counts pages, so a leak of a few hundred kilobytes can hide below the 1 MB allowed;
and rows/s is for blocks of 1,000, the making of the stream not counted.
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
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

STATM = Path("/proc/self/statm")


@dataclass(frozen=True)
class Reading:
    rows: int
    moves: int
    state: int  # bytes the learner says it has
    resident: int | None  # bytes of the process; None where it is not measured


def drifting_blocks(seed: int) -> Iterator[tuple[Array, NDArray[np.intp]]]:
    """Clusters of alternating class, each on its own circle; blocks of 1,000 rows for ever."""
    rng = np.random.default_rng(seed)
    centres, directions = rng.standard_normal((2, CLUSTERS, FEATURES))
    row = 0
    while True:
        cluster = rng.integers(CLUSTERS, size=BLOCK)
        angle = 2 * np.pi * (row / PERIOD + cluster / CLUSTERS)
        places = np.cos(angle)[:, None] * centres[cluster] + np.sin(angle)[:, None] * directions[cluster]
        yield places + 0.5 * rng.standard_normal((BLOCK, FEATURES)), cluster % 2
        row += BLOCK


def resident_bytes() -> int | None:
    if not STATM.exists():
        return None
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
            return f"{label:<16} not measured: there is no {STATM} here"
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


def main() -> int:
    print(__doc__)
    print_setting(SEED)
    model, blocks = NolanaClassifier(n_landmarks=LANDMARKS), drifting_blocks(SEED)
    learn_until(model, EARLY, blocks)
    early = reading_of(model)
    seconds = learn_until(model, LATE, blocks)
    late = reading_of(model)
    print_readings(early, late)
    print(f"\n{(late.rows - early.rows) / seconds:,.0f} rows/s at d = {FEATURES}, m = {LANDMARKS}, Newton")
    found = complaints(early, late)
    for complaint in found:
        print(f"FAILED: {complaint}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
