"""Columns as numbers: invalid and missing values, categories; n rows, f features of the plan.

X (n, d) has for each feature in its order one column, the parts of its date, or the slots of its category. With
``missing="indicator"`` one column for each feature follows that is 1 where its value was missing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns import times
from nolana.columns.times import parts
from nolana.errors import Remedy
from nolana.sources.categories import Category, Hashed, OneHot
from nolana.sources.cells import ABSENT, NESTED, NUMBER, TIME, TRUTH, UNBOUNDED, UNKNOWN, Cells, Codes, Flaw, RowFlaws
from nolana.sources.labels import LATIN
from nolana.sources.options import Encoding, column_title
from nolana.sources.plan import PlannedColumn

__all__ = ["TIMES", "Encoder", "flaw_of", "invalid_times", "is_missing"]

ACCEPTED: dict[str, int] = {"number": NUMBER, "bool": TRUTH}
TIMES = ("time", "date")
A_TIME = "a date or time such as 2024-01-31 or 2024-01-31T12:30:00Z"
NOUNS = {
    "number": "a number", "bool": "true or false", "text": "text", "words": "text", "time": A_TIME, "date": A_TIME,
}  # fmt: skip
SCALE = 2.0**-40  # an exact factor under which no sum of 2^40 doubles overflows
LARGEST = np.finfo(np.float64).max
FILL = Remedy("missing", "mean", "fills it in")


class Encoder:
    """Turns cells into X, row by row: later rows change nothing in earlier ones.

    Numbers, true and false are read as numbers; times and categories as texts, in the order of the features.
    """

    def __init__(
        self, columns: tuple[PlannedColumn, ...], options: Encoding, *, frozen: bool, means: bool = True
    ) -> None:
        self._columns, self._options = columns, options
        kinds = [column.kind for column in columns]
        self.numbers = [f for f, kind in enumerate(kinds) if kind in ACCEPTED]
        self.texts = [f for f, kind in enumerate(kinds) if kind not in ACCEPTED]
        self._text_place = {f: place for place, f in enumerate(self.texts)}
        self._wanted = np.array([ACCEPTED[kinds[f]] for f in self.numbers], dtype=np.uint8)
        # Numbers that are not of a category: the feature of each; a date has several.
        self._real = [f for f, c in enumerate(columns) if c.kind != "text" for _ in range(c.width)]
        self._times = [f for f, kind in enumerate(kinds) if kind in TIMES]
        self._categories: dict[int, Category] = {
            f: Hashed(options.hash_slots) if options.categories == "hash" else OneHot(column.largest(options), frozen)
            for f, column in enumerate(columns)
            if column.kind == "text"
        }
        self._tolerant = options.missing != "error"
        # Also where missing values are errors: a resumed run may fill them.
        means = means and options.missing != "native"
        self._means = RunningMeans(len(self._real), frozen=frozen) if means else None
        widths = [self._categories[f].width if f in self._categories else c.width for f, c in enumerate(columns)]
        self._begins = np.concatenate([[0], np.cumsum(widths)]).tolist()
        self._plain = not self.texts
        self.without_slot: dict[int, list[int]] = {}  # rows of the last `encode` without a column for their text
        self._frozen = frozen
        self.width = int(self._begins[-1]) + (len(columns) if options.missing == "indicator" else 0)

    @property
    def names(self) -> list[str]:
        """A name for each column of X."""
        names: list[str] = []
        for f, column in enumerate(self._columns):
            slots = self._categories[f].names if f in self._categories else column.parts or ("",)
            names += [f"{column.column}[{slot}]" if slot else str(column.column) for slot in slots]
        if self._options.missing == "indicator":
            names += [f"{column.column}[missing]" for column in self._columns]
        return names

    def title(self, f: int) -> str:
        """What a summary calls a feature: its name, or its number from 1."""
        return column_title(self._columns[f].column)

    def largest(self, f: int) -> int | None:
        """Strings of a feature that get a column of their own; None: frozen, no new one does."""
        return None if self._frozen else self._columns[f].largest(self._options)

    # Invalid rows

    def invalid(self, cells: Cells) -> dict[int, Flaw]:
        """The invalid cells of each row that has some."""
        found, codes = RowFlaws(), cells.codes
        # Cells without codes are numbers all of them.
        invalid = codes != (self._wanted if codes.shape[1] else self._wanted[:0])
        if self._tolerant and invalid.any():
            invalid &= (codes != ABSENT) & (codes != UNKNOWN)
        found.add_cells(invalid, lambda row, place: self._flaw(self.numbers[place], int(codes[row, place])))
        for place, f in enumerate(self.texts):
            for row, flaw in self._invalid_texts(cells, place, f).items():
                found.add(row, flaw)
        return found.by_row()

    def _flaw(self, f: int, code: int, readable: bool = True) -> Flaw:
        return flaw_of(f, self._columns[f], code, readable)

    def _invalid_texts(self, cells: Cells, place: int, f: int) -> dict[int, Flaw]:
        codes, texts = cells.text_codes[:, place], cells.texts(place)
        missing = is_missing(codes)
        if self._columns[f].kind in TIMES:
            invalid = invalid_times(cells, place)
        else:
            invalid = (codes == NESTED) | (codes == TIME)
            if None in texts:
                invalid |= np.array([text is None for text in texts]) & ~missing
        if not self._tolerant:
            invalid |= missing
        return {
            row: self._flaw(f, int(codes[row]), readable=texts[row] is not None)
            for row in np.flatnonzero(invalid).tolist()
        }

    # Valid rows

    def encode(self, cells: Cells) -> NDArray[np.float64]:
        """X (n, d) of valid rows; means and categories are updated."""
        n = len(cells.lines)
        self.without_slot = {}
        complete = not self._tolerant or (self._options.missing == "native" and not is_missing(cells.codes).any())
        if self._plain and complete:
            if self._means is not None:
                self._means.add(cells.values)
            return cells.values
        real = np.empty((n, len(self._real)))
        absent = np.zeros((n, len(self._columns)), dtype=bool)
        absent[:, self.numbers] = is_missing(cells.codes)
        absent[:, self.texts] = is_missing(cells.text_codes[:, : len(self.texts)])
        begins = {f: i for i, f in reversed(list(enumerate(self._real)))}
        real[:, [begins[f] for f in self.numbers]] = cells.values
        for f in self._times:
            column, times = self._columns[f], self._seconds(cells, self._text_place[f])
            values = parts(times, column.parts) if column.kind == "date" else times[:, None]
            real[:, begins[f] : begins[f] + column.width] = values
        if self._options.missing == "native":
            real[absent[:, self._real]] = np.nan
        elif self._means is not None:
            self._means.fill(real, absent[:, self._real])
        if self._plain and self._options.missing != "indicator":
            return real
        out = np.zeros((n, self.width))
        out[:, [self._begins[f] + i - begins[f] for i, f in enumerate(self._real)]] = real
        for f, category in self._categories.items():
            texts = [
                None if missing else text
                for text, missing in zip(cells.texts(self._text_place[f]), absent[:, f].tolist(), strict=True)
            ]
            rows = category.encode(texts, out[:, self._begins[f] : self._begins[f + 1]])
            if rows:
                self.without_slot[f] = rows
        if self._options.missing == "indicator":
            out[:, self._begins[-1] :] = absent
        return out

    def _seconds(self, cells: Cells, place: int) -> NDArray[np.float64]:
        codes = cells.text_codes[:, place]
        if (codes == TIME).any():
            return cells.floats(place)[0]
        return np.nan_to_num(times.column(cells.texts(place)), nan=0.0)

    # State

    def state(self) -> dict[str, Any]:
        """Running means, and categories by feature."""
        return {
            "means": None if self._means is None else self._means.state(),
            "categories": [category.state() for category in self._categories.values()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from what ``state`` returned."""
        if len(state["categories"]) != len(self._categories):
            raise ValueError("the state of the encoder belongs to another plan")
        if self._means is not None and state["means"] is not None:  # None: of nolana 0.1, without missing values
            self._means.restore(state["means"])
        for category, stored in zip(self._categories.values(), state["categories"], strict=True):
            category.restore(stored)


class RunningMeans:
    """Means of c columns over the rows before: the value for row i is the mean of the rows before i, 0 at first.

    Sums are added one row after the other, so that the size of blocks changes no bit.
    """

    def __init__(self, c: int, *, frozen: bool) -> None:
        self._sums, self._counts, self._frozen = np.zeros(c), np.zeros(c, dtype=np.int64), frozen

    def fill(self, x: NDArray[np.float64], missing: NDArray[np.bool_]) -> None:
        """Writes the means into x (n, c) where it is missing (n, c), and adds the other values to them."""
        if self._frozen:
            x[missing] = np.broadcast_to(_means(self._sums, self._counts), x.shape)[missing]
            return
        seen = np.where(missing, 0.0, x) * SCALE
        sums = np.add.accumulate(np.vstack([self._sums, seen]), axis=0)
        counts = np.add.accumulate(np.vstack([self._counts, ~missing]), axis=0, dtype=np.int64)
        if missing.any():
            x[missing] = _means(sums[:-1][missing], counts[:-1][missing])
        self._sums, self._counts = sums[-1].copy(), counts[-1].copy()

    def add(self, x: NDArray[np.float64]) -> None:
        """Adds the values of x (n, c), none of which is missing."""
        if not self._frozen and len(x):
            self._sums = np.add.accumulate(np.vstack([self._sums, x * SCALE]), axis=0)[-1].copy()
            self._counts = self._counts + len(x)

    def state(self) -> dict[str, Any]:
        """Sums (scaled) and counts."""
        return {"sums": self._sums.copy(), "counts": self._counts.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from what ``state`` returned."""
        sums = np.array(state["sums"], dtype=np.float64)
        counts = np.array(state["counts"], dtype=np.int64)
        if sums.shape != self._sums.shape or counts.shape != sums.shape:
            raise ValueError(f"the state has means of {sums.shape} columns, the plan {self._sums.shape}")
        self._sums, self._counts = sums, counts


def _means(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(sums / np.maximum(counts, 1) / SCALE, -LARGEST, LARGEST))


def is_missing(codes: Codes) -> NDArray[np.bool_]:
    """Whether nothing is there, or what says so."""
    return np.asarray((codes == ABSENT) | (codes == UNKNOWN))


def invalid_times(cells: Cells, place: int) -> NDArray[np.bool_]:
    """Which cells of a column of dates are neither dates nor missing."""
    codes = cells.text_codes[:, place]
    invalid = (codes != TIME) & ~is_missing(codes)
    return np.asarray(invalid & np.isnan(times.column(cells.texts(place))) if invalid.any() else invalid)


def flaw_of(
    f: int,
    column: PlannedColumn,
    code: int,
    readable: bool = True,
    if_missing: Remedy = FILL,
    if_other: tuple[Remedy, ...] = (),
) -> Flaw:
    """Why a cell of a feature is invalid, and what to do if it is missing or of another kind."""
    if not readable:
        return Flaw(f, "encoding", "{value} is not UTF-8", (LATIN,))
    if code == ABSENT:
        return Flaw(f, "missing", remedies=(if_missing,), absent=True)
    if code == NESTED:
        remedy = Remedy("ignore", [column.column], "leaves it out")
        return Flaw(f, "nested", "{value} is an array or object, not a flat value", (remedy,))
    noun = NOUNS[column.kind]
    if code == UNKNOWN:
        what = f"{{value}} is not {'a finite number' if column.kind == 'number' else noun}"
        return Flaw(f, "missing", what, (if_missing,))
    if code == UNBOUNDED and column.kind == "number":
        return Flaw(f, "number", "{value} is not a finite number")
    return Flaw(f, column.kind, f"{{value}} is not {noun}", if_other, numeric=column.kind == "number")
