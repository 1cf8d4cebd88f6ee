"""``nolana data``: list, find and download data sets."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table

from nolana.cli.summary import progress_bar
from nolana.errors import DataError
from nolana.research import datasets
from nolana.research.datasets import DataSet
from nolana.research.datasets.download import Progress as Report

__all__ = ["fetch", "show_all", "show_place"]

WIDTH_BESIDE_PATHS = 80


def show_all(directory: Path | None, *, as_json: bool) -> None:
    """Every data set of the catalogue, and the directory that has it."""
    found = {name: _directory(record, directory) for name, record in datasets.catalogue().items()}
    if as_json:
        typer.echo(json.dumps([_described(name) | {"directory": place} for name, place in found.items()], indent=2))
        return
    table = Table()
    for heading in ("name", "rows x features", "task", "on this machine"):
        table.add_column(heading, justify="right" if heading == "rows x features" else "left", no_wrap=True)
    for name, place in found.items():
        record = datasets.catalogue()[name]
        table.add_row(name, f"{record.rows:,} x {record.features}", record.task, place or "[dim]no[/dim]")
    console = Console()
    # A path that a table has folded or cut cannot be copied, so that wide lines are left to the terminal.
    console.width = max(console.width, WIDTH_BESIDE_PATHS + max(len(place or "") for place in found.values()))
    console.print(table)
    searched = ", ".join(map(str, datasets.places(directory)))
    console.print(f"Searched: {searched}", soft_wrap=True, markup=False, highlight=False)
    if None in found.values():
        console.print("`nolana data where NAME` explains how to get one that is missing.", highlight=False)


def show_place(name: str, directory: Path | None, *, as_json: bool) -> None:
    """The files of a data set, one on each line."""
    _print_files(name, datasets.find(name, directory), as_json=as_json)


def fetch(name: str, directory: Path | None, *, url: str | None, as_json: bool) -> None:
    """Downloads the missing files of a data set, with a progress bar, and prints its files."""
    with _bars() as report:
        paths = datasets.get(name, directory, base_url=url, progress=report)
    _print_files(name, paths, as_json=as_json)


def _directory(record: DataSet, directory: Path | None) -> str | None:
    try:
        return str(datasets.find(record, directory)[0].parent)
    except DataError:
        return None


def _described(name: str) -> dict[str, object]:
    record = datasets.catalogue()[name]
    paper = record.paper
    return {
        "name": record.name,
        "title": record.title,
        "rows": record.rows,
        "features": record.features,
        "task": record.task,
        "drifts": record.drifts,
        "paper": paper and {"n_landmarks": paper.n_landmarks, "loss": paper.loss, "rows": paper.rows},
        "files": [file.name for file in record.files],
        "source": record.source,
        "citation": record.citation,
    }


def _print_files(name: str, paths: list[Path], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"name": name, "files": [str(path) for path in paths]}, indent=2))
    else:
        for path in paths:
            typer.echo(str(path))


@contextmanager
def _bars() -> Iterator[Report]:
    """A progress bar for each file."""
    text = TextColumn("{task.description}")
    bars = progress_bar(text, BarColumn(bar_width=30), DownloadColumn(), TransferSpeedColumn(), transient=True)
    tasks: dict[str, TaskID] = {}

    def report(file: str, done: int, total: int | None) -> None:
        if file not in tasks:
            tasks[file] = bars.add_task(file, total=total)
        bars.update(tasks[file], completed=done, total=total)
        if done == total:
            bars.update(tasks[file], description=f"checking {file}")

    with bars:
        yield report
