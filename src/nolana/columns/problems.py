"""All values of a table that have no place in a row, in one error."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from nolana.errors import MOST_PROBLEMS, ColumnsError, Remedy, shown

__all__ = ["ColumnProblem", "refuse"]


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
        problems=tuple(problems),
    )
