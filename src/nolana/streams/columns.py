"""Which columns are features and which is the target, by name or by index."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nolana.streams.sources import fail

__all__ = ["Column", "Columns", "Target"]

Column = str | int
Target = Column | Literal[False] | None


@dataclass(frozen=True)
class Columns:
    """The columns of a source: their number, and their names where they have names."""

    path: str
    names: list[str] | None
    width: int
    where: str  # what has these columns: "line 1"
    line: int | None = None
    hint: str = ""  # what to look at where no column is left

    @functools.cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self.names or ())

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names or ())}

    def choose(
        self, target: Target, features: Sequence[Column] | None, ignore: Sequence[Column] | None
    ) -> tuple[list[int], int]:
        """The columns of the features, in their order, and that of the target, -1 where there is none."""
        goal = -1 if target is False else self.index(-1 if target is None else target, "target")
        left_out = {self.index(which, "ignore") for which in ignore or ()}
        if goal in left_out:
            raise ValueError(f"column {target!r} is the target and cannot be ignored")
        if features is None:
            chosen = [j for j in range(self.width) if j != goal and j not in left_out]
        else:
            chosen = [self.index(which, "features") for which in features]
            if both := [which for which, j in zip(features, chosen, strict=True) if j in left_out]:
                raise ValueError(f"column {both[0]!r} is among the features and in ignore")
        if goal in chosen:
            raise ValueError(f"column {target!r} is the target and cannot be among the features")
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"features names a column twice: {list(features or ())!r}")
        if not chosen:
            ignored = ", and ignore leaves out the others" if left_out else ""
            fail(
                self.path,
                f"no column is left for the features: {self.where} has {self.width}, and the target takes one"
                f"{ignored}{self.hint}",
            )
        return chosen, goal

    def index(self, which: Column, parameter: str) -> int:
        """The column that a name or an index means."""
        if isinstance(which, str):
            if self._counts[which] == 1:
                return self._places[which]
            names = self.names or []
            what = f"{parameter}: " + ("no column is" if which not in names else "several columns are")
            fail(self.path, f"{what} named {which!r}; there are: {', '.join(map(repr, names))}", line=self.line)
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"{parameter}: a column is a name or an index, got {which!r}")
        if not -self.width <= which < self.width:
            fail(self.path, f"{parameter}: there is no column {which}; {self.where} has {self.width}")
        return int(which) % self.width

    def key(self, column: int) -> Column:
        """By what a column is known again: its name where that is unique, else its index."""
        if self.names is not None and self._counts[self.names[column]] == 1:
            return self.names[column]
        return column

    def name(self, column: int) -> str | None:
        """The name as it stands in messages."""
        return f'"{self.names[column]}"' if self.names is not None and 0 <= column < self.width else None
