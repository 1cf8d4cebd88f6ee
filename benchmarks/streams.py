"""The streams of the experiments, from files that are not part of the package.

Unfair to compare with the paper on: usps, whose training rows were rebuilt from the original images, and whose
split into two halves is our reading of the paper's task; elec2 and insects, which the paper does not have.

Run as a script, it loads every stream and prints its shape.
"""

import importlib.metadata
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

import nolana

Array = NDArray[np.float64]
Rows = tuple[Array, NDArray[np.generic]]  # X (n, d), y (n,)

NEIGHBOUR = Path(__file__).resolve().parents[2] / "shared" / "data"


def path_of(name: str) -> Path:
    directory = Path(os.environ.get("NOLANA_DATA") or NEIGHBOUR)
    path = directory / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} is not in {directory}; set the environment variable NOLANA_DATA to the directory that holds it"
        )
    return path


def libsvm(*names: str, n_features: int) -> tuple[Array, Array]:
    """The rows of the files, one after the other."""
    parts = [load_svmlight_file(path_of(name), n_features=n_features, dtype=np.float64) for name in names]
    return np.concatenate([x.toarray() for x, _ in parts]), np.concatenate([y for _, y in parts])


def labelled_csv(name: str) -> Rows:
    """Features, and whole-numbered labels in the last column."""
    table = np.loadtxt(path_of(name), delimiter=",", skiprows=1)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)


def cpusmall() -> Rows:
    return libsvm("cpusmall_scale.bz2", n_features=12)


def usps() -> Rows:
    """Ten classes; label = digit + 1."""
    X, y = libsvm("usps.bz2", "usps.t.bz2", n_features=256)
    return X, y.astype(int)


def usps_halves() -> Rows:
    """-1 for the digits 0 to 4, +1 for 5 to 9."""
    X, y = usps()
    return X, np.where(y > 5, 1, -1)


def ijcnn1() -> Rows:
    X, y = libsvm("ijcnn1.bz2", "ijcnn1.t.bz2", n_features=22)
    return X, y.astype(int)


def covtype() -> Rows:
    X, y = libsvm("covtype.binary.scale01.bz2", n_features=54)
    return X, y.astype(int)


def elec2() -> Rows:
    return labelled_csv("elec2.csv.gz")


def insects() -> Rows:
    return labelled_csv("insects_gradual_balanced.csv.gz")


def shuffled(X: Array, y: NDArray[np.generic], seed: int) -> Rows:
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], y[order]


@dataclass(frozen=True)
class Stream:
    name: str
    load: Callable[[], Rows]  # in source order
    n_landmarks: int  # the paper's m; 100 where the paper does not have the stream
    task: Literal["classification", "regression"]
    drifts: bool = False  # then the order is part of the data: do not shuffle


STREAMS = {
    stream.name: stream
    for stream in (
        Stream("cpusmall", cpusmall, 20, "regression"),
        Stream("usps", usps, 100, "classification"),
        Stream("usps_halves", usps_halves, 100, "classification"),
        Stream("ijcnn1", ijcnn1, 100, "classification"),
        Stream("covtype", covtype, 200, "classification"),
        Stream("elec2", elec2, 100, "classification", drifts=True),
        Stream("insects", insects, 100, "classification", drifts=True),
    )
}


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def version_of(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


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
    print(f"\n{'stream':<12} {'rows':>8} {'features':>8} {'m':>4}  target")
    for stream in STREAMS.values():
        X, y = stream.load()
        if stream.task == "regression":
            target = f"{y.min():g} to {y.max():g}"
        else:
            labels, counts = np.unique(y, return_counts=True)
            target = ", ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True))
        print(f"{stream.name:<12} {len(X):>8} {X.shape[1]:>8} {stream.n_landmarks:>4}  {target}")


if __name__ == "__main__":
    main()
