"""Dicts of features as rows of a fixed number of slots.

A feature owns a slot from its first row on; the slots behind them are free and hold 0, a constant, which costs nothing.
When no slot is free, further features share the last eighth of the slots: slot and sign follow from a hash of the name,
and a shared slot holds the sum of its features (Weinberger et al., "Feature Hashing for Large Scale Multitask
Learning", 2009). So the table of names is as long as the row, whatever comes.

The value of a feature is that of its dict, minus (almost) its first value if the slot was free before: no slot jumps. A
feature that is absent (not in the dict, None or NaN)

- is 0 if, in the 64 rows since it appeared, it was absent in most rows or always had the same value: such a feature is
  a count or an indicator;
- otherwise is missing, and has the centre of the scaling, so that its scaled value is 0.
"""

import math
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolana.learner.rows import Matrix

Array = NDArray[np.float64]
Features = Mapping[Hashable, Any]  # name -> value, whatever a dict has

YOUTH = 64  # rows that decide whether absence means 0
FEWEST_SPARE = 4
NOT_USED = -1
TRACE = 1e-6
COLUMNS = 1 << 20  # of hashed features


def width_for(features: int) -> int:
    """Slots for so many features: a quarter more, and at least four."""
    return features + max(FEWEST_SPARE, features // 4)


def hash_of(name: Hashable) -> int:
    """The same in every process, which Python's own hash is not."""
    return zlib.crc32((name if type(name) is str else f"{type(name).__name__} {name!r}").encode(errors="replace"))


def sort_key(name: Hashable) -> tuple[str, str]:
    """An order of names of any type: the order in a dict must have no effect."""
    return type(name).__name__, repr(name)


def almost(first: float) -> float:
    """The first value of a feature but for a trace of it, by which the scaling sees that its slot changed."""
    return first - TRACE * (abs(first) or 1.0)


def number_of(name: Hashable, value: Any) -> float | None:
    """The value of a feature; None if it is missing."""
    if type(value) is float and math.isfinite(value):
        return value
    if value is None:
        return None
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"the feature {name!r} is {value!r} ({type(value).__name__}); expected a number, None or NaN. Encode it "
            "first, for example with river.preprocessing.OneHotEncoder"
        ) from None
    if math.isinf(number):
        raise ValueError(f"the feature {name!r} is {value!r}; expected a finite number, None or NaN")
    return None if math.isnan(number) else number


class Seen(NamedTuple):
    """What a row of a dict changes in the slots, once it was learned."""

    values: dict[int, float]  # by slot, of the features that are present
    names: list[Hashable]  # new ones, in the order of the slots that they take
    first: list[tuple[int, float]]  # slots that were free before, with their first values


class FeatureSlots:
    """`width` slots (d); a row is read by `read`, and counts when `learned` is called."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.shared = max(1, width // 8) if width > 1 else 0
        self.rows = 0
        self.names: list[Hashable] = []  # by slot
        self._slot: dict[Hashable, int] = {}
        self._first: Array = np.zeros(width)
        self._born = np.full(width, NOT_USED, dtype=np.int64)  # the row that used the slot first
        self._present = np.zeros(width, dtype=np.int64)  # how many of its first 64 rows had it
        self._value: Array = np.zeros(width)  # in the row that used the slot first
        self._varies = np.zeros(width, dtype=bool)  # whether another value came in its first 64 rows
        self._settled = 0  # from this row on the youth of every slot is over
        self._shift: Array | None = None  # the first values, if one is not 0
        self._complete = True  # whether no shared slot is in use, so that a row with all names is complete

    @property
    def free(self) -> int:
        """Slots that new features can own."""
        return self.width - self.shared - len(self.names)

    @property
    def bytes(self) -> int:
        """Of the arrays, and about 100 for each name."""
        return 33 * self.width + 100 * len(self.names)

    def __contains__(self, name: object) -> bool:
        """Whether a feature owns a slot."""
        return name in self._slot

    def new_names(self, x: Features) -> list[Hashable]:
        """Names without a slot whose value is not missing, sorted."""
        new = [name for name, value in x.items() if name not in self._slot and number_of(name, value) is not None]
        return sorted(new, key=sort_key)

    # One row

    def read(self, x: Features, centre: Callable[[], Array]) -> tuple[Array, Seen | None]:
        """The row (1, d) of a dict, and what it changes; None: nothing but the number of rows."""
        if self._complete and len(x) == len(self.names) and self.rows >= self._settled:
            try:
                values = [x[name] for name in self.names]
                if math.isfinite(sum(values)):  # neither NaN nor infinite
                    row = np.zeros((1, self.width))
                    row[0, : len(values)] = values
                    return (row if self._shift is None else row - self._shift), None
            except (KeyError, TypeError, ValueError, OverflowError):
                pass
        return self._read_any(x, centre)

    def _read_any(self, x: Features, centre: Callable[[], Array]) -> tuple[Array, Seen]:
        row = self._absent(centre) if self.names else np.zeros(self.width)
        values: dict[int, float] = {}
        new = []
        for name, value in x.items():
            slot, number = self._slot.get(name), number_of(name, value)
            if number is None:
                continue
            if slot is None:
                new.append((name, number))
            else:
                row[slot] = values[slot] = number - self._first[slot]
        seen = Seen(values, [], [])
        if new:
            self._place(row, sorted(new, key=lambda item: sort_key(item[0])), seen)
        return row[None], seen

    def _absent(self, centre: Callable[[], Array]) -> Array:  # (d,)
        """A row without any feature."""
        used = self._born >= 0
        zero = ~self._varies | (2 * self._present < np.minimum(self.rows - self._born, YOUTH))
        return np.where(used, np.where(zero, -self._first, centre()), 0.0)

    def _place(self, row: Array, new: list[tuple[Hashable, float]], seen: Seen) -> None:
        """Features without a slot: they take free ones, and share when there is none."""
        owned = new[: self.free]
        for i, (name, number) in enumerate(owned):
            slot = len(self.names) + i
            if self.rows:  # rows before had 0 here; those of the first row have their slots from the beginning
                seen.first.append((slot, almost(number)))
            row[slot] = number - (almost(number) if self.rows else 0.0)
            seen.names.append(name)
            seen.values[slot] = float(row[slot])
        sums: dict[int, float] = {}
        for name, number in new[len(owned) :]:
            code = hash_of(name)
            slot = self.width - 1 - (code >> 1) % max(1, self.shared)
            sums[slot] = sums.get(slot, 0.0) + (number if code & 1 else -number)
        for slot, total in sums.items():
            if self._born[slot] == NOT_USED:
                seen.first.append((slot, almost(total)))
            row[slot] = total - (almost(total) if self._born[slot] == NOT_USED else self._first[slot])
            seen.values[slot] = float(row[slot])

    def learned(self, seen: Seen | None) -> None:
        """The row of the last `read` was learned."""
        if seen is not None:
            self._count(seen)
        self.rows += 1

    def _count(self, seen: Seen) -> None:
        for name in seen.names:
            self._slot[name] = len(self.names)
            self.names.append(name)
        for slot, number in seen.first:
            self._first[slot] = number
        if seen.first:
            self._shift = self._first
        for slot, value in seen.values.items():
            if self._born[slot] == NOT_USED:
                self._born[slot], self._value[slot] = self.rows, value
                self._settled = self.rows + YOUTH
                self._complete = self._complete and slot < self.width - self.shared
            if self.rows - self._born[slot] < YOUTH:
                self._present[slot] += 1
                self._varies[slot] |= value != self._value[slot]

    # Many rows

    def read_all(self, names: list[Hashable], values: Array) -> Array | None:  # (n, k) -> (n, d)
        """Rows that change nothing but the number of rows; None if there may be others."""
        complete = self._complete and self.rows >= self._settled and len(names) == len(self.names)
        if not complete or not all(name in self._slot for name in names) or np.isnan(values).any():
            return None
        rows = np.zeros((len(values), self.width))
        rows[:, [self._slot[name] for name in names]] = values
        return rows if self._shift is None else rows - self._shift


class HashedFeatures:
    """The part of `FeatureSlots` for very many features: each name has a column by its hash, and no name is stored.

    An absent feature is 0. The estimators give the most frequent columns a slot of their own
    (`nolana.engine.FeatureTable`). Nothing changes from row to row.
    """

    width = COLUMNS
    bytes = 0

    def __contains__(self, name: object) -> bool:
        return False

    def read(self, x: Features, centre: Callable[[], Array]) -> tuple[Matrix, None]:
        """The row (1, d) of a dict, as a CSR matrix."""
        return self.rows_of([x]), None

    def learned(self, seen: Seen | None) -> None:
        """A row was learned."""

    def rows_of(self, dicts: Sequence[Features]) -> Matrix:
        """The rows (n, d) of dicts, as a CSR matrix."""
        from scipy.sparse import csr_matrix

        starts: list[int] = [0]
        columns: list[int] = []
        values: list[float] = []
        for x in dicts:
            sums: dict[int, float] = {}
            for name, value in x.items():
                number = number_of(name, value)
                if number:
                    column = hash_of(name) % COLUMNS
                    sums[column] = sums.get(column, 0.0) + number
            order = sorted(sums)
            columns.extend(order)
            values.extend([sums[column] for column in order])
            starts.append(len(columns))
        parts = np.array(values), np.array(columns, dtype=np.int32), np.array(starts, dtype=np.int32)
        rows: Matrix = csr_matrix(parts, shape=(len(dicts), COLUMNS))
        return rows
