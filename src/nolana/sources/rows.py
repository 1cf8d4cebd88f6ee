"""Rows of cells checked by a plan: what files, requests to the service and DataFrames of Spark have in common.

Whoever has cells asks `check_rows` for the labels and for the flaws of the rows, decides what happens to these (an
error, a refused request, a row that is left out), and lets the encoder turn the others into X.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import Place, Remedy, Setting, StreamError
from nolana.sources.cells import ABSENT, Cells

if TYPE_CHECKING:
    from nolana.sources.encoder import Encoder
    from nolana.sources.labels import Labels

__all__ = ["Flaw", "check_rows"]


@dataclass(frozen=True)
class Flaw:
    """Why a row is invalid: its first invalid cell.

    Parameters
    ----------
    feature : of the cell; None: it is the label.
    reason : in one word, for counts.
    problem, remedies, facts : what an error says, as for `nolana.errors.Diagnostic`.
    absent : whether nothing is there; each source has its own words for that.
    numeric : whether a number was expected and something else came.
    """

    feature: int | None
    reason: str
    problem: str = ""
    remedies: tuple[Remedy, ...] = ()
    facts: dict[str, Setting] = field(default_factory=dict)
    absent: bool = False
    numeric: bool = False

    def error(self, place: Place, value: str, absent: str = "the value is missing") -> StreamError:
        """The error about the cell; ``absent`` is the problem if nothing is there."""
        problem = absent if self.absent else self.problem
        return StreamError(problem, place=place, remedies=self.remedies, value=value, facts=self.facts)


def check_rows(
    cells: Cells, encoder: "Encoder", labels: "Labels | None"
) -> tuple[NDArray[Any] | None, dict[int, Flaw]]:
    """The labels (n,) of rows, None if they have none, and the flaws of the invalid ones by row.

    The strings of cells are those of the encoder, then the label.
    """
    flaws = encoder.invalid(cells)
    if labels is None:
        return None, flaws
    place = len(encoder.texts)
    for row in np.flatnonzero(cells.text_codes[:, place] == ABSENT).tolist():
        flaws.setdefault(row, Flaw(None, "label", absent=True))
    y, invalid = labels.read(cells, place)
    for row, flaw in invalid.items():
        flaws.setdefault(row, flaw)
    return y, flaws
