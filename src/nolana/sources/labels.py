"""Labels in their own type: integers stay integers, floats floats, true and false booleans, text text.

A stream cannot look ahead: the type is inferred from the first block, and a later label of another type is invalid.
Integers may have any size, and 1.0 among integers is 1, as for the estimators (`nolana.estimators.labels`).
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import Remedy, Setting
from nolana.sources.cells import ABSENT, TEXT, TRUTH, Cells, Flaw
from nolana.sources.options import LabelKind

__all__ = ["LATIN", "Labels", "infer_label_kind"]

DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*")
MOST_DIGITS = 1000  # a model file holds integers of at most 4,096 bits
LARGEST_EXACT = 2**53  # integers that a float64 holds exactly

TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": np.str_}
NOUNS = {"int": "an integer", "float": "a number", "bool": "true or false"}
LATIN = Remedy("encoding", "latin-1", "reads text of one byte a letter")
SKIP = Remedy("on_bad_row", "skip", "leaves it out")
AS_FLOAT, AS_TEXT = Remedy("labels", "float"), Remedy("labels", "text", "accepts it")
FRACTION = Flaw(
    None,
    "label",
    "label {value} is not an integer, and the labels before it were taken for classes",
    (Remedy("task", "regression", "if they are numbers"), Remedy("labels", "text", "if they are names")),
)


def infer_label_kind(cells: Cells, place: int, typed: bool) -> LabelKind | None:
    """The narrowest type that fits all labels, None if there are none.

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
    if cells.integers(place)[1].any() or not cells.floats(place)[1].all():
        return "int" if integers_of(cells, place)[1].all() else "float" if cells.floats(place)[1].all() else "text"
    return "int" if all(_integer(text) is not None for text in cells.texts(place)) else "float"


def integers_of(cells: Cells, place: int, quoted: bool = False) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column of texts as integers, and which of them are valid; beyond 64 bits the array has Python's integers."""
    values, valid = cells.integers(place, quoted=quoted)
    if valid.all():
        return values, valid
    floats, numeric = cells.floats(place, quoted=quoted)
    found: dict[int, int] = {}
    for row in np.flatnonzero(~valid & numeric).tolist():
        number = float(floats[row])
        exact = _integer(cells.texts(place)[row])
        if exact is not None:
            found[row] = exact
        elif number.is_integer() and abs(number) <= LARGEST_EXACT:
            found[row] = int(number)
    if any(not -(2**63) <= number < 2**63 for number in found.values()):
        values = values.astype(object)
    valid = valid.copy()
    for row, number in found.items():
        values[row], valid[row] = number, True
    return values, valid


def _integer(text: str | None) -> int | None:
    """The integer that a text writes out in digits; None if it does not."""
    return int(text) if text is not None and len(text) <= MOST_DIGITS and DIGITS.fullmatch(text) else None


class Labels:
    """The labels of one stream, all of one type.

    Parameters
    ----------
    kind : the type; None: inferred from the first label.
    explicit : whether the caller specified it.
    typed : whether the source itself distinguishes true from the text "true".
    classes : whether they are classes: then a fraction is invalid.
    quoted : whether "1" of JSON is a number; None: if the caller specified numbers.
    """

    def __init__(
        self,
        kind: LabelKind | None,
        *,
        explicit: bool,
        typed: bool,
        classes: bool = False,
        quoted: bool | None = None,
    ) -> None:
        self.kind, self._explicit, self._typed, self._classes = kind, explicit, typed, classes
        self._quoted = explicit if quoted is None else quoted

    def of_task(self, task: str) -> "Labels":
        """The labels of a task: floats for regression, classes for classification."""
        if task == "regression":
            return Labels("float", explicit=True, typed=self._typed)
        return Labels(self.kind, explicit=self._explicit, typed=self._typed, classes=True)

    def none(self) -> NDArray[Any]:
        """The labels of no rows."""
        return np.zeros(0, dtype=TYPES[self.kind or "float"])

    def read(self, cells: Cells, place: int) -> tuple[NDArray[Any], dict[int, Flaw]]:
        """The labels of some rows, and the flaw of each row whose label is invalid."""
        if self.kind is None:  # no label in the first block: the first one that comes decides
            first = np.arange(len(cells.lines)) == (cells.text_codes[:, place] != ABSENT).argmax()
            self.kind = infer_label_kind(cells.where(first), place, self._typed)
            if self.kind is None:
                return np.zeros(len(cells.lines)), {}
        if self.kind == "text":
            return self._strings(cells, place)
        if self.kind == "bool":
            valid = cells.text_codes[:, place] == TRUTH
            values: NDArray[Any] = cells.booleans(place)
        else:
            quoted = self._quoted
            values, valid = (
                integers_of(cells, place, quoted) if self.kind == "int" else cells.floats(place, quoted=quoted)
            )
        invalid = {int(row): self._flaw(cells, place, int(row)) for row in np.flatnonzero(~valid)}
        if self.kind == "float":
            finite = Flaw(None, "label", "label {value} is not a finite number", (SKIP if self._explicit else AS_TEXT,))
            invalid |= dict.fromkeys(np.flatnonzero(valid & ~np.isfinite(values)).tolist(), finite)
            if self._classes:
                fractions = valid & np.isfinite(values) & (values != np.floor(values))
                invalid |= dict.fromkeys(np.flatnonzero(fractions).tolist(), FRACTION)
        return values, invalid

    def _strings(self, cells: Cells, place: int) -> tuple[NDArray[Any], dict[int, Flaw]]:
        texts = cells.texts(place)
        invalid = {}
        for row, text in enumerate(texts):
            if text is None:
                invalid[row] = Flaw(None, "label", "label {value} is not UTF-8", (LATIN,))
            elif text.endswith("\0"):
                what = "label {value} ends with a NUL character, which arrays of strings cannot hold"
                invalid[row] = Flaw(None, "label", what)
        return np.array([text or "" for text in texts], dtype=np.str_), invalid

    def _flaw(self, cells: Cells, place: int, row: int) -> Flaw:
        """Why a label is not of the type of the others."""
        if self._classes and self.kind == "int" and cells.floats(place, quoted=self._quoted)[1][row]:
            return FRACTION
        noun, numeric = NOUNS[str(self.kind)], self.kind == "float"
        if self._explicit:
            facts = {"kind": Setting("labels", self.kind)}
            return Flaw(None, "label", f"label {{value}} is not {noun} ({{kind}})", facts=facts, numeric=numeric)
        fits = self.kind == "int" and cells.floats(place)[1][row]
        remedies = (AS_FLOAT, AS_TEXT) if fits else (AS_TEXT,)
        what = f"label {{value}} is not {noun}, as all labels of the first block are"
        return Flaw(None, "label", what, remedies, numeric=numeric)
