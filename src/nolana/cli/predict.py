"""``nolana predict``: predictions of a model file for the rows of a source."""

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TextIO

import numpy as np
import typer

from nolana.cli.options import blame_option, blame_source, exit_when_unread
from nolana.cli.output import CsvRows, JsonRows, Output, bad_rows, new_categories, new_columns
from nolana.engine.base.threads import one_blas_thread
from nolana.runs import Predictor, SourceOptions, exit_on_signals
from nolana.runs.checkpoints import check_writable
from nolana.sources.messages import address, is_address, open_sink


def execute(
    source: str, model: Path, options: SourceOptions, *, out: str | None, proba: bool, explain: bool, as_json: bool
) -> None:
    """Write a line for each row."""
    sends = out is not None and is_address(out)
    if out is not None:
        with blame_option("--out"):
            address(out) if sends else check_writable(out)
    of_source = options
    if sends and not is_address(source):  # how to reach the sink is no option of a file
        named = {name: value for name, value in options.specified.items() if name != "kafka_config"}
        of_source = SourceOptions(**named)
    with blame_source(source):
        predictor = Predictor(model, source, of_source, probabilities=proba, explain=explain)
    output: AbstractContextManager[Output] = closing(open_sink(out, options)) if out and sends else _file(out)
    with exit_when_unread(), one_blas_thread(), predictor, exit_on_signals(), output as file:
        # If rows may be left out, or are messages, their places identify the others.
        places = options.on_bad_row != "error" or is_address(source)
        rows = JsonRows(file) if as_json or sends else CsvRows(file, places=places)
        written = False
        for block in predictor:
            columns: dict[str, Sequence[object]] = {"prediction": block.labels.tolist()}
            if block.contributions is not None:
                why = block.contributions
                columns["because"] = why if as_json or sends else [_text(each) for each in why]
            rows.write(block.places, columns, predictor.classes, block.probabilities)
            written = True
        if not written:  # the header alone
            none = np.zeros((0, len(predictor.classes or ()))) if proba else None
            header = {"prediction": (), "because": ()} if explain else {"prediction": ()}
            rows.write(predictor.stream.no_places, header, predictor.classes, none)
    if predictor.stream.bad_rows:
        typer.echo(f"nolana: bad rows: {bad_rows(predictor.stream.bad_rows_by_reason)}", err=True)
    if predictor.stream.new_columns:
        typer.echo(f"nolana: new columns: {new_columns(predictor.stream.new_columns)}", err=True)
    if predictor.stream.new_categories:
        typer.echo(f"nolana: categories: {new_categories(predictor.stream.new_categories)}", err=True)


def _text(contributions: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:+.3g}" for name, value in contributions.items())


@contextmanager
def _file(out: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is created as a whole when all is written; a pipe or device is written to."""
    if out is None:
        yield sys.stdout
        return
    if os.path.exists(out) and not os.path.isfile(out):
        try:
            with open(out, "w", encoding="utf-8", newline="") as file:
                yield file
        except BrokenPipeError:  # nobody reads it any more
            raise
        except OSError as error:
            raise _unwritten(out, error) from error
        return
    target = Path(os.path.realpath(out))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="") as file:
            yield file
        beside.replace(target)
    except OSError as error:
        raise _unwritten(out, error, "; an existing file is unchanged") from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _unwritten(out: str, error: OSError, also: str = "") -> typer.Exit:
    """The end of a command that could not write its file, which it says."""
    typer.echo(f"nolana: cannot write {out}: {error.strerror or error}{also}", err=True)
    return typer.Exit(1)
