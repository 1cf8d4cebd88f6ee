"""Speed, as ratios measured in one run: against a floor, against the paper's solvers, against m.

The floor F is the time NumPy/BLAS needs just to compute exp(-gamma |x-u|^2) for the same rows in blocks of 256.
What is unfair: F includes temporaries that a fused kernel does not need, so below 1 is possible; rows are
normal noise, and the squared loss is used so that every row asks for a full step. One thread, medians of
interleaved repeats, against F of CPU time. Run with OPENBLAS_NUM_THREADS=1.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from nolana import NolanaClassifier
from streams import print_setting

SHAPES = ((256, 100), (54, 200), (22, 100))
BOUNDS = {"sgd": (1.5, 2.0, 1.5), "newton": (1.6, 3.0, 2.2)}
GOALS = {"sgd": (1.0, 1.2, 1.0), "newton": (1.2, 2.0, 1.5)}
SEED = 0
ROWS = 20_480


def interleaved(
    jobs: dict[str, Callable[[], None]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each job, the jobs taking turns; time.process_time as the clock leaves out other processes."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            begin = clock()
            job()
            times[name].append(clock() - begin)
    return {name: float(np.median(values)) for name, values in times.items()}


def noise(features: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    return rng.normal(size=(rows, features)), rng.integers(0, 2, rows)


def model(features: int, landmarks: int, **parameters: object) -> NolanaClassifier:
    return NolanaClassifier(n_landmarks=landmarks, gamma=0.5 / features, loss="squared", scale=False, **parameters)


def floor(x: np.ndarray, u: np.ndarray, gamma: float) -> Callable[[], None]:
    def job() -> None:
        for i in range(0, len(x), 256):
            xb = x[i : i + 256]
            np.exp(-gamma * np.maximum((xb * xb).sum(1)[:, None] + (u * u).sum(1) - 2 * xb @ u.T, 0))

    return job


def learn_again(estimator: NolanaClassifier, x: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    def job() -> None:
        estimator.learn(x, y)

    return job


def against_the_floor(repeats: int) -> None:
    print("\nTime per row over F, no moves, every row active (bound, goal)")
    print(f"{'(d, m)':>12} {'F us':>7} {'sgd':>22} {'newton':>22}")
    for i, (d, m) in enumerate(SHAPES):
        x, y = noise(d, 1000 + ROWS)
        jobs = {"F": floor(x[1000:], x[:m], 0.5 / d)}
        for optimizer in ("sgd", "newton"):
            estimator = model(d, m, optimizer=optimizer, threshold=np.inf)
            estimator.learn(x[:1000], y[:1000])
            jobs[optimizer] = learn_again(estimator, x[1000:], y[1000:])
        times = interleaved(jobs, repeats, time.process_time)
        cells = [f"{times[o] / times['F']:.2f} (<= {BOUNDS[o][i]}, {GOALS[o][i]})" for o in ("sgd", "newton")]
        print(f"{(d, m)!s:>12} {1e6 * times['F'] / ROWS:7.2f} {cells[0]:>22} {cells[1]:>22}")


def against_the_solvers(repeats: int) -> None:
    print("\nA landmark move at every row, (d, m) = (256, 100), microseconds per row")
    d, m = 256, 100
    x, y = noise(d, 400 + 2000)
    jobs, rows = {}, {}
    for solver, optimizer, count in (
        ("inverse", "sgd", 2000),
        ("inverse", "newton", 2000),
        ("exact", "sgd", 60),
        ("rank2", "sgd", 60),
        ("randomized", "sgd", 60),
    ):
        extra = {"rank": 0.8} if solver != "inverse" else {}
        estimator = model(d, m, optimizer=optimizer, solver=solver, threshold=0.0, **extra)
        estimator.learn(x[:400], y[:400])
        name = f"{solver}, {optimizer}"
        jobs[name] = learn_again(estimator, x[400 : 400 + count], y[400 : 400 + count])
        rows[name] = count
    times = {name: t / rows[name] for name, t in interleaved(jobs, max(3, repeats // 3)).items()}
    best = min(times["exact, sgd"], times["randomized, sgd"])
    for name, t in times.items():
        print(f"{name:>20} {1e6 * t:9.1f}   the faster of exact and randomized takes {best / t:7.1f} times as long")
    print(f"inverse (sgd) against the faster of exact and randomized: {best / times['inverse, sgd']:.0f} times (>= 30)")


def growth_with_m(repeats: int) -> None:
    print("\nA landmark move at every row, d = 256: microseconds per row against m")
    sizes = (100, 200, 400, 800)
    for optimizer in ("sgd", "newton"):
        jobs, counts = {}, {}
        for m in sizes:
            count = max(50, 40_000 // m)
            x, y = noise(256, m + 100 + count)
            estimator = model(256, m, optimizer=optimizer, threshold=0.0)
            estimator.learn(x[: m + 100], y[: m + 100])
            jobs[str(m)] = learn_again(estimator, x[m + 100 :], y[m + 100 :])
            counts[str(m)] = count
        times = {name: t / counts[name] for name, t in interleaved(jobs, max(3, repeats // 3)).items()}
        line = "  ".join(f"m={m}: {1e6 * times[str(m)]:.1f}" for m in sizes)
        exponent = np.polyfit(np.log(sizes), np.log([times[str(m)] for m in sizes]), 1)[0]
        ends = np.log(times["800"] / times["100"]) / np.log(8)
        print(f"{optimizer:>8}  {line}   m^{exponent:.2f} fitted, m^{ends:.2f} end to end (<= 2.2)")


def one_row_at_a_time() -> None:
    print("\nOne row at a time through learn, (d, m) = (22, 100): median microseconds per row (< 10)")
    x, y = noise(22, 13_000)
    for optimizer in ("sgd", "newton"):
        for threshold in (np.inf, "median"):
            estimator = NolanaClassifier(n_landmarks=100, optimizer=optimizer, threshold=threshold, scale=False)
            estimator.learn(x[:3000], y[:3000])
            times = []
            for i in range(3000, 13_000):
                row, label = x[i : i + 1], y[i : i + 1]
                begin = time.perf_counter()
                estimator.learn(row, label)
                times.append(time.perf_counter() - begin)
            moving = "no moves" if threshold == np.inf else "with moves"
            print(f"{optimizer:>8}, {moving:<10} {1e6 * np.median(times):6.2f}")


def import_time(repeats: int) -> None:
    def run(what: str) -> Callable[[], None]:
        def job() -> None:
            subprocess.run([sys.executable, "-c", f"import {what}"], check=True)

        return job

    times = interleaved({"numpy": run("numpy"), "nolana": run("nolana")}, repeats)
    extra = times["nolana"] - times["numpy"]
    print(f"\nimport nolana: {1e3 * extra:.0f} ms more than import numpy ({1e3 * times['numpy']:.0f} ms) (< 100 ms)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=21)
    repeats = parser.parse_args().repeats
    print(__doc__)
    print_setting(SEED)
    against_the_floor(repeats)
    against_the_solvers(repeats)
    growth_with_m(repeats)
    one_row_at_a_time()
    import_time(repeats)


if __name__ == "__main__":
    main()
