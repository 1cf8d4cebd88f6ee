"""Which columns are features and which is the target, by name or by index."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nolana.sources.options import Column, ColumnNumber, Target, column_title
from nolana.sources.sources import fail

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """The columns of a source: their number, and their names where they have names."""

    path: str
    names: list[str] | None
    width: int
    where: str  # what has these columns: "line 1"
    line: int | None = None
    hint: str = ""  # what to check where no column is left
    name_hint: str = ""  # what to check where no column has a name

    @functools.cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self.names or ())

    @functools.cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names or ())}

    def choose(
        self, target: Target, features: Sequence[Column] | None, ignore: Sequence[Column] | None
    ) -> tuple[list[int], int | None]:
        """The indices of the features, in their order, and of the target."""
        label = None if target is False else self.index(-1 if target is None else target, "target")
        ignored = {self.index(which, "ignore") for which in ignore or ()}
        if label in ignored and label is not None and target is None:
            last = self.title(label)
            raise ValueError(f"{last!r} is the last column and so the target, and cannot be ignored; set target=")
        if label in ignored:
            raise ValueError(f"column {_shown(target)} is the target and cannot be ignored")
        if features is None:
            chosen = [j for j in range(self.width) if j != label and j not in ignored]
        else:
            chosen = [self.index(which, "features") for which in features]
            if both := [which for which, j in zip(features, chosen, strict=True) if j in ignored]:
                raise ValueError(f"column {_shown(both[0])} is among the features and in ignore")
        if label in chosen:
            raise ValueError(f"column {_shown(target)} is the target and cannot be among the features")
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"features names a column twice: {list(features or ())!r}")
        if not chosen:
            others = ", and ignore leaves out the others" if ignored else ""
            fail(
                self.path,
                f"no column is left for the features: {self.where} has {self.width}, and the target takes one"
                f"{others}{self.hint}",
            )
        return chosen, label

    def index(self, which: Column, parameter: str) -> int:
        """The index of a column, by name or index."""
        if isinstance(which, str):
            if self._counts[which] == 1:
                return self._indices[which]
            names = self.names or []
            if parameter == "target" and "," in which and all(part.strip() in names for part in which.split(",")):
                raise ValueError(
                    f"target={which!r} names several columns; a model has one: learn a model for each of them"
                )
            what = f"{parameter}: " + ("no column is" if which not in names else "several columns are")
            has = f"the columns are: {', '.join(map(repr, names))}{self.name_hint}"
            fail(self.path, f"{what} named {which!r}; {has}", line=self.line)
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"{parameter}: a column is a name or an index, got {which!r}")
        number = which.number if isinstance(which, ColumnNumber) else int(which)
        if isinstance(which, ColumnNumber) and number == 0:
            raise ValueError(f"{parameter}: there is no column 0; columns are numbered from 1")
        if not -self.width <= which < self.width:
            fail(self.path, f"{parameter}: there is no column {number}; {self.where} has {self.width}")
        return int(which) % self.width

    def key(self, column: int) -> Column:
        """What identifies a column in another source: its name where that is unique, else its index."""
        if self.names is not None and self._counts[self.names[column]] == 1:
            return self.names[column]
        return column

    def title(self, column: int) -> str:
        """What a summary calls a column: its name where that is unique, else its number from 1."""
        return column_title(self.key(column))

    def describe(self, column: int) -> str:
        """A column in a message: its number from 1, and its name."""
        name = self.name(column)
        return f"column {column + 1}" + (f" ({name})" if name else "")

    def name(self, column: int) -> str | None:
        """The name, quoted for messages."""
        return f'"{self.names[column]}"' if self.names is not None and 0 <= column < self.width else None


def _shown(which: Target) -> str:
    """A column as the caller has named it."""
    return str(which.number) if isinstance(which, ColumnNumber) else repr(which)
