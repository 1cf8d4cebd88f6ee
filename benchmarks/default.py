"""The default learners beside other libraries: one pass, predict then learn, every method at its default parameters.

Streams whose order is free are shuffled: a score is the mean over the shuffles, +- the standard deviation. Streams that
drift are learned once, in order. A peer has `--limit` seconds for each stream, conversion of rows included. A pass that
reaches the limit stops (Vowpal Wabbit's always ends), and its score is that of the rows it reached, column `rows`; the
column `same rows` has the score of the default learner on these rows. A peer starts another shuffle only if the limit
leaves enough time for it.

What is unfair. To nolana: its memory is fixed, that of forests and of SAMkNN is not; Vowpal Wabbit and MOA know the
classes before the first row. To the peers: nolana's constants were chosen with some of these streams in view; River is
called from Python for each row; forests gain from more rows than the limit allows and from more than 10 trees; Vowpal
Wabbit's linear models are usually tuned, and it parses text and writes its predictions to a file; rows are not scaled
for methods that do not scale them (SAMkNN, Vowpal Wabbit), nor targets (River's linear regression diverges at first on
cpusmall). The time is that of `learn` alone, without the conversion of rows; for MOA it includes Java's compilation.
Bytes: nolana's state and scratch; River's and MOA's own count of objects; Vowpal Wabbit's table of weights.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nolana
from libraries import BLOCK, PEERS, Make, blocks_of
from nolana.errors import DataError
from nolana.evaluate import Progress, progressive
from nolana.experts import Bins, Landmarks, Linear, Neighbours, Trees
from nolana.research.paper.harness.machine import cpu_name, version_of
from nolana.research.peers import Task
from streams import STREAMS, Rows, print_setting, shuffled

NAMES = ("covtype", "ijcnn1", "usps", "usps_halves", "cpusmall", "elec2", "insects", "interchanging_rbf")
MEMORY = "512KB"
SIZES = ("32KB", "64KB", "128KB", "256KB", "512KB", "1MB", "2MB", "4MB")  # of --bytes
VERSIONS = ("numpy", "river", "vowpalwabbit", "capymoa")


# Methods


@dataclass(frozen=True)
class Method:
    """A row of the table."""

    make: Make
    limited: bool = False  # by --limit
    regression: bool = True
    streams: tuple[str, ...] = NAMES
    missing: str | None = None  # the reason why it cannot run here


def landmarks(task: Task, seed: int) -> Any:
    """One landmark learner, m = 100."""
    kind = nolana.NolanaRegressor if task.classes is None else nolana.NolanaClassifier
    return kind(n_landmarks=100, scale=True, random_state=seed)


def stream(task: Task, seed: int, **parameters: Any) -> Any:
    """The default learner."""
    kind = nolana.StreamRegressor if task.classes is None else nolana.StreamClassifier
    return kind(random_state=seed, **parameters)


# The default learner with one part switched off. An entry is `name: constructor(task, seed, memory=...)`.
ABLATION: dict[str, Callable[..., Any]] = {
    "all parts": stream,
    "without linear": partial(stream, experts=[Landmarks(), Bins(), Neighbours(), Trees()]),
    "without landmarks": partial(stream, experts=[Linear(), Bins(), Neighbours(), Trees()]),
    "without cells": partial(stream, experts=[Linear(), Landmarks(), Neighbours(), Trees()]),
    "without neighbours": partial(stream, experts=[Linear(), Landmarks(), Bins(), Trees()]),
    "without trees": partial(stream, experts=[Linear(), Landmarks(), Bins(), Neighbours()]),
    "without fast heads": partial(
        stream, experts=[Linear(), Landmarks(fast=False), Bins(fast=False), Neighbours(), Trees(fast=False)]
    ),
    "without relevance": partial(stream, experts=[Linear(), Landmarks(), Bins(relevance=False), Neighbours(), Trees()]),
    "without forgetting": partial(stream, experts=[Linear(), Landmarks(forgetting=1.0), Bins(), Neighbours(), Trees()]),
    "64 grids": partial(stream, experts=[Linear(), Landmarks(), Bins(grids=64), Neighbours(), Trees()]),
}


def table_methods(memory: str) -> dict[str, Method]:
    default = {
        f"nolana {memory}": Method(partial(stream, memory=memory)),
        "nolana 100KB": Method(partial(stream, memory=102_400), streams=("covtype",)),
        "nolana 100 landmarks": Method(landmarks),
    }
    peers = {
        name: Method(peer.make, limited=True, regression=peer.regression, missing=peer.missing)
        for name, peer in PEERS.items()
    }
    return default | peers


def ablation_methods(memory: str) -> dict[str, Method]:
    return {name: Method(partial(make, memory=memory)) for name, make in ABLATION.items()}


def size_methods() -> dict[str, Method]:
    return {size: Method(partial(stream, memory=size)) for size in SIZES}


# Runs


@dataclass(frozen=True)
class Run:
    """One pass over a stream."""

    stream: str
    method: str
    shuffle: int | None  # None: in order
    rows: int
    score: float  # RMSE, or accuracy in percent
    microseconds: float  # per row
    bytes: int
    curve: list[float] = field(default_factory=list)  # the score after each block of 1,000 rows

    @property
    def seconds(self) -> float:
        return 1e-6 * self.microseconds * self.rows

    def score_after(self, rows: int) -> float | None:
        if rows == self.rows:
            return self.score
        return self.curve[rows // BLOCK - 1] if rows % BLOCK == 0 and rows < self.rows else None


def one_pass(learner: Any, X: Any, y: Any, limit: float, value: Callable[[dict[str, float]], float]) -> dict[str, Any]:
    """Blocks until the limit; the fields of a `Run`."""
    curve: list[float] = []
    end = time.perf_counter() + limit

    def within_limit() -> Iterator[Any]:
        for block in blocks_of(learner, X, y):
            yield block
            if time.perf_counter() > end:
                return

    def note(progress: Progress) -> None:
        curve.append(round(value(progress.metrics), 4))

    result = progressive(learner, within_limit(), callback=note)
    return {
        "rows": result.rows,
        "score": value(result.metrics),
        "microseconds": result.microseconds_per_row,
        "bytes": learner.memory_bytes_,
        "curve": curve,
    }


@dataclass(frozen=True)
class Plan:
    """What is run, and the runs that exist already."""

    shuffles: int
    limit: float
    runs: list[Run] = field(default_factory=list)

    def measure(self, name: str, methods: dict[str, Method]) -> None:
        """Every method on one stream; new runs are printed and appended."""
        source = STREAMS[name]
        X, y = source.load()
        regression = source.task == "regression"
        task = Task.of(X, y, regression)
        value = (lambda m: m["rmse"]) if regression else (lambda m: 100 * m["accuracy"])
        for method_name, method in methods.items():
            if name not in method.streams or (regression and not method.regression) or method.missing:
                continue
            left = self.limit if method.limited else np.inf
            for shuffle in [None] if source.record.drifts else range(self.shuffles):
                run = self._existing(name, method_name, shuffle)
                if run is None:
                    learner = method.make(task, shuffle or 0)
                    try:
                        result = one_pass(learner, *ordered(X, y, shuffle), left, value)
                    except ValueError as refused:  # the memory is too small for rows of so many features
                        print(f"  {name}, {method_name}: {refused}", flush=True)
                        break
                    run = Run(name, method_name, shuffle, **result)
                    self.runs.append(run)
                    where = "in order" if shuffle is None else f"shuffle {shuffle}"
                    print(f"  {name}, {method_name}, {where}: {run.score:.2f}, {run.seconds:.1f} s", flush=True)
                left -= run.seconds
                if left < run.seconds:
                    break

    def _existing(self, *key: Any) -> Run | None:
        return next((run for run in self.runs if (run.stream, run.method, run.shuffle) == key), None)


def ordered(X: Any, y: Any, shuffle: int | None) -> Rows:
    return (np.ascontiguousarray(X), y) if shuffle is None else shuffled(X, y, shuffle)


# Tables


def grouped(runs: list[Run], stream: str, method: str) -> list[Run]:
    """The runs of a row: complete passes if there is one, so that the mean is over equal rows."""
    these = [run for run in runs if (run.stream, run.method) == (stream, method)]
    return [run for run in these if run.rows == max(r.rows for r in these)]


def formatted(scores: list[float]) -> str:
    return f"{np.mean(scores):.2f}" + (f" +- {np.std(scores):.2f}" if len(scores) > 1 else "")


def same_rows(runs: list[Run], these: list[Run], default: str) -> str:
    """The default learner on the rows that a peer reached."""
    reached = {run.shuffle: run.rows for run in these}
    ours = [
        run.score_after(reached[run.shuffle])
        for run in grouped(runs, these[0].stream, default)
        if run.shuffle in reached
    ]
    scores = [score for score in ours if score is not None]
    return formatted(scores) if scores else ""


def print_table(runs: list[Run], names: list[str], methods: dict[str, Method]) -> None:
    """One table for each stream; `same rows` is the first method without a time limit."""
    for name in names:
        present = [method for method in methods if grouped(runs, name, method)]
        if not present:
            continue
        ours = [method for method in present if not methods[method].limited]
        unit = "RMSE" if STREAMS[name].task == "regression" else "accuracy %"
        print(
            f"\n{name}, {STREAMS[name].record.rows:,} rows, {'in order' if STREAMS[name].record.drifts else 'shuffled'}"
        )
        print(f"{'method':<24} {'rows':>8} {unit:>15} {'same rows':>15} {'us/row':>8} {'bytes':>12} {'passes':>6}")
        for method in present:
            these = grouped(runs, name, method)
            beside = same_rows(runs, these, ours[0]) if ours and method != ours[0] else ""
            print(
                f"{method:<24} {these[0].rows:>8,} {formatted([r.score for r in these]):>15} {beside:>15} "
                f"{np.median([r.microseconds for r in these]):>8.1f} {max(r.bytes for r in these):>12,} {len(these):>6}"
            )


def print_matrix(runs: list[Run], names: list[str], methods: dict[str, Method]) -> None:
    """Scores only: methods by streams."""
    print("\nAccuracy %, RMSE for cpusmall; one line for each variant of the default learner")
    print(f"{'':<20}" + "".join(f"{name:>18}" for name in names))
    for method in methods:
        cells = (grouped(runs, name, method) for name in names)
        print(
            f"{method:<20}" + "".join(f"{formatted([r.score for r in these]) if these else '-':>18}" for these in cells)
        )


def write_json(path: Path, plan: Plan) -> None:
    versions = {"nolana": nolana.__version__} | {name: version_of(name) for name in VERSIONS}
    content = {"machine": cpu_name(), "versions": versions, "limit": plan.limit, "runs": [asdict(r) for r in plan.runs]}
    path.write_text(json.dumps(content) + "\n")


def select(text: str | None, names: list[str], option: str, parser: argparse.ArgumentParser) -> list[str]:
    wanted = names if text is None else [name.strip() for name in text.split(",")]
    for name in wanted:
        if name not in names:
            parser.error(f"{option} {name!r} is unknown; choose from: {', '.join(names)}")
    return wanted


def arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(description="the default learners beside other libraries")
    parser.add_argument("--streams", help=f"separated by commas; default: {','.join(NAMES)}")
    parser.add_argument("--methods", help="separated by commas; default: all")
    parser.add_argument("--shuffles", type=int, default=5, help="passes over a stream whose order is free")
    parser.add_argument("--memory", default=MEMORY, help="of the default learner, for example 2MB")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each peer and stream")
    parser.add_argument("--json", type=Path, help="write all runs to this file")
    parser.add_argument("--reuse", type=Path, help="a file of --json: peers that are in it are not run again")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--ablation", action="store_true", help="each part of the default learner switched off in turn")
    mode.add_argument("--bytes", action="store_true", help=f"the default learner from {SIZES[0]} to {SIZES[-1]}")
    return parser, parser.parse_args()


def main() -> None:
    parser, options = arguments()
    if options.shuffles < 1 or options.limit <= 0:
        parser.error("--shuffles and --limit must be positive")
    if options.ablation:
        methods, show = ablation_methods(options.memory), print_matrix
    elif options.bytes:
        methods, show = size_methods(), print_matrix
    else:
        methods, show = table_methods(options.memory), print_table
    names = select(options.streams, list(NAMES), "--streams", parser)
    methods = {name: methods[name] for name in select(options.methods, list(methods), "--methods", parser)}
    print(__doc__)
    print_setting(seed=0)
    print(f"others    {', '.join(f'{name} {version_of(name)}' for name in VERSIONS)}; limit {options.limit:g} s")
    for name, method in methods.items():
        if method.missing:
            print(f"{name} does not run: {method.missing}")
    plan = Plan(options.shuffles, options.limit)
    if options.reuse:
        stored = json.loads(options.reuse.read_text())
        plan.runs.extend(Run(**run) for run in stored["runs"] if run["method"] in PEERS)
        print(
            f"reused    the peers of {options.reuse}: {stored['machine']}, {stored['versions']}, {stored['limit']:g} s"
        )
    print()
    for name in names:
        try:
            plan.measure(name, methods)
        except DataError as missing:
            print(f"  {name} is missing: {missing}")
        if options.json:
            write_json(options.json, plan)
    show(plan.runs, names, methods)


if __name__ == "__main__":
    main()
