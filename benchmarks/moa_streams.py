"""The streams of MOA's own generators as in the literature, drawn by MOA through CapyMOA, as arrays.

The definitions are those of Gomes et al., "Adaptive random forests for evolving data stream classification" (Machine
Learning 2017) and Gunasekara et al., "Gradient boosted trees for evolving data streams" (Machine Learning 2024): four
concepts of equal length, gradual drift over a twentieth of the stream, abrupt drift over 50 rows. Their length is
1,000,000 rows; with fewer rows drifts come earlier. Nominal attributes are the integer codes that MOA's instances have.

    python benchmarks/moa_streams.py [--rows 200000] [--seeds 3] [--streams RTG,AGR_a] [--out DIRECTORY]

prints the accuracy of the default learner, with nominal attributes as numbers and as categories; --out stores the rows.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators import accuracy
from nolana.research.peers.moa import start_java
from streams import print_setting

Array = NDArray[np.float64]

CONCEPTS = 4
ABRUPT = 50  # rows
GRADUAL = 1 / 20  # of the stream


class Generated(NamedTuple):
    X: Array  # (n, d)
    y: NDArray[np.int64]
    nominal: dict[int, int]  # columns of codes: the number of values


def drifting(concepts: list[str], rows: int, width: int, seed: int) -> str:
    """One concept after the other, as MOA's command line has it."""
    first, *rest = concepts
    if not rest:
        return first
    then = drifting(rest, rows, width, seed)
    return f"ConceptDriftStream -s ({first}) -d ({then}) -p {rows // CONCEPTS} -w {width} -r {seed}"


def command(name: str, rows: int, seed: int) -> str:
    """The definition of a stream on MOA's command line."""
    kind, _, drift = name.partition("_")
    width = ABRUPT if drift == "a" else max(1, round(GRADUAL * rows))
    agrawal = [f"generators.AgrawalGenerator -f {f} -i {seed}" for f in (1, 2, 1, 4)]
    led = [f"generators.LEDGeneratorDrift -d {d} -i {seed}" for d in (1, 3, 5, 7)]
    sea = [f"generators.SEAGenerator -f {f} -i {seed}" for f in (1, 2, 3, 4)]
    rbf = f"generators.RandomRBFGeneratorDrift -c 5 -r {seed} -i {seed} -s"
    match kind:
        case "RTG":
            return f"generators.RandomTreeGenerator -r {seed} -i {seed}"
        case "AGR":
            return drifting(agrawal, rows, width, seed)
        case "LED":
            return drifting(led, rows, width, seed)
        case "SEA":
            return drifting(sea, rows, width, seed)
        case "RBF":
            return f"{rbf} {'.0001' if drift == 'm' else '.001'}"
        case "HYP":
            return f"generators.HyperplaneGenerator -k 10 -t .001 -i {seed}"
    raise ValueError(name)


NAMES = ("RTG", "AGR_a", "AGR_g", "LED_a", "LED_g", "SEA_a", "RBF_m", "RBF_f", "HYP")


def generate(name: str, rows: int, seed: int) -> Generated:
    """Rows that MOA draws."""
    start_java()
    from com.github.javacliparser import ClassOption
    from moa.streams import ExampleStream

    stream: Any = ClassOption.cliStringToObject(command(name, rows, seed), ExampleStream.class_, None)
    stream.prepareForUse()
    header = stream.getHeader()
    label = header.classIndex()
    values = np.empty((rows, header.numAttributes()))
    for i in range(rows):
        values[i] = stream.nextInstance().getData().toDoubleArray()
    columns = [j for j in range(values.shape[1]) if j != label]
    nominal = {
        k: int(header.attribute(j).numValues()) for k, j in enumerate(columns) if header.attribute(j).isNominal()
    }
    return Generated(np.ascontiguousarray(values[:, columns]), values[:, label].astype(np.int64), nominal)


def cached(name: str, rows: int, seed: int, directory: Path) -> Generated:
    """Rows that were drawn before, or new ones, which are stored."""
    path = directory / f"{name}_{rows}_{seed}.npz"
    if not path.exists():
        X, y, nominal = generate(name, rows, seed)
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(unfinished, X=X, y=y, nominal=np.array(list(nominal.items())).reshape(-1, 2))
        unfinished.rename(path)
    stored = np.load(path)
    return Generated(stored["X"], stored["y"], {int(j): int(n) for j, n in stored["nominal"]})


def main() -> None:
    parser = argparse.ArgumentParser(description="the default learner on the streams of MOA's generators")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=3, help="seeds 1, 2, ...")
    parser.add_argument("--streams", default=",".join(NAMES), help=f"separated by commas; default: {','.join(NAMES)}")
    parser.add_argument("--out", type=Path, default=Path("build/moa"), help="directory of the drawn rows")
    options = parser.parse_args()
    print(__doc__)
    print_setting(seed=0)
    print(f"\n{'stream':<8} {'seed':>4} {'as numbers':>11} {'us/row':>7} {'as categories':>14} {'us/row':>7}")
    for name in options.streams.split(","):
        for seed in range(1, options.seeds + 1):
            X, y, nominal = cached(name, options.rows, seed, options.out)
            numbers, first = accuracy(X, y)
            line = f"{name:<8} {seed:>4} {numbers:>11.2f} {first:>7.1f}"
            if nominal:
                categories, second = accuracy(X, y, categorical_features=sorted(nominal))
                line += f" {categories:>14.2f} {second:>7.1f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
