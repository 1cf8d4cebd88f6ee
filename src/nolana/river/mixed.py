"""Dicts of mixed values as numbers and keys, by the kinds of `nolana.columns`, for features that come and go.

number, boolean   its value
date              sine and cosine of its parts, a feature each: "time[hour sin]"
category          its key, in a column of its own; the indicator "name=value" if it has none
text              the count of each word: "name word"

The first rows decide which features are categories and dates. A later feature is what its value is; if that is a
string, it is learned as indicators, for the row has no more columns of keys.
"""

import math
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from nolana.columns import Column, ColumnProblem, EncodedRows, Schema, Table, encode_column, infer_schema, keys
from nolana.columns.infer import ChosenCategories, ChosenColumns, check_chosen
from nolana.columns.keys import is_missing
from nolana.columns.tokens import words
from nolana.columns.values import MisfitError, Values, refuse, values_of
from nolana.errors import ColumnsError
from nolana.learner.rows import Matrix
from nolana.river.slots import Features, sort_key

NUMBERS = {float, int, bool}
SIMPLE = {*NUMBERS, type(None)}
NUMBER = Column("")


@dataclass(frozen=True)
class MixedFeatures:
    """What the features of the first rows are.

    Parameters
    ----------
    categorical_features, text_features : as those of the estimators, by name.
    columns : by name.
    keyed : the categories that have a column of keys, in the order of these.
    """

    categorical_features: ChosenCategories
    text_features: ChosenColumns
    columns: Mapping[Hashable, Column]
    keyed: tuple[Hashable, ...]

    @classmethod
    def infer(
        cls, rows: Sequence[Features], categorical_features: ChosenCategories, text_features: ChosenColumns
    ) -> "MixedFeatures":
        """Of these rows; `ColumnsError` with all features that have no place in a row."""
        for option, chosen in (("categorical_features", categorical_features), ("text_features", text_features)):
            check_chosen(option, chosen)
        names = sorted({name for x in rows for name, value in x.items() if not is_missing(value)}, key=sort_key)
        empty = cls(categorical_features, text_features, {}, ())
        columns = empty._infer(names, rows)
        keyed = tuple(name for name in names if columns[name].kind == "category")
        return replace(empty, columns=columns, keyed=keyed)

    def _infer(self, names: Sequence[Hashable], rows: Sequence[Features]) -> dict[Hashable, Column]:
        categories = self.categorical_features
        if not isinstance(categories, str) and categories is not None:
            categories = _places(names, categories)
        texts = None if self.text_features is None else _places(names, self.text_features)
        try:
            found = infer_schema(_Rows(names, rows), categories, texts).columns if names else ()
        except ColumnsError as error:  # its rows are those stored so far, which the caller does not know
            refuse([replace(problem, row=None) for problem in error.problems], error.remedies)
        return {name: replace(column, name=str(name)) for name, column in zip(names, found, strict=True)}

    def without_keys(self) -> "MixedFeatures":
        """The same, with indicators of all categories."""
        return replace(self, keyed=())

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {name: place for place, name in enumerate(self.keyed)}

    @cached_property
    def _numeric(self) -> set[Hashable]:
        return {name for name, column in self.columns.items() if column.kind in ("number", "boolean")}

    @cached_property
    def _named(self) -> set[Hashable]:
        """Features that are categories or text whatever their values are."""
        chosen = self.categorical_features, self.text_features
        return {name for each in chosen if each is not None and not isinstance(each, str) for name in each}

    @cached_property
    def simple(self) -> bool:
        """Whether a dict of numbers is as it will be learned."""
        return not self._named and len(self._numeric) == len(self.columns)

    @cached_property
    def has_text(self) -> bool:
        """Whether words are learned."""
        return any(column.kind == "text" for column in self.columns.values())

    def fits(self, x: Features, owned: Container[Hashable]) -> bool:
        """Whether the features of a dict are what these columns say, or new numbers."""
        new = [name for name, value in x.items() if name not in self.columns and not is_missing(value)]
        try:
            kinds = {self._column(name, x[name], owned).kind for name in new}
            self.read(x, owned)
        except (ValueError, TypeError):
            return False
        return kinds <= {"number", "boolean"}

    def read(self, x: Features, owned: Container[Hashable]) -> tuple[Features, list[float]]:
        """The numbers of a dict, by name, and the keys of its categories, NaN for a missing one.

        owned : names of numbers without a column here. `ColumnsError` with all values that do not fit.
        """
        if self.simple and SIMPLE.issuperset(map(type, x.values())):
            return x, []
        numbers: dict[Hashable, float] = {}
        found, strings, problems = [math.nan] * len(self.keyed), dict[int, str](), list[ColumnProblem]()
        for name, value in x.items():
            kind, place = type(value), self._place.get(name)
            if kind is str and place is not None:  # most values are one of these two
                strings[place] = value
            elif kind is float and math.isfinite(value) and name in self._numeric:
                numbers[name] = value
            elif not is_missing(value):
                try:
                    column = self._column(name, value, owned)
                    if place is not None:
                        found[place] = float(encode_column(column, values_of([value]))[0, 0])
                        continue
                    for each, number in _numbers(name, column, value):
                        numbers[each] = numbers.get(each, 0.0) + number
                except MisfitError as error:
                    shown = name if isinstance(name, str | int) else repr(name)
                    problems.append(ColumnProblem(shown, None, error.value, error.expected))
        if problems:
            refuse(problems)
        if strings:
            for place, key in zip(strings, keys(list(strings.values())).tolist(), strict=True):
                found[place] = key
        return numbers, found

    def _column(self, name: Hashable, value: object, owned: Container[Hashable]) -> Column:
        known = self.columns.get(name)
        if known is not None:
            return known
        if name in owned or (type(value) in NUMBERS and name not in self._named):
            return NUMBER
        return self._infer([name], [{name: value}])[name]

    def rows(self, numbers: Matrix, found: Sequence[Sequence[float]]) -> Matrix:  # (n, d), (n, k) -> (n, d + k)
        """Slots and keys as rows for an estimator."""
        if not self.keyed or not isinstance(numbers, np.ndarray):
            return numbers
        width = numbers.shape[1]
        rows = np.empty((len(numbers), width + len(self.keyed)))
        rows[:, :width], rows[:, width:] = numbers, found
        return EncodedRows.of(rows, _schema(width, len(self.keyed)))


@lru_cache  # the same object for each row: nothing of it is computed twice
def _schema(width: int, keyed: int) -> Schema:
    """So many numbers, then so many categories."""
    return Schema((*map(Column, range(width)), *(Column(width + place, "category") for place in range(keyed))))


class _Rows(Table):
    """Dicts as a table of some of their features."""

    def __init__(self, names: Sequence[Hashable], rows: Sequence[Features]) -> None:
        strings = names if all(isinstance(name, str) for name in names) else None
        super().__init__(len(rows), strings, len(names))
        self._names, self._rows = names, rows

    def column(self, i: int) -> Values:
        name = self._names[i]
        return values_of([x.get(name) for x in self._rows])


def _places(names: Sequence[Hashable], chosen: Iterable[Hashable]) -> list[int]:
    wanted = set(chosen)
    return [place for place, name in enumerate(names) if name in wanted]


def _numbers(name: Hashable, column: Column, value: object) -> Iterator[tuple[Hashable, float]]:
    """What a value is learned as, if it has no key."""
    if column.kind in ("number", "boolean"):
        if type(value) is float and math.isfinite(value):
            yield name, value
            return
        number = float(encode_column(column, values_of([value]))[0, 0])
        if number == number:
            yield name, number
    elif column.kind == "date":
        yield from zip(column.encoded_names, encode_column(column, values_of([value]))[0].tolist(), strict=True)
    else:
        [text] = values_of([value]).texts()
        if column.kind == "category":
            yield f"{name}={text}", 1.0
        else:
            yield from ((f"{name} {word}", float(count)) for word, count in Counter(words(text or "")).items())
