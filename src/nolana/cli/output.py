"""Predictions row by row, as CSV or JSON lines, flushed after each block."""

import csv
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from nolana.sources.messages import Sink

__all__ = ["CsvRows", "JsonRows", "bad_rows", "json_text", "new_categories", "new_columns"]

Columns = dict[str, list[Any]]
Output = TextIO | Sink
Probabilities = dict[str, list[float]]


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that every reader accepts: numbers that are not finite are null.

    >>> json_text({"threshold": float("inf"), "rows": [1, 2.5]})
    '{"threshold": null, "rows": [1, 2.5]}'
    """
    return json.dumps(_finite(value), ensure_ascii=False, indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
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


def plain(value: Any) -> Any:
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
        classes: list[Any] | None = None,
        proba: NDArray[np.float64] | None = None,
    ) -> None:
        """Some rows: their places and other columns by name, probabilities (n, classes)."""
        names = [str(plain(label)) for label in classes or ()]
        by_class = {} if proba is None else dict(zip(names, proba.T.tolist(), strict=True))
        self._file.write(self._text(places, columns, by_class))
        self._file.flush()

    @abstractmethod
    def _text(self, places: Columns, columns: Columns, proba: Probabilities) -> str:
        """The rows as text."""


class CsvRows(Rows):
    """A header with the first rows, then a line for each row."""

    def __init__(self, file: Output, *, places: bool) -> None:
        super().__init__(file)
        self._places, self._has_header = places, False

    def _text(self, places: Columns, columns: Columns, proba: Probabilities) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        named = (places if self._places else {}) | columns
        if not self._has_header:
            self._has_header = True
            writer.writerow([*named, *(f"proba_{label}" for label in proba)])
        rows: Iterable[Any] = zip(*named.values(), *proba.values(), strict=True)
        writer.writerows([["" if v is None else plain(v) for v in row] for row in rows])
        return text.getvalue()


class JsonRows(Rows):
    """An object for each row: its place, its columns, ``proba`` by class."""

    def _text(self, places: Columns, columns: Columns, proba: Probabilities) -> str:
        named = places | columns
        records = [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]
        if proba:
            for record, row in zip(records, zip(*proba.values(), strict=True), strict=True):
                record["proba"] = dict(zip(proba, row, strict=True))
        return "".join(json_text(record) + "\n" for record in records)
