"""Predictions row by row, as CSV or JSON lines, flushed after each block."""

import csv
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from nolana.sources.messages import Sink

__all__ = ["CsvRows", "JsonRows", "bad_rows", "json_text", "new_categories", "new_columns"]

Columns = Mapping[str, Sequence[object]]  # by name
Output = TextIO | Sink


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that every reader accepts: numbers that are not finite are null.

    >>> json_text({"threshold": float("inf"), "rows": [1, 2.5]})
    '{"threshold": null, "rows": [1, 2.5]}'
    """
    return json.dumps(_finite(value), ensure_ascii=False, indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def bad_rows(reasons: Mapping[str, int]) -> str:
    """Number of invalid rows that were left out, by reason."""
    return f"{sum(reasons.values()):,} left out (" + ", ".join(f"{n:,} {why}" for why, n in reasons.items()) + ")"


def new_columns(rows: Mapping[str, int]) -> str:
    """Columns that the first block did not have, and in how many rows they were."""
    return ", ".join(f"{name} in {count:,} row{'s' * (count > 1)}" for name, count in rows.items()) + ", left out"


def new_categories(rows: Mapping[str, int]) -> str:
    """Columns of text, and how many rows had a text that has no column of its own."""
    return ", ".join(f"{name}: {count:,} row{'s' * (count > 1)} with other strings" for name, count in rows.items())


def plain(value: object) -> object:
    """A label as text has it: true and false as in JSON."""
    return str(value).lower() if isinstance(value, bool) else value


class Rows(ABC):
    """Writes rows to a file."""

    def __init__(self, file: Output) -> None:
        self._file = file

    def write(
        self,
        places: Columns,
        columns: Columns,
        classes: Sequence[object] | None = None,
        proba: NDArray[np.float64] | None = None,
    ) -> None:
        """Some rows: their places and other columns by name, probabilities (n, classes)."""
        names = [str(plain(label)) for label in classes or ()]
        by_class = {} if proba is None else dict(zip(names, proba.T.tolist(), strict=True))
        self._file.write(self._text(places, columns, by_class))
        self._file.flush()

    @abstractmethod
    def _text(self, places: Columns, columns: Columns, proba: Columns) -> str:
        """The rows as text."""


class CsvRows(Rows):
    """A header with the first rows, then a line for each row."""

    def __init__(self, file: Output, *, places: bool) -> None:
        super().__init__(file)
        self._places, self._has_header = places, False

    def _text(self, places: Columns, columns: Columns, proba: Columns) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        by_label = {f"proba_{label}": own for label, own in proba.items()}
        named = {**(places if self._places else {}), **columns, **by_label}
        if not self._has_header:
            self._has_header = True
            writer.writerow(named)
        rows = zip(*named.values(), strict=True)
        writer.writerows([["" if v is None else plain(v) for v in row] for row in rows])
        return text.getvalue()


class JsonRows(Rows):
    """An object for each row: its place, its columns, ``proba`` by class."""

    def _text(self, places: Columns, columns: Columns, proba: Columns) -> str:
        named = {**places, **columns}
        if proba:
            named["proba"] = [dict(zip(proba, row, strict=True)) for row in zip(*proba.values(), strict=True)]
        records = (dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True))
        return "".join(json_text(record) + "\n" for record in records)
