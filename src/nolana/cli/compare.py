"""``nolana compare``: NOLANA and other methods on one file at equal budget, a table and a picture."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.datasets import load_digits

from nolana import plot
from nolana import sources as streams
from nolana.cli.options import blame_option, blame_source, words
from nolana.cli.summary import inferred_task, progress_bar
from nolana.engine.base.threads import one_blas_thread
from nolana.evaluate import Point, baselines
from nolana.evaluate import Progress as Seen
from nolana.evaluate.baseline_scores import advice
from nolana.learner.memory import memory_bytes
from nolana.metrics import IN_PER_CENT, MAIN_METRICS, NAMES, OF_NUMBERS
from nolana.metrics.label_index import Labels
from nolana.research import peers
from nolana.research.comparison import SIGNS, PassResult, by_progress, one_pass, standardised
from nolana.research.methods import STREAM, TABLE, MethodAtBudget, Task, at_budget, names
from nolana.research.tuning import Facts, distance_of, tune
from nolana.research.tuning import Point as Parameters
from nolana.runs.source import open_labelled
from nolana.sources.blocks import dense_rows
from nolana.sources.labels import InferredTask, Spellings, infer_task
from nolana.sources.plan import Plan

Array = NDArray[np.float64]
Wanted = MethodAtBudget | peers.PeerMethod

DEFAULT = ("stream", "NOLANA", "NOLANA-SGD", *TABLE, "BSGD")
FIRST_ROWS = 1000
FEWEST_ROWS = 50
SHUFFLES = 5
WIDEST = 1000  # columns of a table
LARGEST_PIXEL = 16.0  # of the digits
BASELINES = {task: {kind.label: kind for kind in kinds} for task, kinds in baselines.BASELINES.items()}


@dataclass(frozen=True)
class Source:
    """The rows of a file in its order, the task of their labels, and the column of a date or time if it has one."""

    X: Array
    y: Labels
    task: InferredTask
    date: str | None = None


@dataclass(frozen=True)
class Rows:
    """The rows of the comparison, and the first rows, by which parameters are chosen."""

    title: str
    task: InferredTask
    scaled: bool
    X_first: Array
    y_first: Labels
    X: Array
    y: Labels

    @property
    def kind(self) -> str:
        """The task in one word."""
        return self.task.task


@dataclass
class Line:
    """A line of the table."""

    method: str
    score: float
    spread: float
    microseconds_per_row: float
    bytes: int
    vectors: int | None
    parameters: Mapping[str, object]


def execute(
    data: Path | None,
    *,
    options: streams.SourceOptions,
    task: str | None,
    methods: str | None,
    landmarks: int,
    memory: str | None,
    metric: str | None,
    shuffles: int | None,
    in_order: bool | None,
    lag: int | None,
    tuned: bool,
    scaled: bool,
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Compare the methods, print the table and write the picture to `out`."""
    with blame_option("--out"):
        plot.check(out)
    if lag is not None and (in_order is False or shuffles is not None):
        what = "counts rows in the order of time, and the rows are shuffled; leave out --shuffled and --shuffles"
        raise typer.BadParameter(what, param_hint="--lag")
    limit = None if memory is None else memory_bytes(memory)
    if data is None:
        X, y = load_digits(return_X_y=True)
        title, source = "scikit-learn's digits", Source(X / LARGEST_PIXEL, y, _task(task, y, None))
    else:
        title, source = data.name, _read(data, options, task)
    because = "in the order of the file"
    if lag is not None:
        in_order = True
    if in_order is None:
        in_order = source.date is not None and shuffles is None
        because += f", because {source.date} is a date or time (--shuffled: in random orders)"
    rows = _rows(title, source, None if in_order else seed, scaled=scaled and data is not None, tuned=tuned)
    with blame_option("--methods"):
        wanted = _wanted(methods, Task(rows.kind, rows.X.shape[1], landmarks, memory=limit, lag=lag), rows)
    seeds: Sequence[int | None] = [None] if in_order else range(seed, seed + (shuffles or SHUFFLES))
    metric = _metric(metric, rows.kind)
    share, doing = TextColumn("{task.percentage:3.0f} %"), TextColumn("{task.fields[doing]}")
    bar = progress_bar(BarColumn(bar_width=30), share, TimeRemainingColumn(), doing, transient=True)
    with one_blas_thread(), bar:
        table, curves = _compare(rows, wanted, seeds, metric, tuned, bar, delay=(lag or 1) - 1)
    with blame_option("--out"):
        passes = f", mean of {len(seeds)} shuffles" if len(seeds) > 1 else ""
        plot.running_scores(curves, metric, out, f"{rows.title}: each row predicted before it was learned{passes}")
    if as_json:
        typer.echo(json.dumps([asdict(line) | {"metric": metric} for line in table], indent=2))
    else:
        order = because if in_order else f"mean and spread of {len(seeds)} shuffles"
        notes = _notes(wanted) + (_last_row(table, metric, rows.kind) if in_order and lag is None else [])
        if lag is not None:
            when = "the next row" if lag == 1 else f"the row {lag:,} later"
            known = f"The label of a row is known when {when} is predicted, to all of them"
            notes.append(f"{known}; stream has it as an input (--lag).")
        _print(table, rows, metric, landmarks, notes, len(seeds), tuned, order, out)


def _metric(name: str | None, kind: str) -> str:
    choices = [each for each in NAMES if (each in OF_NUMBERS) == (kind == "regression")]
    if name is not None and name not in choices:
        raise typer.BadParameter(f"{name!r} is not one of: {', '.join(choices)}", param_hint="--metric")
    return name or MAIN_METRICS[kind]


def _rows(title: str, source: Source, seed: int | None, *, scaled: bool, tuned: bool) -> Rows:
    """The rows to learn from, in the order of the seed if there is one."""
    X, y = source.X, source.y
    if source.task.task == "regression":
        if y.dtype.kind not in "iufO":
            raise typer.BadParameter("regression needs scalar targets, and these are strings", param_hint="--task")
        y = y.astype(np.float64)
    if len(y) < FEWEST_ROWS:
        raise typer.BadParameter(f"{len(y)} rows are too few to compare on; at least {FEWEST_ROWS} are needed")
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    first = min(FIRST_ROWS, len(y) // 5) if tuned else 0
    return Rows(title, source.task, scaled, X[:first], y[:first], X[first:], y[first:])


def _read(data: Path, options: streams.SourceOptions, task: str | None) -> Source:
    """All rows; the first block decides the task, as for the other commands."""
    with blame_source(str(data)), open_labelled(str(data), options, task, only_numbers=True) as stream:
        plan = Plan.from_dict(stream.plan)
        first = next(stream, None)
        if first is None:
            raise typer.BadParameter(f"0 rows are too few to compare on; at least {FEWEST_ROWS} are needed")
        assert first.y is not None
        inferred = _task(task, first.y, plan.target)
        stream.read_labels_for(inferred.task)
        X, y = stream.gather()
    assert y is not None
    dates = [str(column.column) for column in plan.columns or () if column.kind in ("date", "time")]
    dates += [name for name, what in plan.left_out.items() if what == "UNIX time"]
    X = np.concatenate([dense_rows(first.X), X])
    y = np.concatenate([first.y, y]) if len(y) else first.y
    return Source(X, Spellings().spelled(y), inferred, next(iter(dates), None))


def _task(task: str | None, y: Labels, name: object) -> InferredTask:
    if task is None:
        return infer_task(y, name)
    if task not in MAIN_METRICS:
        raise typer.BadParameter(f"{task!r} is unknown; choose classification or regression", param_hint="--task")
    return InferredTask(task)


def _wanted(methods: str | None, task: Task, rows: Rows) -> list[Wanted]:
    if methods is None:
        chosen = [name for name in DEFAULT if name in names(task.kind)]
    elif methods.strip().lower() == "all":
        chosen = list(names(task.kind))
    else:
        chosen = [name.strip() for name in methods.split(",") if name.strip()]
    if not chosen:
        raise ValueError("no method was named")
    known = peers.Task.of(rows.X, np.concatenate([rows.y_first, rows.y]), rows.kind == "regression")
    return list({m.name: m for m in (_method(name, task, known) for name in chosen)}.values())


def _method(name: str, task: Task, known: peers.Task) -> Wanted:
    """A method of nolana at its budget, or one of another library."""
    if not peers.is_peer(name):
        try:
            return at_budget(name, task)
        except ValueError as error:
            raise ValueError(f"{error}; of other libraries {peers.NAMES}") from error
    method = peers.peer(name)
    method.check()
    method.make(known, 0)  # an unknown name is reported before anything runs
    return peers.PeerMethod(method, known)


def _compare(
    rows: Rows,
    wanted: list[Wanted],
    seeds: Sequence[int | None],
    metric: str,
    tuned: bool,
    bar: Progress,
    *,
    delay: int = 0,
) -> tuple[list[Line], dict[str, list[Point]]]:
    todo = (len(wanted) + len(BASELINES[rows.kind])) * len(seeds) * len(rows.y)
    task = bar.add_task("", total=todo, doing="")
    lines: list[Line] = []
    curves: dict[str, list[Point]] = {}

    def run(name: str, make: Callable[[int], object], number: int, seed: int | None) -> PassResult:
        done = bar.tasks[task].completed
        bar.update(task, doing=f"{name}, pass {number} of {len(seeds)}")
        X, y = _shuffled(rows, seed)

        def advance(seen: Seen) -> None:
            bar.update(task, completed=done + seen.rows)

        return one_pass(make(seed or 0), X, y, metric=metric, delay=delay, callback=advance)

    def passes(name: str, make: Callable[[int], object]) -> list[PassResult]:
        return [run(name, make, number, seed) for number, seed in enumerate(seeds, 1)]

    first = standardised(rows.X_first) if rows.scaled else rows.X_first
    for method in wanted:
        point: Parameters = {}
        if tuned:
            bar.update(task, doing=f"{method.name}, choosing parameters")
            point = tune(method, first, rows.y_first, judge=by_progress(metric)).point
        facts = Facts(distance_of(first), len(rows.y))
        runs = passes(method.name, partial(method.estimator, point, facts))
        lines.append(_line(method.name, runs, method.parameters(point, facts)))
        curves[method.name] = _mean([run.history for run in runs])
    lines.sort(key=lambda line: -SIGNS[metric] * line.score)
    for name, kind in BASELINES[rows.kind].items():
        lines.append(_line(name, passes(name, partial(_without_seed, kind)), {}))
    return lines, {line.method: curves[line.method] for line in lines if line.method in curves}


def _mean(histories: list[list[Point]]) -> list[Point]:
    """The mean over passes of equal length, point by point."""

    def mean(metrics: list[dict[str, float]]) -> dict[str, float]:
        return {name: float(np.mean([each[name] for each in metrics])) for name in metrics[0]}

    passes = zip(*histories, strict=True)
    return [Point(same[0].rows, mean([p.overall for p in same]), mean([p.window for p in same])) for same in passes]


def _without_seed(kind: type[baselines.Baseline], _: int) -> baselines.Baseline:
    return kind()


def _shuffled(rows: Rows, seed: int | None) -> tuple[Array, Labels]:
    """The rows of one pass: in the order of the seed, and standardised from the first rows on."""
    order = np.arange(len(rows.y)) if seed is None else np.random.default_rng(seed).permutation(len(rows.y))
    X, first = rows.X[order], len(rows.X_first)
    return standardised(np.concatenate([rows.X_first, X]))[first:] if rows.scaled else X, rows.y[order]


def _line(name: str, runs: list[PassResult], parameters: Mapping[str, object]) -> Line:
    scores = [run.score for run in runs]
    return Line(
        method=name,
        score=float(np.mean(scores)),
        spread=float(np.std(scores)),
        microseconds_per_row=float(np.median([run.microseconds_per_row for run in runs])),
        bytes=max(run.bytes for run in runs),
        vectors=runs[-1].vectors,
        parameters=parameters,
    )


def _notes(wanted: list[Wanted]) -> list[str]:
    """How much memory the stream learner and the methods of other libraries have."""
    notes = []
    for method in wanted:
        if isinstance(method, MethodAtBudget) and method.method is STREAM:
            why = ", by --memory." if method.task.memory else ": as many as NOLANA for two classes, and at least 32KB."
            notes.append(f"stream has at most {method.build({}, 0).memory:,} bytes{why}")
    if any(isinstance(method, peers.PeerMethod) for method in wanted):
        notes.append(
            "Methods of other libraries have their default parameters, 10 models in an ensemble, no memory limit. "
            "lightgbm and histgb are trained again on all rows so far whenever these have grown by a fifth."
        )
    return notes


def _last_row(table: list[Line], metric: str, kind: str) -> list[str]:
    """A note if the last label or value is better than every method."""
    lines = {line.method: {metric: line.score} for line in table if line.method in BASELINES[kind]}
    better = advice({metric: table[0].score}, lines, 0)
    text = "" if better is None else better.message(words)
    return [f"{text[0].upper()}{text[1:]}."] if text else []


def _print(
    table: list[Line],
    rows: Rows,
    metric: str,
    landmarks: int,
    notes: list[str],
    passes: int,
    tuned: bool,
    order: str,
    out: Path,
) -> None:
    heading, factor, number = (f"{metric} %", 100.0, "{:.2f}") if metric in IN_PER_CENT else (metric, 1.0, "{:.4g}")
    grid = Table()
    grid.add_column("method", no_wrap=True)
    for name in (heading, "us per row", "bytes", "vectors"):
        grid.add_column(name, justify="right", no_wrap=True)
    for i, line in enumerate(table):
        if line.method in BASELINES[rows.kind] and table[i - 1].method not in BASELINES[rows.kind]:
            grid.add_section()
        score = number.format(factor * line.score)
        spread = f" ± {number.format(factor * line.spread)}" if passes > 1 else ""
        vectors = "-" if line.vectors is None else f"{line.vectors:,}"
        grid.add_row(line.method, score + spread, f"{line.microseconds_per_row:.1f}", f"{line.bytes:,}", vectors)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    wide = console.options.update(max_width=WIDEST)
    console.width = max(console.width, Measurement.get(console, wide, grid).maximum)  # a narrow terminal cuts no number
    console.print(f"{rows.title}: {len(rows.y):,} rows, {rows.X.shape[1]} features, {rows.kind}", style="bold")
    if rows.task.why is not None:
        console.print(f"The task was inferred {inferred_task(rows.task, saved=False)}.")
    console.print(f"Each method has the memory of {landmarks} landmarks; {order}.")
    console.print(grid)
    for note in notes:
        console.print(note)
    if rows.scaled:
        console.print("Features are standardised by the rows up to each row (--no-scale: as they are).")
    if tuned:
        console.print(f"The first {len(rows.y_first):,} rows chose the parameters and are not part of the comparison.")
    console.print("Times are of learning alone, on one thread.")
    if tuned:
        for line in table:
            if line.method not in BASELINES[rows.kind]:
                named = line.parameters.items()
                text = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in named)
                console.print(f"  {line.method}: {text or 'its defaults'}")
    console.print(f"\nThe running score is drawn in {out}")
