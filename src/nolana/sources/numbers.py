"""Rows of plain numbers, by the older options: categories hashed or one-hot, missing values replaced.

X (n, d) has for each feature in its order one column, the parts of its date, or the slots of its category. With
``missing="indicator"`` one column for each feature follows that is 1 where its value was missing.

Hashing: K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask
learning, ICML 2009. A text goes to slot h mod s with the sign of another bit of h.

One-hot: the slots of a column follow from its first block (`nolana.sources.infer`); later strings share one more.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from nolana.columns.times import parts
from nolana.errors import Remedy
from nolana.sources.bad_rows import NewCategory
from nolana.sources.cells import NESTED, TIME, Cells, Codes, is_missing
from nolana.sources.encoder import Encoder, EncoderState, MeansState
from nolana.sources.options import Encoding, column_title
from nolana.sources.plan import PlannedColumn

__all__ = ["NumberEncoder"]

Array = NDArray[np.float64]
SCALE = 2.0**-40  # an exact factor under which no sum of 2^40 doubles overflows
LARGEST = np.finfo(np.float64).max
MIXER = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads checksums that differ little
CACHED = 4096  # texts whose slot is cached; a bound on memory, not on what can be encoded


class NumberEncoder(Encoder):
    """Rows of numbers; means: whether missing values are replaced, unless ``missing="native"`` makes them NaN."""

    if_missing = Remedy("missing", "mean", "fills it in")

    def __init__(
        self, columns: tuple[PlannedColumn, ...], options: Encoding, *, frozen: bool, means: bool = True
    ) -> None:
        texts = [f for f, column in enumerate(columns) if column.kind not in ("number", "bool")]
        super().__init__(columns, texts, tolerant=options.missing != "error", frozen=frozen)
        self._options = options
        self._categories: dict[int, Hashed | OneHot] = {
            f: Hashed(options.hash_slots) if options.categories == "hash" else OneHot(column.largest(options), frozen)
            for f, column in enumerate(columns)
            if column.kind == "text"
        }
        widths = [self._categories[f].width if f in self._categories else c.width for f, c in enumerate(columns)]
        self._begins = [0, *np.cumsum(widths).tolist()]
        # Columns of X that are not of a category, and the feature of each; a date has several.
        real = [
            (self._begins[f] + i, f) for f in range(len(columns)) if f not in self._categories for i in range(widths[f])
        ]
        self._real, self._feature = _places([place for place, _ in real]), [f for _, f in real]
        self._plain = _places([self._begins[f] for f in self.numbers])
        # Also where missing values are errors: a resumed run may fill them.
        means = means and options.missing != "native"
        self._means = RunningMeans(len(real), frozen=frozen) if means else None
        self._without_slot: dict[int, list[int]] = {}  # rows of the last `encode` without a column for their text
        self.width = int(self._begins[-1]) + (len(columns) if options.missing == "indicator" else 0)

    @property
    def names(self) -> list[str]:
        names: list[str] = []
        for f, column in enumerate(self._columns):
            slots = self._categories[f].names if f in self._categories else column.parts or ("",)
            names += [f"{column.column}[{slot}]" if slot else str(column.column) for slot in slots]
        if self._options.missing == "indicator":
            names += [f"{column.column}[missing]" for column in self._columns]
        return names

    def _refused(self, codes: Codes, typed: bool) -> NDArray[np.bool_]:
        return np.asarray((codes == NESTED) | (codes == TIME))

    def encode(self, cells: Cells) -> Array:
        n = len(cells.lines)
        self._without_slot = {}
        complete = not self._tolerant or (self._options.missing == "native" and not is_missing(cells.codes).any())
        if not self.texts and complete:
            if self._means is not None:
                self._means.add(cells.values)
            return cells.values
        out, absent = np.zeros((n, self.width)), np.zeros((n, len(self._columns)), dtype=bool)
        absent[:, self.numbers] = is_missing(cells.codes)
        absent[:, self.texts] = is_missing(cells.text_codes[:, : len(self.texts)])
        out[:, self._plain] = cells.values
        for f, place in self._text_place.items():
            column, own = self._columns[f], out[:, self._begins[f] : self._begins[f + 1]]
            if column.kind == "text":
                missing = absent[:, f].tolist()
                texts = [None if gone else text for text, gone in zip(cells.texts(place), missing, strict=True)]
                if rows := self._categories[f].encode(texts, own):
                    self._without_slot[f] = rows
            else:
                times = _seconds(cells, place)
                own[:] = parts(times, column.parts) if column.kind == "date" else times[:, None]
        real = out[:, self._real]
        if self._options.missing == "native":
            real[absent[:, self._feature]] = np.nan
        elif self._means is not None:
            self._means.fill(real, absent[:, self._feature])
        out[:, self._real] = real
        if self._options.missing == "indicator":
            out[:, self._begins[-1] :] = absent
        return out

    def new_categories(self, cells: Cells) -> list[NewCategory]:
        new = []
        for f, rows in self._without_slot.items():
            column, line = self._columns[f], int(cells.lines[rows[0]])
            first = str(cells.texts(self._text_place[f])[rows[0]])
            largest = None if self._frozen else column.largest(self._options)
            new.append(NewCategory(column_title(column.column), len(rows), line, first, largest))
        return new

    def state(self) -> EncoderState:
        return {
            "means": None if self._means is None else self._means.state(),
            "categories": [category.state() for category in self._categories.values()],
        }

    def restore(self, state: EncoderState) -> None:
        super().restore(state)
        if self._means is not None and state["means"] is not None:  # None: of nolana 0.1, without missing values
            self._means.restore(state["means"])
        for category, stored in zip(self._categories.values(), state["categories"], strict=True):
            category.restore(stored)


def _places(columns: list[int]) -> slice | list[int]:
    """The first columns as a slice, which NumPy need not copy."""
    return slice(len(columns)) if columns == list(range(len(columns))) else columns


def _seconds(cells: Cells, place: int) -> Array:
    if (cells.text_codes[:, place] == TIME).any():
        return cells.floats(place)[0]
    return np.nan_to_num(cells.seconds(place), nan=0.0)


class RunningMeans:
    """Means of c columns over the rows before: the value for row i is the mean of the rows before i, 0 at first.

    Sums are added one row after the other, so that the size of blocks changes no bit.
    """

    def __init__(self, c: int, *, frozen: bool) -> None:
        self._sums, self._counts, self._frozen = np.zeros(c), np.zeros(c, dtype=np.int64), frozen

    def fill(self, x: Array, missing: NDArray[np.bool_]) -> None:
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

    def add(self, x: Array) -> None:
        """Adds the values of x (n, c), none of which is missing."""
        if not self._frozen and len(x):
            self._sums = np.add.accumulate(np.vstack([self._sums, x * SCALE]), axis=0)[-1].copy()
            self._counts = self._counts + len(x)

    def state(self) -> MeansState:
        return {"sums": self._sums.copy(), "counts": self._counts.copy()}

    def restore(self, state: MeansState) -> None:
        sums = np.array(state["sums"], dtype=np.float64)
        counts = np.array(state["counts"], dtype=np.int64)
        if sums.shape != self._sums.shape or counts.shape != sums.shape:
            raise ValueError(f"the state has means of {sums.shape} columns, the plan {self._sums.shape}")
        self._sums, self._counts = sums, counts


def _means(sums: Array, counts: NDArray[np.int64]) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(sums / np.maximum(counts, 1) / SCALE, -LARGEST, LARGEST))


class Hashed:
    """A text is +1 or -1 in one of ``slots`` places, by its checksum; there is no state."""

    def __init__(self, slots: int) -> None:
        self.width = slots
        self.names = [str(i) for i in range(slots)]
        self._cache: dict[str, tuple[int, float]] = {}

    def encode(self, texts: list[str | None], out: Array) -> list[int]:
        """Writes each text into its row of out (n, width), None leaves zeros; returns the rows without a slot: none."""
        for row, text in enumerate(texts):
            if text is not None:
                slot, sign = self._cache.get(text) or self._slot(text)
                out[row, slot] = sign
        return []

    def _slot(self, text: str) -> tuple[int, float]:
        mixed = zlib.crc32(text.encode()) * MIXER % 2**64
        slot = (mixed >> 32) % self.width, 1.0 if mixed >> 31 & 1 else -1.0
        if len(self._cache) < CACHED:
            self._cache[text] = slot
        return slot

    def state(self) -> None:
        """None: slots follow from the texts."""

    def restore(self, state: list[str]) -> None:
        """Does nothing: there is no state."""


class OneHot:
    """A text is 1 in its own slot, assigned in order of appearance; later texts share the last slot."""

    def __init__(self, largest: int, frozen: bool) -> None:
        self.width = largest + 1
        self.names = [*(str(i) for i in range(largest)), "other"]
        self._frozen = frozen
        self._slots: dict[str, int] = {}

    def encode(self, texts: list[str | None], out: Array) -> list[int]:
        """The same; the rows whose text shares the last slot are returned."""
        without: list[int] = []
        slots, other = self._slots, self.width - 1
        for row, text in enumerate(texts):
            if text is None:
                continue
            slot = slots.get(text, other)
            if slot == other and len(slots) < other and not self._frozen:
                slots[text] = slot = len(slots)
            if slot == other:
                without.append(row)
            out[row, slot] = 1.0
        return without

    def state(self) -> list[str]:
        """The texts in the order of their slots."""
        return list(self._slots)

    def restore(self, state: list[str]) -> None:
        self._slots = {str(text): slot for slot, text in enumerate(state)}
