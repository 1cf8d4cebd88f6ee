"""Cells as the rows of a schema (`nolana.columns`): a missing value is NaN, a category its key, a date its circles.

The same values of a frame give the same bits. Strings of files are hashed where they stand: none is made but for the
first categories of each column, by which a model is read (``nolana inspect``). n rows, d encoded columns.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns import EncodedRows, Schema, encode_table
from nolana.columns.infer import UNITS
from nolana.columns.tables import Table
from nolana.columns.times import circles
from nolana.columns.values import Numbers, Strings, Values
from nolana.errors import Remedy
from nolana.sources.cells import NESTED, NUMBER, TRUTH, UNBOUNDED, Cells, Flaw, RowFlaws
from nolana.sources.encoder import TIMES, flaw_of, invalid_times, is_missing
from nolana.sources.options import column_title
from nolana.sources.plan import PlannedColumn

__all__ = ["SchemaEncoder"]

Array = NDArray[np.float64]
MOST_NAMES, LONGEST_NAME = 64, 64  # categories of a column that are kept by name, and their bytes
ALLOW = Remedy("missing", "native", "learns that it is missing")


class SchemaEncoder:
    """Turns cells into X, row by row: later rows change nothing in earlier ones.

    Parameters
    ----------
    columns, schema : what is read, and the same as a model has it.
    tolerant : whether values may be missing.
    frozen : rows add no names of categories.
    """

    def __init__(
        self, columns: tuple[PlannedColumn, ...], schema: Schema, *, tolerant: bool = True, frozen: bool = False
    ) -> None:
        self._columns, self.schema, self._tolerant, self._frozen = columns, schema, tolerant, frozen
        of_text = {f for f, c in enumerate(columns) if c.kind in ("text", "words", *TIMES) and c.unit is None}
        self.texts = sorted(of_text)
        self.numbers = [f for f, c in enumerate(columns) if c.kind != "ignored" and f not in of_text]
        self._text_place = {f: place for place, f in enumerate(self.texts)}
        self._number_place = {f: place for place, f in enumerate(self.numbers)}
        self._boolean = np.array([columns[f].kind == "bool" for f in self.numbers], dtype=bool)  # 0 and 1 are too
        self._in_place = schema.plain and len(self.numbers) == len(columns)  # numbers are the rows
        self.categories: dict[int, dict[float, str]] = {f: {} for f, c in enumerate(columns) if c.kind == "text"}
        self.without_slot: dict[int, list[int]] = {}  # none: every category has a key
        self.width, self.names = schema.width, schema.encoded_names

    def title(self, f: int) -> str:
        """What a summary calls a feature: its name, or its number from 1."""
        return column_title(self._columns[f].column)

    def largest(self, f: int) -> int | None:
        """Strings of a feature that get a column of their own: they need none."""
        return None

    # Invalid rows

    def invalid(self, cells: Cells) -> dict[int, Flaw]:
        """The invalid cells of each row that has some."""
        found, codes = RowFlaws(), cells.codes
        invalid = (codes != NUMBER) & ~((codes == TRUTH) & self._boolean[: codes.shape[1]])
        if self._tolerant and invalid.any():
            invalid &= ~is_missing(codes)
        found.add_cells(invalid, lambda row, place: self._flaw(self.numbers[place], int(codes[row, place])))
        for place, f in enumerate(self.texts):
            for row, flaw in self._invalid_texts(cells, place, f).items():
                found.add(row, flaw)
        return found.by_row()

    def _invalid_texts(self, cells: Cells, place: int, f: int) -> dict[int, Flaw]:
        codes, readable = cells.text_codes[:, place], True
        if self._columns[f].kind in TIMES:
            invalid = invalid_times(cells, place)
        else:
            invalid = (codes == NESTED) | ((codes == UNBOUNDED) & cells.typed)
            readable = cells.readable
            if not readable:
                unreadable = np.array([text is None for text in cells.texts(place)], dtype=bool)
                invalid = invalid | (unreadable & ~is_missing(codes))
        if not self._tolerant:
            invalid = invalid | is_missing(codes)
        return {
            row: self._flaw(f, int(codes[row]), readable=readable or cells.texts(place)[row] is not None)
            for row in np.flatnonzero(invalid).tolist()
        }

    def _flaw(self, f: int, code: int, readable: bool = True) -> Flaw:
        column = self._columns[f]
        category = Remedy("categorical_features", [column.column], "learns the column as categories")
        return flaw_of(f, column, code, readable, ALLOW, () if code in (NESTED, UNBOUNDED) else (category,))

    # Valid rows

    def encode(self, cells: Cells) -> Any:
        """X (n, d) of valid rows."""
        values = cells.values
        absent = is_missing(cells.codes)
        if absent.any():
            values = np.where(absent, np.nan, values)
        if self._in_place:
            return EncodedRows.of(values, self.schema)
        if self.schema.sparse:
            return encode_table(self.schema, _Columns(self, cells, values))
        rows = np.empty((len(cells.lines), self.width))
        for f, (column, place) in enumerate(zip(self._columns, self.schema.places, strict=True)):
            if f in self._number_place:
                numbers = values[:, self._number_place[f]]
                if column.unit is not None:
                    rows[:, place] = circles(numbers / UNITS[column.unit], column.parts)
                else:
                    rows[:, place.start] = numbers
            elif column.kind == "text":
                keys = rows[:, place.start] = cells.keys(self._text_place[f])
                if not self._frozen:
                    self._note(f, keys, cells)
            elif column.kind in TIMES:
                seconds = cells.seconds(self._text_place[f])
                rows[:, place] = circles(seconds, column.parts) if column.kind == "date" else seconds[:, None]
        return EncodedRows.of(rows, self.schema)

    def values_of(self, f: int, cells: Cells, values: Array) -> Values:
        """A column as it is in a table."""
        if f in self._number_place:
            return Numbers(values[:, self._number_place[f]])
        place = self._text_place[f]
        missing = is_missing(cells.text_codes[:, place]).tolist()
        return Strings([None if gone else text for text, gone in zip(cells.texts(place), missing, strict=True)])

    def _note(self, f: int, keys: Array, cells: Cells) -> None:
        """Keep the names of new categories while there are few of them."""
        known = self.categories[f]
        if len(known) >= MOST_NAMES:
            return
        new = np.flatnonzero(~np.isin(keys, np.fromiter(known, np.float64, len(known))) & (keys == keys))
        if not len(new):
            return
        _, first = np.unique(keys[new], return_index=True)
        for row in new[np.sort(first)][: MOST_NAMES - len(known)].tolist():
            text = cells.text(self._text_place[f], row) or ""
            known[float(keys[row])] = text.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore")

    # State

    def state(self) -> dict[str, Any]:
        """The names of categories, by feature."""
        named = [[[key, name] for key, name in names.items()] for names in self.categories.values()]
        return {"means": None, "categories": named}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from what ``state`` returned."""
        if len(state["categories"]) != len(self.categories):
            raise ValueError("the state of the encoder belongs to another plan")
        for f, stored in zip(self.categories, state["categories"], strict=True):
            self.categories[f] = {float(key): str(name) for key, name in stored}


class _Columns(Table):
    """Cells as a table, for rows with text."""

    def __init__(self, encoder: SchemaEncoder, cells: Cells, values: Array) -> None:
        names = [column.name for column in encoder.schema.columns]
        super().__init__(len(cells.lines), names, len(names))
        self._encoder, self._cells, self._values = encoder, cells, values

    def column(self, i: int) -> Values:
        return self._encoder.values_of(i, self._cells, self._values)
