"""``nolana inspect``: what is in a model file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from nolana import plot as pictures
from nolana.cli.options import refusing, while_somebody_reads
from nolana.cli.rows import json_text
from nolana.cli.shown import bad, labels, scores
from nolana.running import describe
from nolana.running.describing import Description

NAME_WIDTH = 12
MOST_COLUMNS = 12


def show(model: Path, *, plot: Path | None, as_json: bool) -> None:
    """Print what is in the file, and draw it."""
    if plot is not None:
        with refusing("--plot"):
            pictures.check(plot)
    if not model.exists():
        raise typer.BadParameter(f"there is no file {str(model)!r}", param_hint="FILE")
    found = describe(model)
    facts = found.facts()
    if plot is not None:
        _draw(found, facts, plot)
    with while_somebody_reads():
        if as_json:
            typer.echo(json_text(facts | {"plot": None if plot is None else str(plot)}, 2))
            return
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(f"{facts['file']}: {facts['estimator']}, {facts['file_bytes']:,} bytes", style="bold")
        for name, words in _lines(facts):
            console.print(f"{name:<{NAME_WIDTH}}{words}")
        if plot is not None:
            console.print(f"{'picture':<{NAME_WIDTH}}{plot}")


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    run = facts["run"]
    yield "rows", f"{facts['rows']:,} learned"
    if facts["classes"] is not None:
        yield "task", f"classification, {labels(facts['classes'])}"
    elif facts["task"] is not None:
        yield "task", facts["task"]
    columns = "" if run is None or run["columns"] is None else f": {_columns(run['columns'])}"
    yield "features", f"{facts['features']:,}{columns}"
    if facts["landmarks"] is not None:
        yield "landmarks", f"{facts['landmarks']:,} of {facts['most_landmarks']:,}, moved {facts['moves']:,} times"
        yield "kernel", f"{facts['parameters']['kernel']}, gamma {facts['gamma']:.4g}, moves beyond {_beyond(facts)}"
    yield "memory", f"{facts['bytes']:,} bytes"
    if run is None:
        yield "run", "none: saved without a source and a score"
        return
    yield "score", scores(run["score"], run["recent_score"], run["window"])
    yield "source", run["source"] + (", finished" if run["finished"] else f", up to line {run['line']:,}")
    if run["bad_rows"]:
        yield "bad rows", bad(run["bad_rows"])


def _beyond(facts: dict[str, Any]) -> str:
    return f"{facts['threshold']:.4g}"


def _columns(columns: dict[str, str]) -> str:
    names = [name if kind == "number" else f"{name} ({kind})" for name, kind in columns.items()]
    return ", ".join(names[:MOST_COLUMNS]) + (", ..." if len(names) > MOST_COLUMNS else "")


def _draw(found: Description, facts: dict[str, Any], plot: Path) -> None:
    if facts["landmarks"] is None:
        raise typer.BadParameter(f"a {facts['estimator']} has no landmarks to draw", param_hint="--plot")
    model = found.estimator
    said = model.predict(model.landmarks_) if hasattr(model, "predict") else None
    metric = next(iter(facts["run"]["score"]), None) if facts["run"] else None
    title = f"{facts['file']}: {facts['rows']:,} rows, {facts['landmarks']:,} landmarks, {facts['moves']:,} moves"
    with refusing("--plot"):
        pictures.portrait(plot, title, found.plane(), said, model.counts_, found.history, metric)
