"""Which columns are features and which is the target, by name or by index."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nolana.errors import OptionError, Remedy, Setting, StreamError
from nolana.sources.options import Column, ColumnNumber, Target, column_title

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """The columns of a source: their number, and their names if they have names."""

    path: str
    names: list[str] | None
    width: int
    where: str  # what has these columns: "line 1"
    line: int | None = None
    hint: str = ""  # what to check if there are too few columns
    remedies: tuple[Remedy, ...] = ()  # for a missing column

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
            raise OptionError(
                "ignore",
                list(ignore or ()),
                "has the last column, which is the target by default and cannot be ignored",
                remedies=[Remedy("target", ..., "names another target")],
            )
        if label in ignored:
            what = "has the target, {target}, which cannot be ignored"
            raise OptionError("ignore", list(ignore or ()), what, facts={"target": Setting("target", target)})
        if features is None:
            chosen = [j for j in range(self.width) if j != label and j not in ignored]
        else:
            chosen = [self.index(which, "features") for which in features]
            if both := [which for which, j in zip(features, chosen, strict=True) if j in ignored]:
                raise OptionError("ignore", both, "is among the features too; leave it out of one of the two")
        if label in chosen:
            facts = {"target": Setting("target", -1 if target is None else target)}
            raise OptionError("features", list(features or ()), "has the target, {target}; leave it out", facts=facts)
        if len(set(chosen)) < len(chosen):
            raise OptionError("features", list(features or ()), "names a column twice")
        if not chosen:
            others = ", and ignore leaves out the others" if ignored else ""
            what = (
                f"no column is left for the features: {self.where} has {self.width}, and the target takes one{others}"
            )
            raise StreamError(what, path=self.path, hint=self.hint, remedies=self.remedies)
        return chosen, label

    def index(self, which: Column, parameter: str) -> int:
        """The index of a column, by name or index."""
        if isinstance(which, str):
            if self._counts[which] == 1:
                return self._indices[which]
            names = self.names or []
            if parameter == "target" and "," in which and all(part.strip() in names for part in which.split(",")):
                raise OptionError("target", which, "names several columns; learn a model for each of them")
            found = "no column is" if which not in names else "several columns are"
            what = f"{parameter}: {found} named {which!r}; the columns are: {', '.join(map(repr, names))}"
            hint = self.hint if self.width == 1 else ""
            raise StreamError(what, path=self.path, line=self.line, hint=hint, remedies=self.remedies)
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"{parameter}: a column is a name or an index, got {which!r}")
        number = which.number if isinstance(which, ColumnNumber) else int(which)
        if isinstance(which, ColumnNumber) and number == 0:
            raise OptionError(parameter, which, "is no column; columns are numbered from 1")
        if not -self.width <= which < self.width:
            what = f"{parameter}: there is no column {number}; {self.where} has {self.width}"
            raise StreamError(what, path=self.path)
        return int(which) % self.width

    def key(self, column: int) -> Column:
        """What identifies a column in another source: its name if that is unique, else its index."""
        if self.names is not None and self._counts[self.names[column]] == 1:
            return self.names[column]
        return column

    def title(self, column: int) -> str:
        """What a summary calls a column: its name if that is unique, else its number from 1."""
        return column_title(self.key(column))

    def describe(self, column: int) -> str:
        """A column in a message: its number from 1, and its name."""
        name = self.name(column)
        return f"column {column + 1}" + ("" if name is None else f' ("{name}")')

    def name(self, column: int) -> str | None:
        """The name in messages."""
        return self.names[column] if self.names is not None and 0 <= column < self.width else None
