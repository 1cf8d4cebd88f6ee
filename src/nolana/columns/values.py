"""One column of a table as it came, in whatever library: as numbers, keys, times and texts; and what does not fit."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from nolana.columns import times
from nolana.columns.keys import canonical, is_missing, keys, number_keys
from nolana.columns.schema import Kind
from nolana.errors import MOST_PROBLEMS, ColumnsError, Remedy, shown

__all__ = [
    "Booleans", "Coded", "ColumnProblem", "Dates", "MisfitError", "Numbers", "Strings", "Unreadable", "Values",
    "refuse", "values_of",
]  # fmt: skip

Array = NDArray[np.float64]
A_NUMBER = "a number"
A_BOOLEAN = "true or false"
A_DATE = "a date or time such as 2024-01-31 or 2024-01-31T12:30:00Z"
HUGE = "an integer beyond 1e308"
BOOLEANS = {"true": 1.0, "false": 0.0}
A_VALUE = "a string, a number, true or false, a date, or nothing"


class MisfitError(Exception):
    """A value that is not what a column should have: the first one, its row, and what was expected."""

    def __init__(self, row: int | None, value: object, expected: str) -> None:
        super().__init__(row, value, expected)
        self.row, self.value, self.expected = row, value, expected


@dataclass(frozen=True)
class ColumnProblem:
    """The first value of a column that does not fit: its row from 0 (None: the whole column), and what was expected."""

    column: str | int
    row: int | None
    value: object
    expected: str

    def __str__(self) -> str:
        place = f"column {self.column!r}" + ("" if self.row is None else f", row {self.row}")
        found = f"{shown(self.value)} ({type(self.value).__name__})"
        return f"{place}: {found}, but the argument must be {self.expected}"


def refuse(problems: Sequence[ColumnProblem], remedies: Iterable[Remedy] = ()) -> NoReturn:
    """`ColumnsError` with all of them."""
    lines = [str(problem) for problem in problems[:MOST_PROBLEMS]]
    more = len(problems) - len(lines)
    if more:
        lines.append(f"and {more} more columns")
    raise ColumnsError(
        "X has values that cannot be learned; nothing of this call was learned:\n- {list}",
        facts={"list": "\n- ".join(lines)},
        remedies=remedies,
        hint="make strings or numbers of such values" if any(each.expected == A_VALUE for each in problems) else "",
        problems=tuple(problems),
    )


class Values(ABC):
    """n values; each method raises MisfitError if one of them does not fit."""

    kind: ClassVar[Kind]  # what the column is if nothing else is declared

    @abstractmethod
    def numbers(self) -> Array:
        """(n,), NaN for a missing value."""

    def booleans(self) -> Array:
        """(n,) of 1 and 0, NaN for a missing value; a number stays what it is."""
        return self.numbers()

    @abstractmethod
    def keys(self) -> Array:
        """Keys of categories, NaN for a missing value."""

    @abstractmethod
    def seconds(self) -> Array:
        """Since the epoch, NaN for a missing value."""

    @abstractmethod
    def texts(self) -> list[str | None]:
        """As strings."""


@dataclass(frozen=True)
class Numbers(Values):
    """Integers or floats; missing values are NaN. exact: what keys are made of, if floats are rounded."""

    data: NDArray[np.generic]
    exact: Sequence[object] | None = None
    kind: ClassVar[Kind] = "number"

    def numbers(self) -> Array:
        return self.data.astype(np.float64, copy=False)

    def keys(self) -> Array:
        infinite = np.flatnonzero(np.isinf(self.numbers()))
        if len(infinite):
            raise MisfitError(int(infinite[0]), self.data[infinite[0]], "a finite number")
        return number_keys(self.data) if self.exact is None else keys(self.exact)

    def seconds(self) -> Array:
        numbers = self.numbers()
        present = np.flatnonzero(~np.isnan(numbers))
        if len(present):
            raise MisfitError(int(present[0]), self.data[present[0]].item(), A_DATE)
        return numbers

    def texts(self) -> list[str | None]:
        return [_text(value) for value in (self.data.tolist() if self.exact is None else self.exact)]


class Booleans(Numbers):
    """1, 0, and NaN for a missing value."""

    kind: ClassVar[Kind] = "boolean"

    def keys(self) -> Array:
        return keys(self.texts())

    def texts(self) -> list[str | None]:
        return [None if value != value else "true" if value else "false" for value in self.data.tolist()]


@dataclass(frozen=True)
class Strings(Values):
    """Strings, or strings among other values; None for a missing one."""

    data: list[Any]
    kind: ClassVar[Kind] = "category"

    def numbers(self) -> Array:
        """Strings that are numbers count as such, as in NumPy."""
        return self._parsed(float, A_NUMBER)

    def booleans(self) -> Array:
        """Strings that say true or false count as such, in any letters."""
        return self._parsed(_boolean, A_BOOLEAN)

    def _parsed(self, number: Callable[[Any], float], expected: str) -> Array:
        out = np.full(len(self.data), np.nan)
        for row, value in enumerate(self.data):
            if value is None:
                continue
            try:
                out[row] = number(value)
            except (TypeError, ValueError, OverflowError):
                raise MisfitError(row, value, expected) from None
        return out

    def keys(self) -> Array:
        return keys(self.data)

    def seconds(self) -> Array:
        texts = [value if isinstance(value, str) else None for value in self.data]
        found = times.column(texts)
        bad = [row for row in np.flatnonzero(np.isnan(found)).tolist() if self.data[row] is not None]
        if bad:
            raise MisfitError(bad[0], self.data[bad[0]], A_DATE)
        return found

    def texts(self) -> list[str | None]:
        return [_text(value) for value in self.data]


@dataclass(frozen=True)
class Coded(Values):
    """Codes into distinct values, -1 for a missing one: categories of pandas, dictionaries of Arrow."""

    codes: NDArray[np.int64]
    distinct: Values
    kind: ClassVar[Kind] = "category"

    def _spread(self, values: Array) -> Array:
        return np.append(values, np.nan)[self.codes]  # -1 is the last one

    def _each(self, method: str) -> Array:
        try:
            return self._spread(getattr(self.distinct, method)())
        except MisfitError as error:
            rows = np.flatnonzero(self.codes == error.row)
            if not len(rows):  # a category without rows
                used = np.unique(self.codes[self.codes >= 0])
                mine = values_of([self.distinct.texts()[code] for code in used.tolist()])
                return Coded(np.searchsorted(used, self.codes) * (self.codes >= 0) - (self.codes < 0), mine)._each(
                    method
                )
            raise MisfitError(int(rows[0]), error.value, error.expected) from None

    def numbers(self) -> Array:
        return self._each("numbers")

    def booleans(self) -> Array:
        return self._each("booleans")

    def keys(self) -> Array:
        return self._each("keys")

    def seconds(self) -> Array:
        return self._each("seconds")

    def texts(self) -> list[str | None]:
        texts = [*self.distinct.texts(), None]
        return [texts[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class Dates(Values):
    """Times in microseconds since the epoch, `times.NOT_A_TIME` for a missing one."""

    data: NDArray[np.int64]
    kind: ClassVar[Kind] = "date"

    def numbers(self) -> Array:
        present = np.flatnonzero(self.data != times.NOT_A_TIME)
        if len(present):
            raise MisfitError(int(present[0]), self.texts()[present[0]], A_NUMBER)
        return np.full(len(self.data), np.nan)

    def keys(self) -> Array:
        return number_keys(self.seconds())

    def seconds(self) -> Array:
        return times.microseconds_as_seconds(self.data)

    def texts(self) -> list[str | None]:
        return [_text(value) for value in self.seconds().tolist()]


@dataclass(frozen=True)
class Unreadable(Values):
    """A column of a type that has no place in a row: lists, objects, complex numbers."""

    row: int | None
    value: object
    kind: ClassVar[Kind] = "category"

    def numbers(self) -> Array:
        raise MisfitError(self.row, self.value, A_VALUE)

    def keys(self) -> Array:
        return self.numbers()

    def seconds(self) -> Array:
        return self.numbers()

    def texts(self) -> list[str | None]:
        raise MisfitError(self.row, self.value, A_VALUE)


def values_of(values: Sequence[Any]) -> Values:
    """A column of objects of Python by their types: numbers, booleans or dates if all are, otherwise strings.

    A column without any value is of strings.
    """
    listed = [None if is_missing(value) else value for value in values]
    kinds = {type(value) for value in listed} - {type(None)}
    if not kinds or all(issubclass(kind, str | bytes) for kind in kinds):
        return Strings(listed)
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return Booleans(np.array([np.nan if v is None else float(v) for v in listed]))
    if all(issubclass(kind, date | np.datetime64) for kind in kinds):
        return Dates(
            np.array([times.NOT_A_TIME if v is None else times.microseconds(v) for v in listed], dtype=np.int64)
        )
    if all(issubclass(kind, int | float | np.number | np.bool_ | Decimal | Fraction) for kind in kinds):
        return _numbers(listed, kinds)
    for row, value in enumerate(listed):  # a number here is refused if it would be in a column of numbers
        try:
            canonical(value)
            refused = isinstance(value, Real) and math.isinf(value)
        except OverflowError:
            return Unreadable(row, HUGE)
        except TypeError:
            refused = True
        if refused:
            return Unreadable(row, value)
    return Strings(listed)


def _numbers(listed: list[Any], kinds: set[type]) -> Values:
    complex_kinds = [kind for kind in kinds if issubclass(kind, np.complexfloating)]
    if complex_kinds:
        return Unreadable(None, complex_kinds[0].__name__)
    try:
        data = np.array([np.nan if value is None else float(value) for value in listed])
    except OverflowError:
        row = next(row for row, value in enumerate(listed) if value is not None and abs(value) > 1e308)
        return Unreadable(row, HUGE)
    return Numbers(data, exact=listed if any(not issubclass(kind, float | np.floating) for kind in kinds) else None)


def _text(value: object) -> str | None:
    found = canonical(value)
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


def _boolean(value: Any) -> float:
    """1 for a string that says true, 0 for false; the number that anything else is."""
    found = BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else None
    return float(value) if found is None else found
