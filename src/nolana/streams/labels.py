"""Labels as they came: integers stay integers, floats floats, text text.

A stream cannot look ahead, so the first block decides, and a later label that does not fit is an error.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nolana._backend import engine
from nolana.streams.sources import Text, fail

__all__ = ["Kind", "Labels", "Part"]

Kind = Literal["int", "float", "text"]
KINDS = ("int", "float", "text")
TYPES = {"int": np.int64, "float": np.float64, "text": np.str_}


@dataclass(frozen=True)
class Part:
    """Rows out of one window of text."""

    X: NDArray[np.float64]  # (n, d)
    spans: NDArray[np.int64]  # (n, 3): begin, end, line of each label
    data: bytes  # what the spans point into
    line: int  # number of the line they count from


class Labels:
    """The labels of one stream, in the kind that was asked for or that its first block has."""

    def __init__(self, text: Text, kind: Kind | None, column: int, name: str | None) -> None:
        if kind is not None and kind not in KINDS:
            raise ValueError(f"labels={kind!r} is not a kind of label; choose one of: {', '.join(KINDS)}, or None")
        self._text, self._column, self._name = text, column, name
        self._given = kind is not None
        self.kind: Kind | None = kind

    def read(self, parts: list[Part]) -> NDArray[Any]:
        """The labels of a block."""
        if self.kind is None:
            self.kind = self._decide(parts)
        return np.concatenate([self._convert(part) for part in parts])

    def none(self) -> NDArray[Any]:
        """The labels of no rows."""
        return np.zeros(0, dtype=TYPES[self.kind or "float"])

    def _decide(self, parts: list[Part]) -> Kind:
        if all(engine().integer_fields(p.data, p.spans)[1] < 0 for p in parts):
            return "int"
        return "float" if all(engine().number_fields(p.data, p.spans)[1] < 0 for p in parts) else "text"

    def _convert(self, part: Part) -> NDArray[Any]:
        if self.kind == "text":
            return np.array([self._decode(part, row) for row in range(len(part.spans))], dtype=np.str_)
        parse = engine().integer_fields if self.kind == "int" else engine().number_fields
        values: NDArray[Any]
        values, unfit = parse(part.data, part.spans)
        if unfit >= 0:
            self._refuse(part, unfit)
        beyond = np.flatnonzero(~np.isfinite(values))
        if len(beyond):
            self._fail(part, int(beyond[0]), 'label {value} is not a finite number; labels="text" reads it as text')
        return values.view(TYPES[str(self.kind)])  # NumPy has two names for int64, and only one is np.int64

    def _decode(self, part: Part, row: int) -> str:
        begin, end, _ = part.spans[row].tolist()
        field = part.data[begin:end]
        if field.startswith(b'"') and field.endswith(b'"') and len(field) >= 2:
            field = field[1:-1].replace(b'""', b'"')
        try:
            return field.decode("utf-8")
        except UnicodeDecodeError:
            self._fail(part, row, "label {value} is not UTF-8; convert the file")
            raise

    def _refuse(self, part: Part, row: int) -> None:
        noun = {"int": "an integer", "float": "a number"}[str(self.kind)]
        if self._given:
            self._fail(part, row, f'label {{value}} is not {noun} (labels="{self.kind}")')
        fits_float = self.kind == "int" and engine().number_fields(part.data, part.spans[row : row + 1])[1] < 0
        remedy = 'labels="float" or labels="text"' if fits_float else 'labels="text"'
        self._fail(part, row, f"label {{value}} is not {noun}, as all labels of the first block are; set {remedy}")

    def _fail(self, part: Part, row: int, what: str) -> None:
        begin, end, line = part.spans[row].tolist()
        value = part.data[begin:end].decode("utf-8", "replace")
        fail(self._text, what, line=part.line + line, column=self._column, name=self._name, value=value)
