"""Summaries of runs as lines of text, the live view, and progress bars on standard error."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
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
    from nolana.runs import Run

__all__ = [
    "bad_rows", "baselines", "columns", "drift", "drift_lines", "experts", "inferred_task", "kinds", "labels", "lines",
    "live_view", "memory",
    "new_categories", "new_columns", "print_lines", "progress_bar", "scores", "summary",
]  # fmt: skip

REFRESH = 0.1  # seconds between two pictures of the live view
LARGEST_SHARE = 0.05  # of the time of a run, for pictures of the live view
MOST_LABELS = 8
MOST_COLUMNS = 24  # with a line each
MOST_ALARMS = 5
ENCODED = "learns numbers alone: categories are encoded, missing values are filled in"
ALL_ALARMS = 100  # a model remembers so many
NAME_WIDTH = 11


def scores(metrics: Mapping[str, float], recent: Mapping[str, float], recent_rows: int, rows: int) -> str:
    """Metrics over all rows, and over the last ones if they are not all."""
    overall = ", ".join(score_text(name, value) for name, value in metrics.items())
    last = ", ".join(score_text(name, value).removeprefix(name + " ") for name, value in recent.items())
    return overall + (f" (last {recent_rows:,} rows: {last})" if last and recent_rows < rows else "")


def baselines(metrics: Mapping[str, Mapping[str, float]], better: Diagnostic | None) -> Iterator[tuple[str, str]]:
    """A line for each baseline, and one that says what to do if the last label or value is better than the model."""
    width = max(map(len, metrics), default=0)
    for i, (name, own) in enumerate(metrics.items()):
        text = ", ".join(score_text(metric, value) for metric, value in own.items())
        yield "" if i else "baselines", f"{name:<{width}}  {text}"
    if better is not None:
        yield "note", better.message(words)


def labels(classes: list[Any]) -> str:
    """The number of classes, and the names of the first ones."""
    first = ", ".join(" ".join(str(label).split()) for label in classes[:MOST_LABELS])
    return f"{len(classes):,} class{'es' * (len(classes) != 1)}: {first}{', ...' * (len(classes) > MOST_LABELS)}"


def inferred_task(inferred: InferredTask, saved: bool) -> str:
    """What the task was inferred from, and how to change it."""
    return f"from {inferred.why}; --task {inferred.other}{' --fresh' * saved} changes it"


def kinds(became: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What each column is learned as: in a line each, or those of a kind in one line if there are many."""
    if len(became) <= MOST_COLUMNS:
        width = max(map(len, became), default=0)
        for i, (name, what) in enumerate(became.items()):
            yield "" if i else "columns", f"{name:<{width}}  {what}"
        return
    for i, what in enumerate(dict.fromkeys(became.values())):
        names = [name for name, each in became.items() if each == what]
        some = ", ".join(names[:MOST_COLUMNS]) + ", ..." * (len(names) > MOST_COLUMNS)
        yield "" if i else "columns", f"{len(names):,} {what}: {some}"


def columns(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The columns that are not learned, and the texts without a column of their own."""
    if facts["left_out"]:
        yield "left out", ", ".join(f"{name} ({what})" for name, what in facts["left_out"].items())
    if facts["new_columns"]:
        yield "new", new_columns(facts["new_columns"])
    if facts["new_categories"]:
        yield "categories", new_categories(facts["new_categories"])


def experts(records: list[dict[str, Any]], task: str) -> Iterator[tuple[str, str]]:
    """A line for each expert of a stream model: its weight in the stack, and its score over the last rows."""
    width = max(len(record["name"]) for record in records)
    for i, record in enumerate(records):
        recent = f"{100 * record['score']:.1f} %" if task == "classification" else f"RMSE {record['score']:.4g}"
        yield "" if i else "experts", f"{record['name']:<{width}}  weight {record['weight']:z5.2f}, recently {recent}"


def drift_lines(rows: list[int], changes: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The drift alarms, and what changed at the last of them, in a line each."""
    from nolana.estimators.answers import change_text

    yield "drift", drift(rows)
    for record in changes[-MOST_ALARMS:]:
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


def summary(run: "Run", seconds: float, stop: Stop) -> dict[str, Any]:
    """The results of a run, in JSON's types."""
    from nolana.estimators.stream import StreamModel
    from nolana.learner.memory import memory_bytes

    model = run.estimator
    classes = getattr(model, "classes_", None)
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
        "classes": None if classes is None else classes.tolist(),
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


def lines(facts: Mapping[str, Any], better: Diagnostic | None) -> Iterator[tuple[str, str]]:
    """A summary as names and values; `better` is the advice of the evaluation."""
    before = facts["rows"] - facts["new_rows"]
    yield "rows", f"{facts['new_rows']:,}" + (f" and {before:,} before" if before else "")
    yield "method", facts["method"]
    yield "task", facts["task"] + (f", {labels(facts['classes'])}" if facts["classes"] is not None else "")
    if facts["task_inferred_from"] is not None:
        yield "inferred", inferred_task(InferredTask(facts["task"], facts["task_inferred_from"]), "model" in facts)
    yield "score", scores(facts["metrics"], facts["recent"], facts["recent_rows"], facts["scored_rows"])
    yield from baselines(facts["baselines"], better)
    if facts["landmarks"] is not None:
        yield "landmarks", f"{facts['landmarks']:,}, moved {facts['moves'] or 0:,} times"
    if facts["experts"] is not None:
        yield from experts(facts["experts"], facts["task"])
        yield from drift_lines(facts["drift"], facts["changes"])
    yield "memory", memory(facts["bytes"], facts["memory"])
    yield from kinds(facts["columns"])
    if facts["encoding"] is not None and set(facts["columns"].values()) != {"number"}:
        yield "", f"{facts['method']} {facts['encoding']}"
    yield from columns(facts)
    if facts["bad_rows"]:
        yield "bad rows", bad_rows(facts["bad_rows"])
    if facts["unfinished_line"] is not None:
        line = f"line {facts['unfinished_line']:,}"
        yield "last line", f"{line} has no line end and is left for the next run; --last-line take learns it now"
    if facts["new_rows"]:
        yield "time", f"{facts['seconds']:.2f} s, {facts['rows_per_second']:,} rows/s"


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
    """Within this context, the function to call after each block; None where standard error is not a terminal."""
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
    first = f"{run.rows:,} rows, {run.new_rows / seconds:,.0f} rows/s"
    second = scores(run.evaluation.metrics, run.recent, run.evaluation.recent_rows, run.evaluation.rows)
    third = f"model {model.memory_bytes_:,} bytes"
    if hasattr(model, "n_moves_"):
        third = f"{model.n_moves_:,} moves, {third}"
    if resident is not None:
        third += f", process {resident / 2**20:,.0f} MB"
    if run.stream.bad_rows:
        third += f", {run.stream.bad_rows:,} bad rows"
    parts: list[Any] = [Text(first), Text(second), Text(third)]
    named = [*baselines(run.evaluation.baselines, None)]
    if isinstance(model, StreamModel):
        named += [*experts(model.experts_, run.task), *drift_lines(model.drift_, model.changes_)]
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
