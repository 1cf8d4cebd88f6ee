"""``nolana inspect``: the contents of a model file."""

from pathlib import Path
from typing import Any

import typer

from nolana import plot as pictures
from nolana.cli.options import blame_option, exit_when_unread
from nolana.cli.output import bad_rows, json_text
from nolana.cli.summary import Lines, baselines, columns, kinds, labels, memory, print_lines, scores, stack
from nolana.runs import Inspection

MOST_EFFECTS = 4  # of a column
Facts = dict[str, Any]  # as `Inspection.facts` has them


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
            print_lines(title, _lines(inspection, facts), plot)


def _lines(inspection: Inspection, facts: Facts) -> Lines:
    run, evaluation = facts["run"], inspection.evaluation
    if facts["method"] is not None:
        yield "method", facts["method"]
    yield "rows", f"{facts['rows']:,} learned"
    if facts["classes"] is not None:
        yield "task", f"classification, {labels(facts['classes'], multilabel=facts['multilabel'])}"
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
        yield from stack(inspection.estimator, facts["task"])
    if run is None or evaluation is None:
        yield "run", "none: saved without a source and a score"
        return
    yield "score", scores(evaluation)
    yield from baselines(evaluation)
    before = len(run["sources_before"])
    others = f"; {before:,} other{'s' * (before > 1)} before" if before else ""
    source = run["source"] or "requests to a service"
    yield "source", source + (", finished" if run["finished"] else f", up to {run['place']}") + others
    yield from columns(run["left_out"], run["new_columns"], run["new_categories"])
    if run["bad_rows"]:
        yield "bad rows", bad_rows(run["bad_rows"])


def _categories(facts: Facts) -> Lines:
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


def _draw(inspection: Inspection, facts: Facts, plot: Path) -> None:
    """The landmarks with the score over time; of a model without landmarks the score alone."""
    history, metric = inspection.history, next(iter(facts["run"]["score"]), None) if facts["run"] else None
    title = f"{facts['file']}: {facts['rows']:,} rows"
    with blame_option("--plot"):
        if facts["landmarks"] is not None:
            title += f", {facts['landmarks']:,} landmarks, {facts['moves']:,} moves"
            pictures.landmarks(inspection.estimator, plot, title=title, history=history, metric=metric)
        elif metric is None or not history:
            raise ValueError(f"a {facts['estimator']} that was saved without a score has nothing to draw")
        else:
            pictures.running_scores({facts["method"]: history}, metric, plot, title)
