"""Model files of runs: what is kept beside the estimator, when it is written, and how it comes back.

The section ``run`` of a model file:

    source       the name of the source
    finished     whether it was read to its end
    asked        what was said about its columns
    stream       the state of the stream: columns, encoder, position
    evaluation   the state of the running score
"""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nolana.errors import ModelFileError
from nolana.loading import load_with_extra
from nolana.modelfile import Node
from nolana.modelfile.atomic import remove_leftovers
from nolana.streams.plan import Plan

if TYPE_CHECKING:
    from nolana.running.run import Run

__all__ = ["SECTION", "Checkpoints", "Every", "Kept", "check_place", "read"]

SECTION = "run"
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Every:
    """After how many rows or seconds a checkpoint is written; neither: only at the end."""

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def of_text(cls, text: str) -> "Every":
        """``10000`` are rows, ``30s``, ``5m``, ``1h`` a time.

        Examples
        --------
        >>> Every.of_text("10000"), Every.of_text("1.5m")
        (Every(rows=10000, seconds=None), Every(rows=None, seconds=90.0))
        """
        match = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)(ms|s|m|h)", text.strip().replace("_", "").replace(",", ""))
        if match is None or float(match[1] or match[2]) == 0:
            raise ValueError(f"{text!r} is neither a number of rows such as 10000 nor a time such as 30s, 5m or 1h")
        return cls(rows=int(match[1])) if match[1] else cls(seconds=float(match[2]) * UNITS[match[3]])


class Checkpoints:
    """Writes the model file of a run, when it is time and at the end; what a killed run left beside it goes.

    Parameters
    ----------
    path : the model file.
    every : when; it is looked at after each block.
    """

    def __init__(self, path: str | os.PathLike[str], every: Every | None = None) -> None:
        self.path, self.every = Path(path), every or Every()
        remove_leftovers(self.path)
        self.written = 0
        self._rows: int | None = None
        self._time = time.monotonic()

    def block_rows(self, largest: int) -> int:
        """Rows of a block, so that checkpoints come in time."""
        rows = self.every.rows
        return largest if rows is None else -(-rows // -(-rows // largest))

    def after_block(self, run: "Run") -> None:
        """Writes the file if it is time."""
        if self._rows is None:
            self._rows = run.rows_before
        rows, seconds = self.every.rows, self.every.seconds
        if (rows is not None and run.rows - self._rows >= rows) or (
            seconds is not None and time.monotonic() - self._time >= seconds
        ):
            self.write(run)

    def write(self, run: "Run") -> None:
        """Writes the file, as a whole or not at all."""
        run.save(self.path)
        self.written += 1
        self._rows, self._time = run.rows, time.monotonic()


@dataclass(frozen=True)
class Kept:
    """What a model file says about its run."""

    source: str
    finished: bool
    asked: dict[str, Any]
    stream: dict[str, Any]
    evaluation: dict[str, Any]

    def record(self) -> dict[str, Any]:
        """Plain data."""
        return dict(self.__dict__)


def read(path: str | os.PathLike[str]) -> tuple[Any, Kept | None]:
    """The estimator of a model file, and its run where it has one; ModelFileError says what is wrong."""
    estimator, extra = load_with_extra(path)
    if SECTION not in extra:
        return estimator, None
    try:
        return estimator, _kept(Node(extra[SECTION], SECTION), int(estimator.n_features_in_))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def _kept(node: Node, width: int) -> Kept:
    fields = node.fields("source", "finished", "asked", "stream", "evaluation")
    trees = {name: fields[name].entries() and fields[name].value for name in ("stream", "evaluation")}
    fields["asked"].entries()
    stream = fields["stream"]
    for name in ("plan", "encoder", "position", "bad_rows"):
        stream[name]
    try:
        planned = _width(Plan.from_dict(stream["plan"].value))
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{stream.place}/plan: {error}") from error
    if planned != width:  # also a bound on what the encoder may take
        raise ModelFileError(f"{stream.place}/plan: {planned} columns of X, but the estimator has {width}")
    asked = fields["asked"].value
    return Kept(fields["source"].text(), fields["finished"].flag(), asked, trees["stream"], trees["evaluation"])


def _width(plan: Plan) -> int:
    """Columns of X."""
    if plan.columns is None:
        return len(plan.chosen) if plan.chosen is not None else int(plan.width or 0)
    options = plan.options
    slots = options.hash_slots if options.categories == "hash" else options.max_categories + 1
    columns = sum(slots if column.kind == "text" else 1 for column in plan.columns)
    return columns + (len(plan.columns) if options.missing == "indicator" else 0)


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise, before any work is done, where a model file cannot be written."""
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a directory, not a file to write")
    if not place.parent.is_dir():
        raise NotADirectoryError(f"there is no directory {str(place.parent)!r}; make it, or choose another place")
    if not os.access(place.parent, os.W_OK):
        raise PermissionError(f"{str(place.parent)!r} may not be written to; choose another place")
