"""Labels as they came: integers stay integers, floats floats, truth values truth values, text text.

A stream cannot look ahead, so the first block decides, and a later label that does not fit is an error.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.streams.cells import ABSENT, TEXT, TRUTH, Cells
from nolana.streams.plan import LABEL_KINDS, LabelKind

__all__ = ["Labels", "label_kind"]

TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": np.str_}
NOUNS = {"int": "an integer", "float": "a number", "bool": "true or false"}


def label_kind(cells: Cells, place: int, typed: bool) -> LabelKind | None:
    """The narrowest kind that fits all labels, None where there are none.

    typed: the source itself tells true from the text "true".
    """
    there = cells.text_codes[:, place] != ABSENT
    if not there.any():
        return None
    if not there.all():
        cells = cells.keep(there)
    codes = cells.text_codes[:, place]
    if typed and (codes == TRUTH).all():
        return "bool"
    if (codes == TEXT).any():
        return "text"
    if cells.integers(place)[1].all():
        return "int"
    return "float" if cells.reals(place)[1].all() else "text"


class Labels:
    """The labels of one stream, in one kind."""

    def __init__(self, kind: LabelKind | None, *, given: bool, typed: bool) -> None:
        if kind is not None and kind not in LABEL_KINDS:
            raise ValueError(
                f"labels={kind!r} is not a kind of label; choose one of: {', '.join(LABEL_KINDS)}, or None"
            )
        self.kind, self._given, self._typed = kind, given, typed

    def none(self) -> NDArray[Any]:
        """The labels of no rows."""
        return np.zeros(0, dtype=TYPES[self.kind or "float"])

    def read(self, cells: Cells, place: int) -> tuple[NDArray[Any], dict[int, str]]:
        """The labels of some rows, and by row what is wrong with those that do not fit."""
        if self.kind is None:  # no label in the first block: the first that comes decides
            first = np.arange(len(cells.lines)) == (cells.text_codes[:, place] != ABSENT).argmax()
            self.kind = label_kind(cells.keep(first), place, self._typed)
            if self.kind is None:
                return np.zeros(len(cells.lines)), {}
        if self.kind == "text":
            return self._texts(cells, place)
        if self.kind == "bool":
            fits = cells.text_codes[:, place] == TRUTH
            values: NDArray[Any] = cells.truths(place)
        else:
            values, fits = (cells.integers if self.kind == "int" else cells.reals)(place)
        wrong = {int(row): self._unfit(cells, place, int(row)) for row in np.flatnonzero(~fits)}
        if self.kind == "float":
            for row in np.flatnonzero(fits & ~np.isfinite(values)).tolist():
                wrong[row] = 'label {value} is not a finite number; labels="text" reads it as text'
        return values, wrong

    def _texts(self, cells: Cells, place: int) -> tuple[NDArray[Any], dict[int, str]]:
        texts = cells.texts(place)
        wrong = {row: "label {value} is not UTF-8; convert the file" for row, text in enumerate(texts) if text is None}
        for row, text in enumerate(texts):
            if text is not None and text.endswith("\0"):
                wrong[row] = "label {value} ends in a NUL, which arrays of text lose"
        return np.array([text or "" for text in texts], dtype=np.str_), wrong

    def _unfit(self, cells: Cells, place: int, row: int) -> str:
        noun = NOUNS[str(self.kind)]
        if self._given:
            return f'label {{value}} is not {noun} (labels="{self.kind}")'
        remedy = 'labels="text"'
        if self.kind == "int" and cells.reals(place)[1][row]:
            remedy = 'labels="float" or labels="text"'
        return f"label {{value}} is not {noun}, as all labels of the first block are; set {remedy}"
