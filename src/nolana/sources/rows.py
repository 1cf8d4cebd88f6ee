"""Rows by a plan: cells become X and y. Files, requests to the service and DataFrames of Spark are read here.

Whoever has cells asks `check_rows` for the labels and for the flaws of the rows, decides what happens to these (an
error, a refused request, a row that is left out), and lets the encoder turn the others into X. `PlannedRows` is that
with what rows change: means, categories, counts of new columns.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.sources.cells import ABSENT, Cells, Flaw
from nolana.sources.encoder import Encoder
from nolana.sources.labels import Labels
from nolana.sources.new_columns import NewCategory, NewColumn, NewColumnCounts
from nolana.sources.plan import Plan
from nolana.sources.typed import SchemaEncoder

__all__ = ["AnyEncoder", "PlannedRows", "check_rows", "encoder_of"]

AnyEncoder = Encoder | SchemaEncoder


def check_rows(cells: Cells, encoder: AnyEncoder, labels: Labels | None) -> tuple[NDArray[Any] | None, dict[int, Flaw]]:
    """The labels (n,) of rows, None if they have none, and the flaws of the invalid ones by row.

    The strings of cells are those of the encoder, then the label.
    """
    flaws = encoder.invalid(cells)
    if labels is None:
        return None, flaws
    place = len(encoder.texts)
    y, of_labels = labels.read(cells, place)
    absent = np.flatnonzero(cells.text_codes[:, place] == ABSENT).tolist()
    of_labels |= dict.fromkeys(absent, Flaw(None, "label", absent=True))
    for row, flaw in of_labels.items():
        flaws[row] = flaws[row].beside(flaw) if row in flaws else flaw
    return y, flaws


def encoder_of(plan: Plan, *, frozen: bool) -> AnyEncoder:
    """The encoder of a plan; one that is frozen does not change by the rows that it encodes."""
    if plan.schema is not None:
        tolerant = plan.options.missing != "error"
        return SchemaEncoder(plan.features, plan.schema, tolerant=tolerant, frozen=frozen)
    return Encoder(plan.features, plan.options, frozen=frozen, means=plan.columns is not None)


class PlannedRows:
    """Reads rows by a plan; ``encoder``, ``labels`` and ``counts`` are what the rows so far have made of them.

    Parameters
    ----------
    plan : which columns are read, and how.
    labels : None: the rows have none.
    counts : of columns and categories that the first block did not have.
    frozen : rows do not change means and categories, as predictions need it.
    """

    def __init__(self, plan: Plan, labels: Labels | None, counts: NewColumnCounts, *, frozen: bool = False) -> None:
        self._plan, self.labels, self.counts = plan, labels, counts
        self.encoder = encoder_of(plan, frozen=frozen)

    @property
    def plan(self) -> Plan:
        """The plan, with the type of the labels as it is known now."""
        return self._plan if self.labels is None else self._plan.with_labels(self.labels.kind)

    def check(self, cells: Cells) -> tuple[NDArray[Any] | None, dict[int, Flaw]]:
        """The labels (n,) of rows, and the flaws of the invalid ones."""
        return check_rows(cells, self.encoder, self.labels)

    def encode(self, cells: Cells) -> tuple[NDArray[np.float64], list[NewCategory]]:
        """X (n, d) of valid rows, and the strings without a column of their own, which are not yet counted."""
        encoder = self.encoder
        x = encoder.encode(cells)
        new = []
        for f, rows in encoder.without_slot.items():
            first = cells.texts(encoder.texts.index(f))[rows[0]]
            column = NewColumn(encoder.title(f), len(rows), int(cells.lines[rows[0]]))
            new.append(NewCategory(column, str(first), encoder.largest(f)))
        return x, new

    def state(self) -> dict[str, Any]:
        """Plan, means, categories and counts: JSON's types and arrays."""
        return {"plan": self.plan.as_dict(), "encoder": self.encoder.state(), "new_columns": self.counts.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned, with the same plan."""
        self.encoder.restore(state["encoder"])
        if "new_columns" in state:
            self.counts.restore(state["new_columns"])
