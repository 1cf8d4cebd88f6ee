"""Cells as numbers: which of them are invalid, and the rows of a schema (`nolana.columns`).

X (n, d) has for each feature in its order the columns of the schema: a missing value is NaN, a category its key, a date
its circles. The same values of a frame give the same bits. Strings of files are hashed where they stand: none is made
but for the first categories of each column, by which a model is read (``nolana inspect``). `nolana.sources.numbers` has
the rows of plain numbers that the older options ask for.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import NDArray

from nolana.columns import EncodedRows, Schema
from nolana.columns.encode import encode_columns
from nolana.columns.schema import Kind
from nolana.columns.values import A_DATE, Numbers, Values
from nolana.errors import Remedy
from nolana.sources.bad_rows import NewCategory
from nolana.sources.cells import (
    ABSENT,
    NESTED,
    NUMBER,
    TIME,
    TRUTH,
    UNBOUNDED,
    UNKNOWN,
    Cells,
    Codes,
    Flaw,
    RowFlaws,
    is_missing,
)
from nolana.sources.labels import LATIN, SKIP
from nolana.sources.plan import PlannedColumn

__all__ = ["TIMES", "Encoder", "EncoderState", "MeansState", "SchemaEncoder"]

Array = NDArray[np.float64]
TIMES = ("time", "date")
NOUNS = {
    "number": "a number", "bool": "true or false", "text": "text", "words": "text", "time": A_DATE, "date": A_DATE,
}  # fmt: skip
MOST_NAMES, LONGEST_NAME = 64, 64  # categories of a column that are kept by name, and their bytes


class MeansState(TypedDict):
    """Sums, which are scaled, and counts of the columns."""

    sums: Array
    counts: NDArray[np.int64]


class EncoderState(TypedDict):
    """Running means, None if there are none, and what is stored of each column of categories."""

    means: MeansState | None
    categories: list[Any]  # pairs of key and name; one-hot: strings in the order of their slots; hashed: None


class Encoder(ABC):
    """Turns cells into X, row by row: later rows change nothing in earlier ones.

    ``numbers`` and ``texts`` are the features that are read as numbers and as texts, in the order of the features.
    ``width`` is the number of columns of X.

    Parameters
    ----------
    columns : the features of a plan.
    texts : those that are read as texts; all but the ignored others are read as numbers.
    tolerant : whether values may be missing.
    frozen : rows change neither means nor categories.
    """

    width: int
    if_missing: ClassVar[Remedy]

    def __init__(self, columns: tuple[PlannedColumn, ...], texts: list[int], *, tolerant: bool, frozen: bool) -> None:
        self._columns, self._tolerant, self._frozen = columns, tolerant, frozen
        self.texts = texts
        self.numbers = [f for f, c in enumerate(columns) if c.kind != "ignored" and f not in set(texts)]
        self._number_place = {f: place for place, f in enumerate(self.numbers)}
        self._text_place = {f: place for place, f in enumerate(texts)}
        kinds = [columns[f].kind for f in self.numbers]
        self._wanted = np.array([TRUTH if kind == "bool" else NUMBER for kind in kinds], dtype=np.uint8)

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """A name for each column of X."""

    # Invalid rows

    def invalid(self, cells: Cells) -> dict[int, Flaw]:
        """The invalid cells of each row that has some."""
        found, codes = RowFlaws(), cells.codes
        invalid = codes != self._wanted[: codes.shape[1]]  # cells without codes are numbers all of them
        if invalid.any():
            invalid &= ~self._accepted(codes)
        found.add_cells(invalid, lambda row, place: self._flaw(self.numbers[place], int(codes[row, place])))
        for place, f in enumerate(self.texts):
            for row, flaw in self._invalid_texts(cells, place, f).items():
                found.add(row, flaw)
        return found.by_row()

    def _accepted(self, codes: Codes) -> NDArray[np.bool_]:
        """Which cells of columns of numbers are valid although they are something else."""
        return is_missing(codes) if self._tolerant else np.zeros(codes.shape, dtype=bool)

    @abstractmethod
    def _refused(self, codes: Codes, typed: bool) -> NDArray[np.bool_]:
        """Which cells of a column of strings are no strings, in a source that distinguishes them or not."""

    def _invalid_texts(self, cells: Cells, place: int, f: int) -> dict[int, Flaw]:
        codes, readable = cells.text_codes[:, place], cells.readable
        if self._columns[f].kind in TIMES:
            invalid = (codes != TIME) & ~is_missing(codes)
            if invalid.any():
                invalid &= np.isnan(cells.seconds(place))
        else:
            invalid = self._refused(codes, cells.typed)
            if not readable:
                unreadable = np.array([text is None for text in cells.texts(place)], dtype=bool)
                invalid |= unreadable & ~is_missing(codes)
        if not self._tolerant:
            invalid |= is_missing(codes)
        rows = np.flatnonzero(invalid).tolist() if invalid.any() else []
        return {row: self._flaw(f, int(codes[row]), readable or cells.texts(place)[row] is not None) for row in rows}

    def _flaw(self, f: int, code: int, readable: bool = True) -> Flaw:
        """Why a cell of a feature is invalid."""
        column = self._columns[f]
        if not readable:
            return Flaw(f, "encoding", "{value} is not UTF-8", (LATIN,))
        if code == ABSENT:
            return Flaw(f, "missing", remedies=(self.if_missing,), absent=True)
        if code == NESTED:
            remedy = SKIP if self._frozen else Remedy("ignore", [column.column], "leaves it out")
            return Flaw(f, "nested", "{value} is an array or object, not a flat value", (remedy,))
        noun = NOUNS[column.kind]
        if code == UNKNOWN:
            what = f"{{value}} is not {'a finite number' if column.kind == 'number' else noun}"
            return Flaw(f, "missing", what, (self.if_missing,))
        if code == UNBOUNDED and column.kind == "number":
            return Flaw(f, "number", "{value} is not a finite number")
        return Flaw(f, column.kind, f"{{value}} is not {noun}", numeric=column.kind == "number")

    # Valid rows

    @abstractmethod
    def encode(self, cells: Cells) -> Array:
        """X (n, d) of valid rows, which change means and categories unless they are frozen."""

    def new_categories(self, cells: Cells) -> list[NewCategory]:
        """The strings of the rows just encoded that have no column of their own."""
        return []

    # State

    @abstractmethod
    def state(self) -> EncoderState:
        """Running means, and categories by feature."""

    def restore(self, state: EncoderState) -> None:
        """Continues from what ``state`` returned."""
        if len(state["categories"]) != sum(column.kind == "text" for column in self._columns):
            raise ValueError("the state of the encoder belongs to another plan")


class SchemaEncoder(Encoder):
    """The rows of a schema; ``schema`` is what the columns of the plan are in a model."""

    if_missing = Remedy("missing", "native", "learns that it is missing")

    def __init__(
        self, columns: tuple[PlannedColumn, ...], schema: Schema, *, tolerant: bool = True, frozen: bool = False
    ) -> None:
        of_text = ("text", "words", *TIMES)
        texts = [f for f, column in enumerate(columns) if column.kind in of_text and column.unit is None]
        super().__init__(columns, texts, tolerant=tolerant, frozen=frozen)
        self.schema, self.width = schema, schema.width
        self._in_place = schema.plain and len(self.numbers) == len(columns)  # numbers are the rows
        self.categories: dict[int, dict[float, str]] = {f: {} for f, c in enumerate(columns) if c.kind == "text"}

    @property
    def names(self) -> list[str]:
        return self.schema.encoded_names

    def _accepted(self, codes: Codes) -> NDArray[np.bool_]:
        return np.asarray(super()._accepted(codes) | (codes == NUMBER))  # 0 and 1 are true and false

    def _refused(self, codes: Codes, typed: bool) -> NDArray[np.bool_]:
        return np.asarray((codes == NESTED) | (codes == UNBOUNDED) if typed else codes == NESTED)

    def _flaw(self, f: int, code: int, readable: bool = True) -> Flaw:
        column = self._columns[f]
        flaw = super()._flaw(f, code, readable or column.kind in TIMES)
        if flaw.remedies or code in (NESTED, UNBOUNDED):
            return flaw
        as_category = Remedy("categorical_features", [column.column], "learns the column as categories")
        return replace(flaw, remedies=(SKIP if self._frozen else as_category,))

    def encode(self, cells: Cells) -> Array:
        values, absent = cells.values, is_missing(cells.codes)
        if absent.any():
            values = np.where(absent, np.nan, values)
        if self._in_place:
            return EncodedRows.of(values, self.schema)
        columns = (self._values(f, cells, values) for f in range(len(self._columns)))
        rows = encode_columns(self.schema, len(cells.lines), columns)
        if not self._frozen and not self.schema.sparse:
            keys = rows.view(np.ndarray)
            for f in self.categories:
                self._note(f, keys[:, self.schema.places[f].start], cells)
        return rows

    def _values(self, f: int, cells: Cells, values: Array) -> Values | None:
        """A column as it is in a table; None: it is ignored."""
        if f in self._text_place:
            return _Texts(cells, self._text_place[f])
        return Numbers(values[:, self._number_place[f]]) if f in self._number_place else None

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

    def state(self) -> EncoderState:
        named = [[[key, name] for key, name in names.items()] for names in self.categories.values()]
        return {"means": None, "categories": named}

    def restore(self, state: EncoderState) -> None:
        super().restore(state)
        for f, stored in zip(self.categories, state["categories"], strict=True):
            self.categories[f] = {float(key): str(name) for key, name in stored}


@dataclass(frozen=True)
class _Texts(Values):
    """A column of cells that are read as texts; a time that is a number is its seconds."""

    cells: Cells
    place: int
    kind: ClassVar[Kind] = "category"

    def numbers(self) -> Array:
        return self.cells.seconds(self.place)

    def keys(self) -> Array:
        return self.cells.keys(self.place)

    def seconds(self) -> Array:
        return self.cells.seconds(self.place)

    def texts(self) -> list[str | None]:
        missing = is_missing(self.cells.text_codes[:, self.place]).tolist()
        return [None if gone else text for text, gone in zip(self.cells.texts(self.place), missing, strict=True)]
