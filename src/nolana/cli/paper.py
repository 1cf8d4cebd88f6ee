"""``nolana paper``: runs the experiments of the paper and writes the report."""

import csv
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from nolana.cli.options import blame_option
from nolana.cli.summary import progress_bar
from nolana.research.paper.experiments import EXPERIMENTS, experiments
from nolana.research.paper.harness import FULL, QUICK, Experiment, Results, Source
from nolana.research.paper.harness.data import Directory
from nolana.research.paper.harness.machine import facts
from nolana.research.paper.harness.runner import ResultStore, run
from nolana.research.report import Grid, Lead, Section, page

TITLE = "Nonlinear Online Learning with Adaptive Nyström Approximation, re-run"
LEAD = (
    "Every table and figure of the paper by Si, Kumar and Li, from the code of nolana on real data, beside the "
    "published numbers: what agrees, what does not, and why."
)


def execute(which: str, *, data: Path | None, out: Path, quick: bool, jobs: int | None) -> None:
    """Run one experiment or all, and write report.html and the CSV files to `out`."""
    with blame_option("EXPERIMENT"):
        chosen_names = names_of(which)
    source = Directory(None if data is None else str(data))
    write(chosen_names, source, out, quick=quick, jobs=jobs or os.cpu_count() or 1)


def names_of(which: str) -> list[str]:
    """The experiments of a name, which may be ``all``."""
    if which == "all":
        return list(EXPERIMENTS)
    if which not in EXPERIMENTS:
        raise ValueError(f"{which!r} is no experiment; choose all, {', '.join(EXPERIMENTS)}")
    return [which]


def write(names: Sequence[str], source: Source, out: Path, *, quick: bool, jobs: int) -> None:
    """Run the cells that have no stored result, and write everything."""
    scale = QUICK if quick else FULL
    chosen = experiments(names, source, scale)
    cells = list({cell.key: cell for experiment in chosen for cell in experiment.plan()}.values())
    if not cells:
        raise typer.BadParameter("none of the data sets was found; see `nolana data list`", param_hint="--data")
    with blame_option("--out"):
        store = ResultStore(out)
    try:
        with _bar() as bar:
            task = bar.add_task("", total=sum(cell.cost for cell in cells), doing="starting", done=0, of=len(cells))

            def advance(key: str, cost: float) -> None:
                bar.update(task, advance=cost, doing=f"{key} is done", done=bar.tasks[task].fields["done"] + 1)

            results = run(cells, source, store, jobs=jobs, label=str(source), progress=advance)
    except KeyboardInterrupt:
        Console(stderr=True).print(
            f"Interrupted. Finished results are stored in {out}; the same command resumes with the others."
        )
        raise typer.Exit(130) from None
    for experiment in chosen:
        _write_csv(out / f"{experiment.name}.csv", experiment.lines(results))
    report = out / "report.html"
    how = facts(command=shlex.join(["nolana", *sys.argv[1:]]), scale=scale, jobs=jobs)
    sections = [_summary(chosen, results), *(e.section(results) for e in chosen)]
    report.write_text(page(TITLE, LEAD, how, sections), encoding="utf-8")
    Console(highlight=False, soft_wrap=True).print(f"{report}: {report.stat().st_size:,} bytes", markup=False)


def _summary(chosen: Sequence[Experiment], results: Results) -> Section:
    """Every claim with its answer and the number that decides."""
    lines = [(experiment.title, line) for experiment in chosen for line in experiment.summary(results)]
    answers = [line.answer for _, line in lines]
    counts = ", ".join(f"{answers.count(answer)} {answer}" for answer in ("yes", "partly", "no"))
    sentence = f"Of {len(lines)} claims and questions: {counts}."
    rows = [[line.claim, line.answer, line.figure, title.partition(":")[0]] for title, line in lines]
    head = ["claim or question", "answer", "figure", "section"]
    return Section("summary", "Summary", [Lead(sentence), Grid("Claims, answers and figures.", head, rows)])


def _write_csv(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    columns = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(lines)


def _bar() -> Progress:
    return progress_bar(
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:3.0f} %, {task.fields[done]} of {task.fields[of]},"),
        TimeRemainingColumn(),
        TextColumn("left; {task.fields[doing]}"),
    )
