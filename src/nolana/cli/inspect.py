"""``nolana inspect``: the contents of a model file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from nolana import plot as pictures
from nolana.cli.options import blame_option, exit_when_unread
from nolana.cli.output import bad_rows, json_text
from nolana.cli.summary import baselines, columns, drift_lines, experts, kinds, labels, memory, print_lines, scores
from nolana.runs import Inspection

MOST_EFFECTS = 4  # of a column


def execute(model: Path, *, plot: Path | None, as_json: bool) -> None:
    """Print the contents of the file, and draw them."""
    if plot is not None:
        with blame_option("--plot"):
            pictures.check(plot)
    inspection = Inspection(model)
    facts = inspection.facts()
    if plot is not None:
        _draw(inspection, facts, plot)
    with exit_when_unread():
        if as_json:
            typer.echo(json_text(facts | {"plot": None if plot is None else str(plot)}, 2))
        else:
            title = f"{facts['file']}: {facts['estimator']}, {facts['file_bytes']:,} bytes"
            print_lines(title, _lines(facts), plot)


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    run = facts["run"]
    if facts["method"] is not None:
        yield "method", facts["method"]
    yield "rows", f"{facts['rows']:,} learned"
    if facts["classes"] is not None:
        yield "task", f"classification, {labels(facts['classes'])}"
    elif facts["task"] is not None:
        yield "task", facts["task"]
    yield "features", f"{facts['features']:,}"
    yield from kinds(facts["columns"] or {})
    if facts["categories"] is not None:
        yield from _categories(facts["categories"])
    if facts["landmarks"] is not None:
        kernel = f"{facts['parameters']['kernel']}, gamma {facts['gamma']:.4g}, threshold {facts['threshold']:.4g}"
        yield "landmarks", f"{facts['landmarks']:,} of {facts['most_landmarks']:,}, moved {facts['moves']:,} times"
        yield "kernel", kernel
    yield "memory", memory(facts["bytes"], facts["memory"])
    if facts["experts"] is not None:
        yield "", ", ".join(f"{size:,} {name}" for name, size in facts["sizes"].items())
        yield from experts(facts["experts"], facts["task"])
        yield from drift_lines(facts["drift"], facts["changes"])
    if run is None:
        yield "run", "none: saved without a source and a score"
        return
    yield "score", scores(run["score"], run["recent_score"], run["recent_rows"], run["scored_rows"])
    yield from baselines(run["baselines"], None)
    before = len(run["sources_before"])
    others = f"; {before:,} other{'s' * (before > 1)} before" if before else ""
    source = run["source"] or "requests to a service"
    yield "source", source + (", finished" if run["finished"] else f", up to {run['place']}") + others
    yield from columns(run)
    if run["bad_rows"]:
        yield "bad rows", bad_rows(run["bad_rows"])


def _categories(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The strongest categories of each column with their effects, the pairs of columns, what was evicted."""
    outputs = facts["outputs"]
    name = "effects"
    for column, effects in facts["effects"].items():
        every = [(each, value, o) for each, values in effects.items() for o, value in enumerate(values)]
        strongest = sorted(every, key=lambda entry: -abs(entry[1]))[:MOST_EFFECTS]
        of = [f" on {outputs[o]}" if len(outputs) > 1 else "" for _, _, o in strongest]
        listed = ", ".join(f"{each} {value:+.3g}{on}" for (each, value, _), on in zip(strongest, of, strict=True))
        yield name, f"{column}: {listed}"
        name = ""
    if facts["effects"] and len(outputs) == 1:
        yield "", f"(log odds of {outputs[0]})"
    if facts["pairs"]:
        yield "pairs", ", ".join(" and ".join(pair) for pair in facts["pairs"])
    if facts["evicted"]:
        yield "evicted", f"{facts['evicted']:,} categories made room for others"


def _draw(inspection: Inspection, facts: dict[str, Any], plot: Path) -> None:
    metric = next(iter(facts["run"]["score"]), None) if facts["run"] else None
    if facts["landmarks"] is None:
        _draw_score(inspection, facts, metric, plot)
        return
    title = f"{facts['file']}: {facts['rows']:,} rows, {facts['landmarks']:,} landmarks, {facts['moves']:,} moves"
    with blame_option("--plot"):
        pictures.landmarks(inspection.estimator, plot, title=title, history=inspection.history, metric=metric)


def _draw_score(inspection: Inspection, facts: dict[str, Any], metric: str | None, plot: Path) -> None:
    """The score over time of a model without landmarks."""
    if metric is None or not inspection.history:
        what = f"a {facts['estimator']} that was saved without a score has nothing to draw"
        raise typer.BadParameter(what, param_hint="--plot")
    title = f"{facts['file']}: {facts['rows']:,} rows"
    with blame_option("--plot"):
        pictures.running_scores({facts["method"]: inspection.history}, metric, plot, title)
