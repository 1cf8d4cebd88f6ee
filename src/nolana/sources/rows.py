"""Rows by a plan: cells become X and y. Files, requests to the service and DataFrames of Spark are read here.

Whoever has cells asks `check_rows` for the labels and for the flaws of the rows, decides what happens to these (an
error, a refused request, a row that is left out), and lets the encoder turn the others into X. `PlannedRows` is that
with what rows change: means, categories, counts of new columns.
"""

from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from nolana.sources.bad_rows import Counts, NewCategory, NewColumnCounts
from nolana.sources.cells import ABSENT, Cells, Flaw
from nolana.sources.encoder import Encoder, EncoderState, SchemaEncoder
from nolana.sources.labels import Labels
from nolana.sources.numbers import NumberEncoder
from nolana.sources.plan import Plan

__all__ = ["PlannedRows", "RowsState", "check_rows", "encoder_of"]


def check_rows(
    cells: Cells, encoder: Encoder, labels: Labels | None
) -> tuple[NDArray[np.generic] | None, dict[int, Flaw]]:
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


def encoder_of(plan: Plan, *, frozen: bool) -> Encoder:
    """The encoder of a plan; one that is frozen does not change by the rows that it encodes."""
    if plan.schema is not None:
        tolerant = plan.options.missing != "error"
        return SchemaEncoder(plan.features, plan.schema, tolerant=tolerant, frozen=frozen)
    return NumberEncoder(plan.features, plan.options, frozen=frozen, means=plan.columns is not None)


class RowsState(TypedDict, total=False):
    """A plan, and what the rows so far have made of its means, categories and counts."""

    plan: dict[str, object]
    encoder: EncoderState
    new_columns: Counts  # states of nolana 0.1 have none


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
        return self._plan if self.labels is None else replace(self._plan, labels=self.labels.kind)

    def check(self, cells: Cells) -> tuple[NDArray[np.generic] | None, dict[int, Flaw]]:
        """The labels (n,) of rows, and the flaws of the invalid ones."""
        return check_rows(cells, self.encoder, self.labels)

    def encode(self, cells: Cells) -> tuple[NDArray[np.float64], list[NewCategory]]:
        """X (n, d) of valid rows, and the strings without a column of their own, which are not yet counted."""
        x = self.encoder.encode(cells)
        return x, self.encoder.new_categories(cells)

    def state(self) -> RowsState:
        """Plan, means, categories and counts: JSON's types and arrays."""
        return {"plan": self.plan.as_dict(), "encoder": self.encoder.state(), "new_columns": self.counts.state()}

    def restore(self, state: RowsState) -> None:
        """Continue from what ``state`` returned, with the same plan."""
        self.encoder.restore(state["encoder"])
        if "new_columns" in state:
            self.counts.restore(state["new_columns"])
