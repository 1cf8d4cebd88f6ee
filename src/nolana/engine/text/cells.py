"""What a field of a table says, detected from its letters alone, and rows of a table as such cells.

n rows of d numbers and t texts: values (n, d), codes (n, d); spans (n, t, 2) and span_codes (n, t); rows (n, 3):
begin, end, line; then the end of what was taken, the line ends passed, and the problem that ended it, or None.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolana.engine.text.text import Array, Integers, Problem, number

Codes = NDArray[np.uint8]
CellRows = tuple[Array, Codes, Integers, Codes, Integers, int, int, Problem | None]

NUMBER, ABSENT, UNKNOWN, UNBOUNDED, TEXT, TRUTH, NESTED = range(7)


def classify(field: bytes) -> tuple[int, float]:
    """The code of a field and its value, 0 where it has none."""
    value = number(field)
    if value is not None:
        if np.isfinite(value):
            return NUMBER, value
        return (UNKNOWN if np.isnan(value) else UNBOUNDED), 0.0
    if not field:
        return ABSENT, 0.0
    letters = field.lower()
    if letters in (b"na", b"n/a", b"null"):
        return UNKNOWN, 0.0
    if letters in (b"true", b"false"):
        return TRUTH, float(letters == b"true")
    return TEXT, 0.0


@dataclass
class Row:
    """One row: numbers and their codes, spans and theirs, and its place."""

    values: list[float]
    codes: list[int]
    spans: list[tuple[int, int]]
    span_codes: list[int]
    place: tuple[int, int, int]


@dataclass
class Wanted:
    """Where columns go: their places among the numbers and among the texts, -1 where they are not wanted as such."""

    numbers: list[int]
    texts: list[int]
    d: int
    t: int

    def row(self, begin: int, end: int, line: int) -> Row:
        """A row in which nothing is there yet."""
        return Row([0.0] * self.d, [ABSENT] * self.d, [(0, 0)] * self.t, [ABSENT] * self.t, (begin, end, line))

    def wants(self, column: int) -> bool:
        return self.numbers[column] >= 0 or self.texts[column] >= 0

    def put(self, row: Row, column: int, code: int, value: float, begin: int, end: int) -> None:
        if (place := self.numbers[column]) >= 0:
            row.values[place] = value if code in (NUMBER, TRUTH) else 0.0
            row.codes[place] = code
        if (place := self.texts[column]) >= 0:
            row.spans[place] = (begin, end)
            row.span_codes[place] = code

    def gather(self, rows: list[Row], end: int, lines: int, problem: Problem | None) -> CellRows:
        n = len(rows)
        return (
            np.array([r.values for r in rows], dtype=np.float64).reshape(n, self.d),
            np.array([r.codes for r in rows], dtype=np.uint8).reshape(n, self.d),
            np.array([r.spans for r in rows], dtype=np.int64).reshape(n, self.t, 2),
            np.array([r.span_codes for r in rows], dtype=np.uint8).reshape(n, self.t),
            np.array([r.place for r in rows], dtype=np.int64).reshape(n, 3),
            end,
            lines,
            problem,
        )
