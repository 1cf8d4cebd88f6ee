"""``nolana evaluate``: the score of a learner on a source, each row predicted before it is learned."""

import time
from pathlib import Path

import typer
from rich.console import Console

from nolana import plot
from nolana._threads import one_blas_thread
from nolana.cli.options import refusing, refusing_source, while_somebody_reads
from nolana.cli.rows import json_text
from nolana.cli.shown import NAME_WIDTH, lines, summary, watching
from nolana.running import Reading, Recipe, Run, Scoring, Stop, begin


def show(source: str, reading: Reading, recipe: Recipe, scoring: Scoring, *, out: Path | None, as_json: bool) -> None:
    """Run through the source, print the score, draw it."""
    if out is not None:
        with refusing("--out"):
            plot.check(out)
    with refusing("--metrics"):
        scoring.evaluation()
    with refusing_source(source):
        run = begin(source, reading, recipe, scoring)
    begun = time.monotonic()
    with one_blas_thread(), Stop() as stop, watching() as watch:
        run.go(stop=stop, watch=watch)
    facts = summary(run, time.monotonic() - begun)
    facts["interrupted"] = None if stop.signal is None else stop.signal.name
    if out is not None:
        _draw(run, out)
    with while_somebody_reads():
        if as_json:
            points = [{"rows": p.rows, "overall": p.overall, "window": p.window} for p in run.evaluation.history]
            typer.echo(json_text(facts | {"history": points}, 2))
        else:
            console = Console(highlight=False, markup=False, soft_wrap=True)
            console.print(f"{facts['source']}: each row predicted before it was learned", style="bold")
            for name, words in lines(facts):
                console.print(f"{name:<{NAME_WIDTH}}{words}")
            if out is not None:
                console.print(f"{'picture':<{NAME_WIDTH}}{out}")
    if stop.signal is not None:
        raise typer.Exit(128 + stop.signal)


def _draw(run: Run, out: Path) -> None:
    metric = next(iter(run.evaluation.metrics))
    with refusing("--out"):
        title = f"{run.stream.name}: each row predicted before it was learned"
        plot.running_scores({"NOLANA": run.evaluation.history}, metric, out, title)
