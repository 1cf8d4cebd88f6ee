"""The streams of the experiments, from files that are not part of the package: set NOLANA_DATA to their directory.

Unfair to compare with the paper on: usps, whose training rows were rebuilt from the original images, and whose
split into two halves is our reading of the paper's task; those that drift, which the paper does not have.

Run as a script, it loads every stream that is on this machine and prints its shape.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nolana
from nolana import datasets
from nolana.errors import DataError
from nolana.research.paper.harness.machine import cpu_name, version_of

Array = NDArray[np.float64]
Rows = tuple[Array, NDArray[np.generic]]  # X (n, d), y (n,)


def shuffled(X: Array, y: NDArray[np.generic], seed: int) -> Rows:
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], y[order]


@dataclass(frozen=True)
class Stream:
    record: datasets.DataSet

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def task(self) -> str:
        return self.record.task

    @property
    def n_landmarks(self) -> int:
        """The paper's m; 100 where the paper does not have the stream."""
        return self.record.paper.n_landmarks if self.record.paper else 100

    def load(self) -> Rows:
        """In source order; a stream whose record says that it drifts must keep it."""
        return datasets.load(self.record)

    def paths(self) -> list[Path]:
        """The files as they came."""
        return datasets.find(self.record)


STREAMS = {name: Stream(record) for name, record in datasets.catalogue().items()}


def print_setting(seed: int | None) -> None:
    """Where and with what a benchmark runs; every benchmark prints this."""
    versions = ", ".join(f"{name} {version_of(name)}" for name in ("numpy", "scikit-learn", "river"))
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "not set, so BLAS takes all cores")
    print(f"machine   {cpu_name()}, {os.cpu_count()} cores, OPENBLAS_NUM_THREADS {threads}")
    print(f"versions  python {platform.python_version()}, {versions}")
    print(f"nolana    {nolana.__version__}, backend {nolana.backend_name()}, build {nolana.build_name()}")
    print(f"seed      {'none: nothing is drawn' if seed is None else seed}")


def main() -> None:
    print(__doc__)
    print_setting(seed=None)
    print(f"\n{'stream':<17} {'rows':>8} {'features':>8} {'m':>4}  target")
    for stream in STREAMS.values():
        try:
            X, y = stream.load()
        except DataError as missing:
            print(f"{stream.name:<17} {missing}")
            continue
        if stream.task == "regression":
            target = f"{y.min():g} to {y.max():g}"
        else:
            labels, counts = np.unique(y, return_counts=True)
            target = ", ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True))
        print(f"{stream.name:<17} {len(X):>8} {X.shape[1]:>8} {stream.n_landmarks:>4}  {target}")


if __name__ == "__main__":
    main()
