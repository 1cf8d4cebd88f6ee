"""``nolana predict``: the rows of a source, predicted by a model file."""

import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer

from nolana._threads import one_blas_thread
from nolana.cli.options import refusing, refusing_source, while_somebody_reads
from nolana.cli.rows import CsvRows, JsonRows
from nolana.running import Predicting, Reading
from nolana.running.checkpoints import check_place


def show(source: str, model: Path, reading: Reading, *, out: Path | None, proba: bool, as_json: bool) -> None:
    """Write a line for each row."""
    if out is not None:
        with refusing("--out"):
            check_place(out)
    if not model.exists():
        raise typer.BadParameter(f"there is no file {str(model)!r}", param_hint="--model")
    with refusing_source(source):
        predicting = Predicting(model, source, reading, probabilities=proba)
    with while_somebody_reads(), one_blas_thread(), predicting, _ending_on_sigterm(), _file(out) as file:
        # Where rows may be left out, their lines say which ones are there.
        rows = JsonRows(file) if as_json else CsvRows(file, lines=reading.on_bad_row != "error")
        for block in predicting:
            rows.write(block.lines, {"prediction": block.labels.tolist()}, predicting.classes, block.probabilities)
    if predicting.stream.bad_rows:
        left_out = ", ".join(f"{n:,} {why}" for why, n in predicting.stream.bad_rows_by_reason.items())
        typer.echo(f"nolana: {predicting.stream.bad_rows:,} bad rows left out ({left_out})", err=True)


@contextmanager
def _file(out: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears as a whole when all is written."""
    if out is None:
        yield sys.stdout
        return
    target = Path(os.path.realpath(out))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="") as file:
            yield file
        beside.replace(target)
    except OSError as error:
        what = f"cannot write {out}: {error.strerror or error}; what was there before is as it was"
        typer.echo(f"nolana: {what}", err=True)
        raise typer.Exit(1) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the process with 143, after the file beside is gone."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
