"""Predictions row by row, as CSV or JSON lines, each block written through at once."""

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["CsvRows", "JsonRows", "json_text"]


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that every reader takes: what is not finite is null.

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


def plain(value: Any) -> Any:
    """A label as text keeps it: true and false as JSON has them."""
    return str(value).lower() if isinstance(value, bool) else value


class CsvRows:
    """A header when the first rows come, then a line for each row."""

    def __init__(self, file: TextIO, *, lines: bool) -> None:
        self._file, self._lines, self._begun = file, lines, False

    def write(
        self,
        lines: NDArray[np.int64],
        columns: dict[str, Iterable[Any]],
        classes: list[Any] | None,
        proba: NDArray[np.float64] | None,
    ) -> None:
        """Some rows: their lines, columns by name, probabilities by class."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        named = ({"line": lines.tolist()} if self._lines else {}) | columns
        if not self._begun:
            self._begun = True
            of_class = [] if proba is None else [f"proba_{plain(label)}" for label in classes or ()]
            writer.writerow([*named, *of_class])
        rows: Iterable[Any] = zip(*named.values(), strict=True)
        if proba is not None:
            rows = ((*row, *p) for row, p in zip(rows, proba.tolist(), strict=True))
        writer.writerows([["" if v is None else plain(v) for v in row] for row in rows])
        self._file.write(text.getvalue())
        self._file.flush()


class JsonRows:
    """An object for each row: its line, its columns, ``proba`` by class."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(
        self,
        lines: NDArray[np.int64],
        columns: dict[str, Iterable[Any]],
        classes: list[Any] | None,
        proba: NDArray[np.float64] | None,
    ) -> None:
        """Some rows."""
        names = list(columns)
        text = []
        for i, (line, *row) in enumerate(zip(lines.tolist(), *columns.values(), strict=True)):
            record = {"line": line, **dict(zip(names, row, strict=True))}
            if proba is not None:
                record["proba"] = dict(zip(map(str, map(plain, classes or ())), proba[i].tolist(), strict=True))
            text.append(json_text(record) + "\n")
        self._file.write("".join(text))
        self._file.flush()
