"""``nolana evaluate``: the score of a learner on a source, each row predicted before it is learned."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nolana import plot
from nolana.cli.options import blame_option, blame_source, exit_when_unread
from nolana.cli.output import json_text
from nolana.cli.summary import lines, live_view, print_lines, summary
from nolana.runs import SourceOptions, Stop, start

if TYPE_CHECKING:
    from nolana.runs import Recipe, Run, Scoring


def execute(
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
    facts = summary(run, time.monotonic() - begun, stop)
    if out is not None:
        _draw(run, out)
    with exit_when_unread():
        if as_json:
            points = [{"rows": p.rows, "overall": p.overall, "window": p.window} for p in run.evaluation.history]
            typer.echo(json_text(facts | {"history": points}, 2))
        else:
            print_lines(
                f"{facts['source']}: each row predicted before it was learned{late(run.evaluation.delay)}",
                lines(facts, run.evaluation.advice(run.estimator)),
                out,
            )
    if stop.signal is not None:
        raise typer.Exit(128 + stop.signal)


def late(delay: int) -> str:
    """How late labels come; "" if they come with their rows."""
    return f", labels {delay:,} {'row' if delay == 1 else 'rows'} late" if delay else ""


def _draw(run: "Run", out: Path) -> None:
    metric = next(iter(run.evaluation.metrics))
    with blame_option("--out"):
        title = f"{run.stream.name}: each row predicted before it was learned{late(run.evaluation.delay)}"
        plot.running_scores({run.method: run.evaluation.history}, metric, out, title)
