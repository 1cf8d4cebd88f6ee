"""Summaries of runs as lines of text, the live view, and progress bars on standard error."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import Progress, ProgressColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nolana.cli.options import words
from nolana.cli.output import bad_rows, new_categories, new_columns
from nolana.errors import Diagnostic
from nolana.metrics import score_text
from nolana.runs import Stop, resident_bytes
from nolana.sources.labels import InferredTask

if TYPE_CHECKING:
    from nolana.estimators.stream import StreamModel
    from nolana.evaluate import Evaluation
    from nolana.runs import Run

__all__ = [
    "baselines", "columns", "drift", "inferred_task", "kinds", "labels", "lines", "live_view", "memory", "print_lines",
    "progress_bar", "scores", "stack", "summary",
]  # fmt: skip

REFRESH = 0.1  # seconds between two pictures of the live view
LARGEST_SHARE = 0.05  # of the time of a run, for pictures of the live view
MOST_LABELS = 8
MOST_COLUMNS = 24  # with a line each
MOST_ALARMS = 5
ENCODED = "learns numbers alone: categories are encoded, missing values are filled in"
ALL_ALARMS = 100  # a model remembers so many
NAME_WIDTH = 11

Lines = Iterator[tuple[str, str]]  # names and values; a line without a name continues the one before


def scores(evaluation: "Evaluation") -> str:
    """Metrics over all rows, and over the last ones if they are not all."""
    overall = ", ".join(score_text(name, value) for name, value in evaluation.metrics.items())
    last = ", ".join(score_text(name, value).removeprefix(name + " ") for name, value in evaluation.recent.items())
    recent = evaluation.recent_rows
    return overall + (f" (last {recent:,} rows: {last})" if last and recent < evaluation.rows else "")


def baselines(evaluation: "Evaluation", better: Diagnostic | None = None) -> Lines:
    """A line for each baseline, and one that says what to do if the last label or value is better than the model."""
    metrics = evaluation.baselines
    texts = {name: ", ".join(score_text(*score) for score in values.items()) for name, values in metrics.items()}
    yield from _by_name("baselines", texts)
    if better is not None:
        yield "note", better.message(words)


def _by_name(title: str, texts: Mapping[str, str]) -> Lines:
    """A line for each name and its text; the first line has the title."""
    width = max(map(len, texts), default=0)
    for i, (name, text) in enumerate(texts.items()):
        yield "" if i else title, f"{name:<{width}}  {text}"


def labels(classes: Sequence[object], *, multilabel: bool = False) -> str:
    """The number of classes, or of labels that a row may have several of, and the names of the first ones."""
    noun = f"label{'s' * (len(classes) != 1)}" if multilabel else f"class{'es' * (len(classes) != 1)}"
    first = ", ".join(" ".join(str(label).split()) for label in classes[:MOST_LABELS])
    return f"{len(classes):,} {noun}: {first}{', ...' * (len(classes) > MOST_LABELS)}"


def inferred_task(inferred: InferredTask, saved: bool) -> str:
    """What the task was inferred from, and how to change it."""
    return f"from {inferred.why}; --task {inferred.other}{' --fresh' * saved} changes it"


def kinds(became: Mapping[str, str]) -> Lines:
    """What each column is learned as: in a line each, or those of a kind in one line if there are many."""
    if len(became) <= MOST_COLUMNS:
        yield from _by_name("columns", became)
        return
    for i, what in enumerate(dict.fromkeys(became.values())):
        names = [name for name, each in became.items() if each == what]
        some = ", ".join(names[:MOST_COLUMNS]) + ", ..." * (len(names) > MOST_COLUMNS)
        yield "" if i else "columns", f"{len(names):,} {what}: {some}"


def columns(left_out: Mapping[str, str], new: Mapping[str, int], categories: Mapping[str, int]) -> Lines:
    """The columns that are not learned, and the texts without a column of their own."""
    if left_out:
        yield "left out", ", ".join(f"{name} ({what})" for name, what in left_out.items())
    if new:
        yield "new", new_columns(new)
    if categories:
        yield "categories", new_categories(categories)


def stack(model: "StreamModel", task: str) -> Lines:
    """The weight of each expert and its score over the last rows; the drift alarms, and what changed at the last."""
    from nolana.estimators.answers import change_text

    records = model.experts_
    width = max(len(record["name"]) for record in records)
    for i, record in enumerate(records):
        recent = f"{100 * record['score']:.1f} %" if task == "classification" else f"RMSE {record['score']:.4g}"
        yield "" if i else "experts", f"{record['name']:<{width}}  weight {record['weight']:z5.2f}, recently {recent}"
    yield "drift", drift(model.drift_)
    for record in model.changes_[-MOST_ALARMS:]:
        yield "", change_text(record)


def drift(rows: list[int]) -> str:
    """The drift alarms: how many, and the rows of the last ones."""
    if not rows:
        return "no alarm"
    count = f"{len(rows)} alarm{'s' * (len(rows) > 1)}" if len(rows) < ALL_ALARMS else f"at least {ALL_ALARMS} alarms"
    last = ", ".join(f"{row:,}" for row in rows[-MOST_ALARMS:])
    return f"{count}, {'the last ' if len(rows) > MOST_ALARMS else ''}at row{'s' * (len(rows) > 1)} {last}"


def memory(nbytes: int, limit: int | None) -> str:
    """Bytes of a model, and how many it may have."""
    return f"{nbytes:,} bytes" + ("" if limit is None else f" of at most {limit:,}")


def summary(run: "Run", seconds: float, stop: Stop) -> dict[str, object]:
    """The results of a run, in JSON's types."""
    from nolana.estimators.stream import StreamModel
    from nolana.learner.memory import memory_bytes

    model = run.estimator
    stream = isinstance(model, StreamModel)
    return {
        "source": run.stream.name,
        "method": run.method,
        "task": run.task,
        "task_inferred_from": None if run.inferred is None else run.inferred.why,
        "rows": run.rows,
        "new_rows": run.new_rows,
        "line": run.stream.position.line,
        "unit": run.stream.unit,
        "finished": run.finished,
        "metrics": run.evaluation.metrics,
        "recent": run.recent,
        "baselines": run.evaluation.baselines,
        "window": run.evaluation.window,
        "recent_rows": run.evaluation.recent_rows,
        "scored_rows": run.evaluation.rows,
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "landmarks": len(model.landmarks_) if hasattr(model, "landmarks_") else None,
        "moves": getattr(model, "n_moves_", None),
        "bytes": model.memory_bytes_,
        "memory": memory_bytes(model.memory) if stream else None,
        "experts": model.experts_ if stream else None,
        "drift": model.drift_ if stream else None,
        "changes": model.changes_ if stream else None,
        "columns": run.stream.columns,
        "encoding": None if run.takes_tables else ENCODED,
        "left_out": run.stream.left_out,
        "new_columns": run.stream.new_columns,
        "new_categories": run.stream.new_categories,
        "bad_rows": run.stream.bad_rows_by_reason,
        "unfinished_line": run.stream.unfinished_line if run.finished else None,
        "seconds": round(seconds, 3),
        "rows_per_second": round(run.new_rows / seconds) if seconds else None,
        "resident_bytes": resident_bytes(),
        "interrupted": None if stop.signal is None else stop.signal.name,
    }


def lines(run: "Run", seconds: float, *, saved: bool) -> Lines:
    """The results of a run as text; saved: it has a model file."""
    from nolana.estimators.stream import StreamModel
    from nolana.learner.memory import memory_bytes

    model, stream, before = run.estimator, run.stream, run.rows - run.new_rows
    yield "rows", f"{run.new_rows:,}" + (f" and {before:,} before" if before else "")
    yield "method", run.method
    yield "task", run.task + (f", {labels(model.classes_.tolist())}" if hasattr(model, "classes_") else "")
    if run.inferred is not None and run.inferred.why is not None:
        yield "inferred", inferred_task(run.inferred, saved)
    yield "score", scores(run.evaluation)
    yield from baselines(run.evaluation, run.evaluation.advice(model))
    if hasattr(model, "landmarks_"):
        yield "landmarks", f"{len(model.landmarks_):,}, moved {getattr(model, 'n_moves_', 0):,} times"
    limit = None
    if isinstance(model, StreamModel):
        limit = memory_bytes(model.memory)
        yield from stack(model, run.task)
    yield "memory", memory(model.memory_bytes_, limit)
    yield from kinds(stream.columns)
    if not run.takes_tables and set(stream.columns.values()) != {"number"}:
        yield "", f"{run.method} {ENCODED}"
    yield from columns(stream.left_out, stream.new_columns, stream.new_categories)
    if stream.bad_rows:
        yield "bad rows", bad_rows(stream.bad_rows_by_reason)
    if run.finished and stream.unfinished_line is not None:
        line = f"line {stream.unfinished_line:,}"
        yield "last line", f"{line} has no line end and is left for the next run; --last-line take learns it now"
    if run.new_rows:
        yield "time", f"{seconds:.2f} s, {round(run.new_rows / seconds):,} rows/s"


class _Console(Console):
    """A console that leaves it to the command what happens when the reader of its output is gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_lines(
    title: str, pairs: Iterable[tuple[str, str]], picture: Path | None = None, *, stderr: bool = False
) -> None:
    """A title, names and values, and the file of a picture."""
    console = _Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)
    console.print(title, style="bold")
    for name, text in [*pairs, *([] if picture is None else [("picture", str(picture))])]:
        console.print(f"{name:<{NAME_WIDTH}}{text}")


@contextmanager
def live_view(*, quiet: bool = False) -> Iterator["Callable[[Run], None] | None"]:
    """Within this context, the function to call after each block; None if standard error is not a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    begun = refreshed = time.monotonic()
    pause = REFRESH
    live = Live(console=console, auto_refresh=False, transient=True)

    def refresh(run: "Run") -> None:
        nonlocal refreshed, pause
        now = time.monotonic()
        if now - refreshed >= pause:
            with suppress(OSError):  # the terminal was closed; the run is not
                live.update(_picture(run, now - begun), refresh=True)
            refreshed = time.monotonic()
            pause = max(REFRESH, (refreshed - now) / LARGEST_SHARE)  # reading the experts of a large model is slow

    try:
        with suppress(OSError):
            live.start()
        yield refresh
    finally:
        with suppress(OSError):
            live.stop()


def _picture(run: "Run", seconds: float) -> Group:
    from nolana.estimators.stream import StreamModel

    model, share, resident = run.estimator, run.stream.share, resident_bytes()
    first, second = f"{run.rows:,} rows, {run.new_rows / seconds:,.0f} rows/s", scores(run.evaluation)
    third = f"model {model.memory_bytes_:,} bytes"
    if hasattr(model, "n_moves_"):
        third = f"{model.n_moves_:,} moves, {third}"
    if resident is not None:
        third += f", process {resident / 2**20:,.0f} MB"
    if run.stream.bad_rows:
        third += f", {run.stream.bad_rows:,} bad rows"
    parts: list[RenderableType] = [Text(first), Text(second), Text(third)]
    named = [*baselines(run.evaluation)]
    if isinstance(model, StreamModel):
        named += stack(model, run.task)
    parts += [Text(f"{name:<{NAME_WIDTH}}{text}") for name, text in named]
    if share is not None:
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(total=1.0, completed=share, width=40), Text(f"{100 * share:.0f} %"))
        parts.insert(0, bar)
    return Group(*parts)


def progress_bar(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """A progress bar of these columns; standard output stays free for results."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=transient, disable=not console.is_terminal)
