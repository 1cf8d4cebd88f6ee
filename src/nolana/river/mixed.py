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
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nolana.columns import Column, ColumnProblem, EncodedRows, Schema, Table, encode_column, infer_schema
from nolana.columns.infer import check_chosen
from nolana.columns.keys import is_missing
from nolana.columns.problems import refuse
from nolana.columns.tokens import words
from nolana.columns.values import MisfitError, Values, values_of
from nolana.river.slots import Array, Features, sort_key

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

    categorical_features: Any
    text_features: Any
    columns: Mapping[Hashable, Column]
    keyed: tuple[Hashable, ...]

    @classmethod
    def infer(cls, rows: Sequence[Features], categorical_features: Any, text_features: Any) -> "MixedFeatures":
        """Of these rows; `ColumnsError` with all features that have no place in a row."""
        for option, chosen in (("categorical_features", categorical_features), ("text_features", text_features)):
            check_chosen(option, chosen)
        names = sorted({name for x in rows for name, value in x.items() if not is_missing(value)}, key=sort_key)
        empty = cls(categorical_features, text_features, {}, ())
        columns = empty._infer(names, rows)
        keyed = tuple(name for name in names if columns[name].kind == "category")
        return replace(empty, columns=columns, keyed=keyed)

    def _infer(self, names: Sequence[Hashable], rows: Sequence[Features]) -> dict[Hashable, Column]:
        categories: Any = self.categorical_features
        if not isinstance(categories, str) and categories is not None:
            categories = _places(names, categories)
        texts = None if self.text_features is None else _places(names, self.text_features)
        found = infer_schema(_Rows(names, rows), categories, texts).columns if names else ()
        return {name: replace(column, name=str(name)) for name, column in zip(names, found, strict=True)}

    def without_keys(self) -> "MixedFeatures":
        """The same, with indicators of all categories."""
        return replace(self, keyed=())

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {name: place for place, name in enumerate(self.keyed)}

    @cached_property
    def _named(self) -> set[Hashable]:
        """Features that are categories or text whatever their values are."""
        chosen = self.categorical_features, self.text_features
        return {name for each in chosen if each is not None and not isinstance(each, str) for name in each}

    @cached_property
    def simple(self) -> bool:
        """Whether a dict of numbers is as it will be learned."""
        return not self._named and all(column.kind in ("number", "boolean") for column in self.columns.values())

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
        keys = [math.nan] * len(self.keyed)
        problems = []
        for name, value in x.items():
            if is_missing(value):
                continue
            try:
                column = self._column(name, value, owned)
                if name in self._place:
                    keys[self._place[name]] = float(encode_column(column, values_of([value]))[0, 0])
                    continue
                for each, number in _numbers(name, column, value):
                    numbers[each] = numbers.get(each, 0.0) + number
            except MisfitError as error:
                problems.append(ColumnProblem(_shown(name), None, error.value, error.expected))
        if problems:
            refuse(problems)
        return numbers, keys

    def _column(self, name: Hashable, value: Any, owned: Container[Hashable]) -> Column:
        known = self.columns.get(name)
        if known is not None:
            return known
        if name in owned or (type(value) in NUMBERS and name not in self._named):
            return NUMBER
        return self._infer([name], [{name: value}])[name]

    def rows(self, numbers: Array, keys: Sequence[Sequence[float]]) -> Array:  # (n, d), (n, k) -> (n, d + k)
        """Slots and keys as rows for an estimator."""
        if not self.keyed:
            return numbers
        return EncodedRows.of(np.hstack([numbers, np.array(keys)]), self._schema(numbers.shape[1]))

    def _schema(self, width: int) -> Schema:
        keys = range(width, width + len(self.keyed))
        return Schema((*map(Column, range(width)), *(Column(place, "category") for place in keys)))


class _Rows(Table):
    """Dicts as a table of some of their features."""

    def __init__(self, names: Sequence[Hashable], rows: Sequence[Features]) -> None:
        strings = names if all(isinstance(name, str) for name in names) else None
        super().__init__(len(rows), strings, len(names))
        self._names, self._rows = names, rows

    def column(self, i: int) -> Values:
        name = self._names[i]
        return values_of([x.get(name) for x in self._rows])


def _places(names: Sequence[Hashable], chosen: Any) -> list[int]:
    wanted = set(chosen)
    return [place for place, name in enumerate(names) if name in wanted]


def _numbers(name: Hashable, column: Column, value: Any) -> Iterator[tuple[Hashable, float]]:
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


def _shown(name: Hashable) -> str | int:
    return name if isinstance(name, str | int) else repr(name)
