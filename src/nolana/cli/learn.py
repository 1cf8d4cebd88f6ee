"""``nolana learn``: a source into a model file, with checkpoints; ``nolana evaluate``: its score alone."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nolana import modelfile, plot
from nolana.cli.options import blame_option, blame_source, exit_when_unread
from nolana.cli.output import CsvRows, JsonRows, json_text
from nolana.cli.summary import lines, live_view, print_lines, summary
from nolana.errors import ConflictError, Remedy, StreamError
from nolana.runs import Checkpoints, Interval, ModelLock, SourceOptions, Stop, exit_on_signals, resume, start
from nolana.runs.checkpoints import check_writable
from nolana.runs.source import CHANGEABLE, is_resumable
from nolana.sources.declaration import declared

if TYPE_CHECKING:
    from nolana.runs import Recipe, Run, ScoredBlock, Scoring


def learn(
    source: str,
    model: Path,
    options: SourceOptions,
    recipe: "Recipe",
    scoring: "Scoring",
    *,
    every: str,
    fresh: bool,
    again: bool,
    leave_rest: bool,
    each: bool,
    workers: int | None,
    experiment: str | None,
    log_every: int,
    as_json: bool,
) -> None:
    """Learn, write the model, print the summary."""
    interval = Interval.of_text(every)
    with blame_option("--model"):
        check_writable(model)
    if model.exists() and not model.is_file():
        modelfile.read(model)  # raises: this is no model file, and gets no lock
    options = SourceOptions(**({"last_line": "leave"} | options.specified))
    tracking = None
    if experiment is not None:
        from nolana.cli.tracking import Tracking  # loads MLflow

        tracking = Tracking(experiment, log_every)
    with exit_on_signals(), ModelLock(model, _note), tracking or nullcontext():
        checkpoints = Checkpoints(model, interval)
        with blame_source(source):
            if fresh and model.exists():
                modelfile.read(model)  # only a model file is overwritten, never other data
            if fresh or not model.exists():
                run, saved = start(source, options, recipe, scoring), None
            else:
                try:
                    run, saved = resume(model, source, options, recipe, scoring, again=again, leave_rest=leave_rest)
                except ConflictError as error:
                    raise error.changed(remedies=[Remedy("fresh", True, "starts a new model")]) from error
        from nolana.engine.base.threads import one_blas_thread  # loads the engine

        def after_block(run: "Run") -> None:
            for observer in (view, tracking):
                if observer is not None:
                    observer(run)

        begun = time.monotonic()
        with one_blas_thread(), Stop() as stop, _workers(run, workers):
            printer = _Printer(as_json, stop) if each else None
            with live_view(quiet=each and sys.stdout.isatty()) as view:
                try:
                    run.process(stop=stop, checkpoints=checkpoints, on_block=after_block, on_predictions=printer)
                except StreamError as error:
                    raise _after_saving(error, run, checkpoints, is_resumable(source)) from error
            nothing_new = run.finished and not run.new_rows and saved is not None and saved.finished
            too_early = stop.signal is not None and not run.rows
            if not nothing_new and not too_early:
                checkpoints.write(run)
            if tracking is not None and not too_early:
                tracking.finish(model, interrupted=stop.signal is not None)
    if too_early:
        _note("interrupted before the first rows were learned; nothing was saved")
        raise typer.Exit(128 + (stop.signal or 0))
    seconds = time.monotonic() - begun
    with exit_when_unread():
        if printer is not None and printer.error is not None:
            raise printer.error
        if as_json:
            facts = {"model": str(model)} | summary(run, seconds, stop)
            if tracking is not None:
                record = {"experiment": tracking.experiment, "run_id": tracking.run_id, "error": tracking.error}
                facts["mlflow"] = record
            typer.echo(json_text({"summary": facts}) if each else json_text(facts, 2))
        else:
            pairs = [*lines(run, seconds, saved=True)]
            if tracking is not None and tracking.run_id is not None:
                pairs.append(("mlflow", f"run {tracking.run_id} of experiment {tracking.experiment}"))
            print_lines(f"{run.stream.name} -> {model}: {_outcome(run, stop)}", pairs, stderr=each)
    if stop.signal is not None:
        raise typer.Exit(128 + stop.signal)


def evaluate(
    source: str, options: SourceOptions, recipe: "Recipe", scoring: "Scoring", *, out: Path | None, as_json: bool
) -> None:
    """Process the source, print the score, draw it."""
    if out is not None:
        with blame_option("--out"):
            plot.check(out)
    with blame_option("--metrics"):
        scoring.new_evaluation()
    with blame_source(source):
        run = start(source, options, recipe, scoring)
    from nolana.engine.base.threads import one_blas_thread  # loads the engine

    begun = time.monotonic()
    with one_blas_thread(), Stop() as stop, live_view() as view:
        run.process(stop=stop, on_block=view)
    seconds, history, delay = time.monotonic() - begun, run.evaluation.history, run.evaluation.delay
    late = f", labels {delay:,} {'row' if delay == 1 else 'rows'} late" if delay else ""
    title = f"{run.stream.name}: each row predicted before it was learned{late}"
    if out is not None:
        with blame_option("--out"):
            plot.running_scores({run.method: history}, next(iter(run.evaluation.metrics)), out, title)
    with exit_when_unread():
        if as_json:
            points = [{"rows": p.rows, "overall": p.overall, "window": p.window} for p in history]
            typer.echo(json_text(summary(run, seconds, stop) | {"history": points}, 2))
        else:
            print_lines(title, lines(run, seconds, saved=False), out)
    if stop.signal is not None:
        raise typer.Exit(128 + stop.signal)


@contextmanager
def _workers(run: "Run", count: int | None) -> Iterator[None]:
    """Within this context the run learns with so many processes."""
    if count is None:
        yield
        return
    from nolana.runs.workers import Workers

    with blame_option("--workers"):
        workers = Workers(count)
        run.learn_in_rounds(workers)
    with workers:
        yield


def _note(text: str) -> None:
    typer.echo(f"nolana: {text}", err=True)


def _after_saving(error: StreamError, run: "Run", checkpoints: Checkpoints, can_resume: bool) -> StreamError:
    """The error, after the rows learned before it are saved; a pipe cannot be resumed."""
    if not run.can_be_saved:
        return error
    if run.new_rows:
        checkpoints.write(run)
    remedy = remedy_after_saving({setting.option for setting in error.settings}, can_resume)
    return error.changed(note=f"{run.rows:,} rows are learned and saved in {checkpoints.path}; {remedy}")


def remedy_after_saving(options: set[str], can_resume: bool = True) -> str:
    """How to resume after an error; a saved model may not accept the options that it names."""
    if "task" in options:
        return (
            "a model cannot change its task, so learn them again with --task regression --fresh; if this label alone "
            "is wrong, --on-bad-row skip leaves it out"
        )
    decided = [name for name, option in declared(SourceOptions).items() if option.saved and name not in CHANGEABLE]
    for name in decided:
        if name in options and (can_resume or name != "categorical_features"):
            skip = "; with --on-bad-row skip the same command leaves such rows out" * (name == "categorical_features")
            return f"a model cannot change --{name.replace('_', '-')}, so add --fresh and learn them again{skip}"
    if not can_resume:
        return (
            "the next run learns every row that it is sent, so send only those after them; with --on-bad-row skip it "
            "leaves invalid rows out"
        )
    return "the same command resumes after them, and with --on-bad-row skip it leaves invalid rows out"


class _Printer:
    """Prints each prediction; when the reader closes the pipe, or the disk is full, learning stops too."""

    def __init__(self, as_json: bool, stop: Stop) -> None:
        self._rows = JsonRows(sys.stdout) if as_json else CsvRows(sys.stdout, places=True)
        self._stop = stop
        self.error: OSError | None = None

    def __call__(self, scored: "ScoredBlock") -> None:
        """Some rows."""
        if self.error is not None:
            return
        rows = scored.predictions
        try:
            self._rows.write(scored.block.places, {"prediction": rows.answers, "label": rows.truth.tolist()})
        except OSError as error:
            self.error = error
            self._stop.request()


def _outcome(run: "Run", stop: Stop) -> str:
    if not run.finished:
        why = "stopped" if stop.signal is None else f"interrupted by {stop.signal.name}"
        return f"{why}; the same command resumes at {run.stream.unit} {run.stream.position.line:,}"
    if run.new_rows:
        return "learned to the end"
    return "nothing new: its rows were learned before; --again learns them once more"
