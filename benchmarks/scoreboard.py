"""The scoreboard: the default learners beside MOA's ensembles and gradient boosting that is retrained.

    python benchmarks/scoreboard.py [--rows 100000] [--seconds 60] [--streams ...] [--methods ...]

Prequential (one pass, predict then learn), every method with its default parameters. Streams: MOA's generators as in
the literature (`moa_streams.py`, --seed), and the real streams of NOLANA_DATA in the order of their files. A cell of
the table is one method on one stream, at most --rows rows and --seconds of CPU time in the learner; the result is
appended to --cells (JSON lines), and a later run computes only what is missing there. Several runs may share the file.
--tables prints what is there as Markdown and draws the picture, accuracy against microseconds a row, to --picture.

Every method knows which columns are nominal. A learner that reaches the limit is scored on the rows until then, which
are named in brackets with the score of nolana on the same rows.

What is unfair. To nolana: its memory is 512 KB, that of the others is not limited; boosting stores all rows; MOA
knows the classes and the values of nominal attributes before the first row. To the others: nolana's constants were
chosen with some of the real streams in view, those of its trees with random trees and Agrawal too; ensembles of MOA
have 10 members and gain from the 100 that are usual in the literature; boosting predicts no class before its first
training at row 100, then learns from a row only at the next training, and is trained on all rows so far, where a
window would track drift better. The time is CPU time of all threads on a machine with other work, without the
conversion of rows: for MOA it has Java's compilation and garbage collection, and for its regressors a call from
Python for each row.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import moa_streams
import nolana
import scoreboard_tables
from nolana.errors import DataError
from nolana.evaluate import Evaluation, Progress
from nolana.research.paper.harness.machine import cpu_name, version_of
from nolana.research.peers import Task, peer
from streams import STREAMS, print_setting

BLOCK = 1000
OURS = "nolana"
AS_NUMBERS = "nolana, codes as numbers"
VERSIONS = ("nolana", "numpy", "scikit-learn", "lightgbm", "capymoa")


# Streams


class Rows(NamedTuple):
    X: np.ndarray  # (n, d)
    y: np.ndarray
    nominal: dict[int, int]  # columns of codes: the number of values
    task: str


def table(name: str) -> Rows:
    """A CSV file of NOLANA_DATA; strings become codes in the order of their appearance, empty cells NaN."""
    path = Path(os.environ.get("NOLANA_DATA", "")) / f"{name}.csv.gz"
    if not path.exists():
        raise DataError(f"{path.name} is not in the directory NOLANA_DATA")
    frame = pd.read_csv(path)
    y, nominal = frame.pop("target").to_numpy(), {}
    for j, column in enumerate(frame):
        if not pd.api.types.is_numeric_dtype(frame[column]):
            codes, values = pd.factorize(frame[column])
            frame[column], nominal[j] = np.where(codes < 0, np.nan, codes), len(values)
    task = "regression" if name in REGRESSION else "classification"
    return Rows(frame.to_numpy(np.float64), y.astype(float if task == "regression" else int), nominal, task)


REGRESSION = ("bike_hourly", "metro_traffic", "beijing_pm25", "air_quality_co")
TABLES = ("bank_marketing", "nycflights_late", *REGRESSION)
RECORDS = ("elec2", "insects", "interchanging_rbf", "covtype")
NAMES = (*moa_streams.NAMES, *RECORDS, *TABLES)


def rows_of(name: str, most: int, seed: int, drawn: Path) -> Rows:
    """The first rows of a stream; a generated one is as long as that."""
    if name in moa_streams.NAMES:
        return Rows(*moa_streams.cached(name, most, seed, drawn), "classification")
    if name in RECORDS:
        X, y = STREAMS[name].load()
        rows = Rows(np.ascontiguousarray(X), y, {}, "classification")
    else:
        rows = table(name)
    return Rows(rows.X[:most], rows.y[:most], rows.nominal, rows.task)


# Methods


def default(task: Task, seed: int, categories: bool = True) -> Any:
    kind = nolana.StreamRegressor if task.classes is None else nolana.StreamClassifier
    declared = sorted(task.nominal) if categories else []
    return kind(random_state=seed, categorical_features=declared or "from_dtype")


@dataclass(frozen=True)
class Method:
    make: Callable[[Task, int], Any]
    tasks: tuple[str, ...] = ("classification",)
    missing: str | None = None
    nominal_only: bool = False  # only streams with nominal attributes


def of_peer(name: str, *tasks: str) -> Method:
    found = peer(name)
    return Method(found.make, tasks or ("classification",), found.missing)


BOTH = ("classification", "regression")
METHODS = {
    OURS: Method(default, BOTH),
    AS_NUMBERS: Method(lambda task, seed: default(task, seed, categories=False), nominal_only=True),
    "LightGBM, retrained": of_peer("lightgbm", *BOTH),
    "HistGradientBoosting, retrained": of_peer("histgb", *BOTH),
    "PLASTIC": of_peer("moa:PLASTIC"),
    "Leveraging bagging(10)": of_peer("moa:LB"),
    "ARF(10)": of_peer("moa:ARF", *BOTH),
    "SRP(10)": of_peer("moa:SRP"),
    "DEMS(10)": of_peer("moa:DEMS"),
    "SGBT(100)": of_peer("moa:SGBT"),
    "SGBR(10 x 10)": of_peer("moa:SGBT", "regression"),
    "SOKNL(10)": of_peer("moa:SOKNL", "regression"),
}


# Cells


@dataclass(frozen=True)
class Cell:
    """One method on one stream."""

    stream: str
    method: str
    seed: int
    limit: float  # CPU seconds
    task: str
    rows: int  # that were reached
    length: int  # of the stream, or the rows that were asked for if it is longer
    metrics: dict[str, float]
    baselines: dict[str, dict[str, float]]
    microseconds: float  # CPU time per row
    bytes: int
    curve: list[float]  # accuracy, or R2, after each block
    machine: str
    versions: dict[str, str]
    error: str | None = None  # why the method stopped

    @property
    def key(self) -> tuple[Any, ...]:
        return self.stream, self.method, self.length, self.seed

    @property
    def score(self) -> float:
        """Accuracy, or R2; NaN of a method that failed."""
        return np.nan if self.error else self.metrics[SCORES[self.task][0]]

    @property
    def complete(self) -> bool:
        return self.rows == self.length

    def score_after(self, rows: int) -> float:
        """Of the first rows, which are whole blocks or all."""
        return self.score if rows == self.rows else self.curve[rows // BLOCK - 1]


SCORES = {"classification": ("accuracy", "kappa_temporal"), "regression": ("r2", "mase")}


class Timed:
    """A learner whose CPU time is counted."""

    def __init__(self, learner: Any) -> None:
        self._learner, self.seconds = learner, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def learn(self, X: Any, y: Any) -> Any:
        begin = time.process_time()
        scores = self._learner.learn(X, y)
        self.seconds += time.process_time() - begin
        return scores


def measure(name: str, method: str, rows: Rows, seed: int, limit: float) -> Cell:
    task = Task.of(rows.X, rows.y, rows.task == "regression", rows.nominal)
    learner = Timed(METHODS[method].make(task, seed))
    curve: list[float] = []
    first = SCORES[rows.task][0]

    def blocks() -> Iterator[Any]:
        for i in range(0, len(rows.y), BLOCK):
            if learner.seconds > limit:
                return
            yield rows.X[i : i + BLOCK], rows.y[i : i + BLOCK]

    def note(progress: Progress) -> None:
        curve.append(round(progress.metrics[first], 6))

    evaluation, error = Evaluation(metrics=SCORES[rows.task]), None
    try:
        evaluation.run(learner, blocks(), callback=note)
    except Exception as failure:  # of Java, or of a library on rows that it cannot learn: a result too
        error = f"{type(failure).__name__}: {failure}"
    return Cell(
        name,
        method,
        seed,
        limit,
        rows.task,
        evaluation.rows,
        len(rows.y),
        evaluation.metrics,
        evaluation.baselines,
        1e6 * learner.seconds / max(1, evaluation.rows),
        int(learner.memory_bytes_),
        curve,
        cpu_name(),
        {each: version_of(each) for each in VERSIONS},
        error,
    )


def read(path: Path) -> list[Cell]:
    """The cells of a file; the last of a key counts. What a killed run has torn is not there."""
    found: dict[tuple[Any, ...], Cell] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            cell = Cell(**json.loads(line))
        except json.JSONDecodeError:
            continue
        found[cell.key] = cell
    return list(found.values())


def append(path: Path, cell: Cell) -> None:
    """One write, so that runs may share the file; it begins a line, so that a torn one stays alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"\n{json.dumps(asdict(cell))}\n".encode())
    finally:
        os.close(file)


def applies(method: Method, rows: Rows) -> bool:
    return method.missing is None and rows.task in method.tasks and (bool(rows.nominal) or not method.nominal_only)


def run(options: argparse.Namespace, names: list[str], methods: list[str]) -> None:
    """Measure every cell that is missing, also after the runs that share the file."""
    for name in names:
        try:
            rows = rows_of(name, options.rows, options.seed, options.drawn)
        except DataError as error:
            print(f"  {name} is left out: {error}")
            continue
        for method in methods:
            known = {cell.key for cell in read(options.cells)}
            if (name, method, len(rows.y), options.seed) in known or not applies(METHODS[method], rows):
                continue
            cell = measure(name, method, rows, options.seed, options.seconds)
            append(options.cells, cell)
            found = cell.error or f"{100 * cell.score:.2f}"
            print(f"  {name}, {method}: {found}, {cell.rows:,} rows, {cell.microseconds:.1f} us/row", flush=True)


def wanted(cells: list[Cell], name: str, rows: int, seed: int) -> list[Cell]:
    """The cells of a stream of the same length, the longest up to so many rows."""
    own = [cell for cell in cells if cell.stream == name and cell.seed == seed and cell.length <= rows]
    return [cell for cell in own if cell.length == max(each.length for each in own)]


def selected(text: str | None, names: list[str], option: str, parser: argparse.ArgumentParser) -> list[str]:
    """Names that are separated by semicolons, because some of them have a comma."""
    wanted = names if text is None else [name.strip() for name in text.split(";")]
    for name in wanted:
        if name not in names:
            parser.error(f"{option} {name!r} is unknown; choose from: {'; '.join(names)}")
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description="the scoreboard: nolana, MOA and retrained boosting")
    parser.add_argument("--streams", help=f"separated by commas; default: {','.join(NAMES)}")
    parser.add_argument("--methods", help=f"separated by semicolons; default: {'; '.join(METHODS)}")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each stream, at most")
    parser.add_argument("--seconds", type=float, default=600.0, help="CPU time of a method on a stream, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the generators")
    parser.add_argument("--cells", type=Path, default=Path("build/scoreboard.jsonl"), help="the results so far")
    parser.add_argument("--drawn", type=Path, default=Path("build/moa"), help="directory of generated rows")
    parser.add_argument("--tables", action="store_true", help="measure nothing, only print and draw what is there")
    parser.add_argument("--picture", type=Path, help="an SVG or PNG file")
    options = parser.parse_args()
    if options.rows < BLOCK or options.seconds <= 0:
        parser.error(f"--rows must be at least {BLOCK:,}, --seconds positive")
    names = selected(options.streams and options.streams.replace(",", ";"), list(NAMES), "--streams", parser)
    methods = selected(options.methods, list(METHODS), "--methods", parser)
    if not options.tables:
        print(__doc__)
        print_setting(seed=options.seed)
        for name in methods:
            if METHODS[name].missing:
                print(f"{name} does not run: {METHODS[name].missing}")
        warnings.simplefilter("ignore")
        run(options, names, methods)
    cells = read(options.cells)
    shown = [cell for name in names for cell in wanted(cells, name, options.rows, options.seed)]
    methods = [method for method in METHODS if method in {OURS, *methods}]
    shown = [cell for cell in shown if cell.method in methods]
    scoreboard_tables.show(shown, names, methods, OURS, options.picture)


if __name__ == "__main__":
    main()
