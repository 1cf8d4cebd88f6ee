"""``nolana learn``: a source into a model file, watched, with checkpoints."""

import sys
import time
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from nolana import modelfile
from nolana._threads import one_blas_thread
from nolana.cli.options import refusing, refusing_source, while_somebody_reads
from nolana.cli.rows import CsvRows, JsonRows, json_text
from nolana.cli.shown import NAME_WIDTH, lines, summary, to_terminal, watching
from nolana.errors import StreamError
from nolana.running import Checkpoints, Every, Reading, Recipe, Run, Scoring, Stop, Told, begin, resume
from nolana.running.checkpoints import check_place


def show(
    source: str,
    model: Path,
    reading: Reading,
    recipe: Recipe,
    scoring: Scoring,
    *,
    every: str | None,
    fresh: bool,
    again: bool,
    leave_rest: bool,
    each: bool,
    as_json: bool,
) -> None:
    """Learn, write the model, print the summary."""
    with refusing("--checkpoint-every"):
        checkpoints = Checkpoints(model, None if every is None else Every.of_text(every))
    with refusing("--model"):
        check_place(model)
    with refusing_source(source):
        if fresh and model.exists():
            modelfile.read(model)  # whatever it holds, it is a model file and no one's data
        if fresh or not model.exists():
            run, kept = begin(source, reading, recipe, scoring), None
        else:
            run, kept = resume(model, source, reading, recipe, scoring, again=again, leave_rest=leave_rest)
    begun = time.monotonic()
    speaker = _Speaker(as_json) if each else None
    with one_blas_thread(), Stop() as stop, watching(quiet=each and to_terminal()) as watch:
        if speaker is not None:
            speaker.stop = stop
        try:
            run.go(stop=stop, checkpoints=checkpoints, watch=watch, tell=speaker)
        except StreamError as error:
            raise _with_rest(error, run, checkpoints) from error
    nothing_new = run.finished and not run.new_rows and kept is not None and kept.finished
    if not nothing_new:
        checkpoints.write(run)
    facts = {"model": str(model)} | summary(run, time.monotonic() - begun)
    facts["interrupted"] = None if stop.signal is None else stop.signal.name
    with while_somebody_reads():
        if speaker is not None and speaker.broken:
            raise BrokenPipeError
        _print(facts, as_json=as_json, each=each)
    if stop.signal is not None:
        raise typer.Exit(128 + stop.signal)


def _with_rest(error: StreamError, run: Run, checkpoints: Checkpoints) -> StreamError:
    """The error, after what was learned before it is safe."""
    if not run.can_be_kept:
        return error
    if run.new_rows:
        checkpoints.write(run)
    kept = f"{run.rows:,} rows are learned and kept in {checkpoints.path}; the same command goes on behind them"
    return StreamError(f"{error}. {kept}", path=error.path, line=error.line, column=error.column, value=error.value)


class _Speaker:
    """Prints each prediction; when nobody reads any more, learning stops too."""

    stop: Stop

    def __init__(self, as_json: bool) -> None:
        self._rows = JsonRows(sys.stdout) if as_json else CsvRows(sys.stdout, lines=True)
        self.broken = False

    def __call__(self, told: Told) -> None:
        """Some rows."""
        if self.broken:
            return
        rows = told.predictions
        known, predicted, truth = rows.known.tolist(), rows.predicted.tolist(), rows.truth.tolist()
        said = [label if sure else None for label, sure in zip(predicted, known, strict=True)]
        try:
            self._rows.write(told.block.lines, {"prediction": said, "label": truth}, None, None)
        except BrokenPipeError:
            self.broken = True
            self.stop.ask()


def _print(facts: dict[str, Any], *, as_json: bool, each: bool) -> None:
    if as_json:
        typer.echo(json_text({"summary": facts}) if each else json_text(facts, 2))
        return
    console = Console(stderr=each, highlight=False, markup=False, soft_wrap=True)
    console.print(f"{facts['source']} -> {facts['model']}: {_outcome(facts)}", style="bold")
    for name, words in lines(facts):
        console.print(f"{name:<{NAME_WIDTH}}{words}")


def _outcome(facts: dict[str, Any]) -> str:
    if not facts["finished"]:
        why = f"interrupted by {facts['interrupted']}" if facts["interrupted"] else "stopped"
        return f"{why}; the same command goes on from line {facts['line']:,}"
    return "learned to the end" if facts["new_rows"] else "nothing new"
