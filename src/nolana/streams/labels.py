"""Labels in their own type: integers stay integers, floats floats, true and false booleans, text text.

A stream cannot look ahead: the type is inferred from the first block, and a later label of another type is invalid.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.streams.cells import ABSENT, TEXT, TRUTH, Cells
from nolana.streams.options import LabelKind

__all__ = ["Labels", "infer_label_kind"]

TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": np.str_}
NOUNS = {"int": "an integer", "float": "a number", "bool": "true or false"}


def infer_label_kind(cells: Cells, place: int, typed: bool) -> LabelKind | None:
    """The narrowest type that fits all labels, None where there are none.

    typed: the source itself distinguishes true from the text "true".
    """
    present = cells.text_codes[:, place] != ABSENT
    if not present.any():
        return None
    if not present.all():
        cells = cells.where(present)
    codes = cells.text_codes[:, place]
    if typed and (codes == TRUTH).all():
        return "bool"
    if (codes == TEXT).any():
        return "text"
    if cells.integers(place)[1].all():
        return "int"
    return "float" if cells.floats(place)[1].all() else "text"


class Labels:
    """The labels of one stream, all of one type.

    Parameters
    ----------
    kind : the type; None: inferred from the first label.
    explicit : whether the caller specified it.
    typed : whether the source itself distinguishes true from the text "true".
    """

    def __init__(self, kind: LabelKind | None, *, explicit: bool, typed: bool) -> None:
        self.kind, self._explicit, self._typed = kind, explicit, typed

    def none(self) -> NDArray[Any]:
        """The labels of no rows."""
        return np.zeros(0, dtype=TYPES[self.kind or "float"])

    def read(self, cells: Cells, place: int) -> tuple[NDArray[Any], dict[int, str]]:
        """The labels of some rows, and a message for each row whose label is invalid."""
        if self.kind is None:  # no label in the first block: the first one that comes decides
            first = np.arange(len(cells.lines)) == (cells.text_codes[:, place] != ABSENT).argmax()
            self.kind = infer_label_kind(cells.where(first), place, self._typed)
            if self.kind is None:
                return np.zeros(len(cells.lines)), {}
        if self.kind == "text":
            return self._texts(cells, place)
        if self.kind == "bool":
            valid = cells.text_codes[:, place] == TRUTH
            values: NDArray[Any] = cells.booleans(place)
        else:
            values, valid = (cells.integers if self.kind == "int" else cells.floats)(place, quoted=self._explicit)
        invalid = {int(row): self._message(cells, place, int(row)) for row in np.flatnonzero(~valid)}
        if self.kind == "float":
            for row in np.flatnonzero(valid & ~np.isfinite(values)).tolist():
                remedy = 'on_bad_row="skip" leaves it out' if self._explicit else 'labels="text" reads it as text'
                invalid[row] = f"label {{value}} is not a finite number; {remedy}"
        return values, invalid

    def _texts(self, cells: Cells, place: int) -> tuple[NDArray[Any], dict[int, str]]:
        texts = cells.texts(place)
        invalid = {}
        for row, text in enumerate(texts):
            if text is None:
                invalid[row] = 'label {value} is not UTF-8; encoding="latin-1" reads text of one byte a letter'
            elif text.endswith("\0"):
                invalid[row] = "label {value} ends with a NUL character, which arrays of text cannot hold"
        return np.array([text or "" for text in texts], dtype=np.str_), invalid

    def _message(self, cells: Cells, place: int, row: int) -> str:
        noun = NOUNS[str(self.kind)]
        if self._explicit:
            return f'label {{value}} is not {noun} (labels="{self.kind}")'
        remedy = 'labels="text"'
        if self.kind == "int" and cells.floats(place)[1][row]:
            remedy = 'labels="float" or labels="text"'
        return f"label {{value}} is not {noun}, as all labels of the first block are; set {remedy}"
