"""Labels in their own type, integers, floats, booleans or strings; and the task, classification or regression.

A stream cannot look ahead: both are inferred from the first block, and a later label of another type is invalid.
Integers may have any size, and 1.0 among integers is 1, as for the estimators (`nolana.estimators.labels`).
True of a CSV file, TRUE of Excel and true of JSON are one class, in the letters that came first (`Spellings`).

Of the rules for the task the first one that applies decides; n rows, k different labels:

    strings, true and false                     classification
    a fraction                                  regression
    k > 30                                      regression
    -1, 0, 1 or codes 0 to k - 1                classification
    k <= 2 and n >= 20                          classification
    a name such as rating or price              regression
    a name such as class or category            classification
    all labels written with a decimal point     regression: 3.0 is a number of stars, 3 may be the code of a class
    otherwise                                   classification

Integers from 1 to 5 in a column without a telling name stay classes. Their order cannot be seen in a block of rows, and
the errors differ: classes 1 to 5 learned as numbers are useless, ratings learned as classes are not.

The task of a run never changes after its first block. One invalid label in a million must not turn classes into
numbers, and a resumed run must equal one that was not interrupted. A fraction among the labels of a classification is
invalid, and its error names the option.
"""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nolana.errors import Remedy, Setting
from nolana.sources.cells import ABSENT, NESTED, TEXT, TRUTH, Cells, Flaw
from nolana.sources.options import LabelKind

__all__ = ["LATIN", "SKIP", "InferredTask", "Labels", "Spellings", "infer_label_kind", "infer_task"]

DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*")
MOST_DIGITS = 1000  # a model file holds integers of at most 4,096 bits
LARGEST_EXACT = 2**53  # integers that a float64 holds exactly

BOOLEANS = {"true", "false"}
TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": np.str_}
NOUNS = {"int": "an integer", "float": "a number", "bool": "true or false"}
LATIN = Remedy("encoding", "latin-1", "reads text of one byte a letter")
SKIP = Remedy("on_bad_row", "skip", "leaves it out")
AS_FLOAT, AS_TEXT = Remedy("labels", "float"), Remedy("labels", "text", "accepts it")
MOST_CLASSES = 30  # the letters of an alphabet are classes
FEWEST_ROWS = 20  # fewer may have two different labels by chance: the first rows of a pipe, one request to a service
NUMBER_NAMES = {
    "age", "amount", "cost", "count", "demand", "distance", "duration", "height", "income", "length", "price",
    "quantity", "rating", "ratings", "salary", "sales", "score", "scores", "stars", "temperature", "weight",
}  # fmt: skip
CLASS_NAMES = {"category", "class", "cluster", "code", "group", "kind", "species", "type"}
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
FRACTION = Flaw(
    None,
    "label",
    "label {value} is not an integer, and the labels before it were taken for classes",
    (Remedy("task", "regression", "if they are numbers"), Remedy("labels", "text", "if they are names")),
)


IS_NESTED = Flaw(None, "label", "label {value} is an array or object, not a flat value")


def infer_label_kind(cells: Cells, place: int) -> LabelKind | None:
    """The narrowest type that fits all labels, None if there are none."""
    present = cells.text_codes[:, place] != ABSENT
    if not present.any():
        return None
    if not present.all():
        cells = cells.where(present)
    codes = cells.text_codes[:, place]
    if cells.typed and (codes == TRUTH).all():
        return "bool"
    if (codes == TEXT).any():
        return "text"
    if cells.integers(place)[1].any() or not cells.floats(place)[1].all():
        return "int" if _integers_of(cells, place)[1].all() else "float" if cells.floats(place)[1].all() else "text"
    return "int" if all(_integer(text) is not None for text in cells.texts(place)) else "float"


def _integers_of(cells: Cells, place: int, quoted: bool = False) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
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


@dataclass
class Labels:
    """The labels of one stream, all of one type.

    Parameters
    ----------
    kind : the type; None: inferred from the first label.
    explicit : whether the caller specified it.
    classes : whether they are classes: then a fraction is invalid.
    quoted : whether "1" of JSON is a number; None: if the caller specified numbers.
    """

    kind: LabelKind | None
    explicit: bool
    classes: bool = False
    quoted: bool | None = None

    def of_task(self, task: str) -> "Labels":
        """The labels of a task: floats for regression, classes for classification."""
        return Labels("float", explicit=True) if task == "regression" else replace(self, classes=True)

    def of_classes(self, classes: NDArray[np.generic]) -> "Labels":
        """Labels that may be these classes: strings for strings; strings are numbers, or true and false, for others."""
        if classes.dtype.kind == "U":
            return replace(self, kind="text", explicit=True)
        if self.kind != "text":
            return self
        two = set(classes.tolist()) <= {0, 1}
        return replace(self, kind="bool" if two else "int", explicit=True)

    @property
    def _quoted(self) -> bool:
        return self.explicit if self.quoted is None else self.quoted

    def none(self) -> NDArray[np.generic]:
        """The labels of no rows."""
        return np.zeros(0, dtype=TYPES[self.kind or "float"])

    def read(self, cells: Cells, place: int) -> tuple[NDArray[np.generic], dict[int, Flaw]]:
        """The labels of some rows, and the flaw of each row whose label is invalid."""
        if self.kind is None:  # no label in the first block: the first one that comes decides
            first = np.arange(len(cells.lines)) == (cells.text_codes[:, place] != ABSENT).argmax()
            self.kind = infer_label_kind(cells.where(first), place)
            if self.kind is None:
                return np.zeros(len(cells.lines)), {}
        if self.kind == "text":
            return self._strings(cells, place)
        if self.kind == "bool":
            valid = cells.text_codes[:, place] == TRUTH
            values: NDArray[np.generic] = cells.booleans(place)
        else:
            quoted = self._quoted
            as_int = self.kind == "int"
            values, valid = _integers_of(cells, place, quoted) if as_int else cells.floats(place, quoted=quoted)
        invalid = {int(row): self._flaw(cells, place, int(row)) for row in np.flatnonzero(~valid)}
        if self.kind == "float":
            finite = Flaw(None, "label", "label {value} is not a finite number", (SKIP if self.explicit else AS_TEXT,))
            invalid |= dict.fromkeys(np.flatnonzero(valid & ~np.isfinite(values)).tolist(), finite)
            if self.classes:
                fractions = valid & np.isfinite(values) & (values != np.floor(values))
                invalid |= dict.fromkeys(np.flatnonzero(fractions).tolist(), FRACTION)
        return values, invalid

    def _strings(self, cells: Cells, place: int) -> tuple[NDArray[np.generic], dict[int, Flaw]]:
        texts = cells.texts(place)
        invalid = {}
        nested = cells.text_codes[:, place] == NESTED
        for row, text in enumerate(texts):
            if nested[row]:
                invalid[row] = IS_NESTED
            elif text is None:
                invalid[row] = Flaw(None, "label", "label {value} is not UTF-8", (LATIN,))
            elif text.endswith("\0"):
                what = "label {value} ends with a NUL character, which arrays of strings cannot hold"
                invalid[row] = Flaw(None, "label", what)
        return np.array([text or "" for text in texts], dtype=np.str_), invalid

    def _flaw(self, cells: Cells, place: int, row: int) -> Flaw:
        """Why a label is not of the type of the others."""
        if cells.text_codes[row, place] == NESTED:
            return IS_NESTED
        if self.classes and self.kind == "int" and cells.floats(place, quoted=self._quoted)[1][row]:
            return FRACTION
        noun, numeric = NOUNS[str(self.kind)], self.kind == "float"
        if self.explicit:
            facts = {"kind": Setting("labels", self.kind)}
            return Flaw(None, "label", f"label {{value}} is not {noun} ({{kind}})", facts=facts, numeric=numeric)
        fits = self.kind == "int" and cells.floats(place)[1][row]
        remedies = (AS_FLOAT, AS_TEXT) if fits else (AS_TEXT,)
        what = f"label {{value}} is not {noun}, as all labels of the first block are"
        return Flaw(None, "label", what, remedies, numeric=numeric)


class Spellings:
    """Strings that say true or false as a class so far writes them: True of CSV, TRUE of Excel, true of JSON.

    A string that is a class stays as it is. The rows decide in their order, however they are cut into blocks.

    Parameters
    ----------
    classes : the classes so far; of several spellings of one boolean the first counts.

    Examples
    --------
    >>> spellings = Spellings(["False", "True"])
    >>> spellings.spelled(np.array(["true", "True", "FALSE", "maybe"])).tolist()
    ['True', 'True', 'False', 'maybe']
    """

    def __init__(self, classes: Iterable[Hashable] = ()) -> None:
        self._known = set[Hashable]()
        self._spelling: dict[str, str] = {}
        for label in classes:
            self._add(label)

    def _add(self, label: Hashable) -> None:
        if isinstance(label, str) and label.lower() in BOOLEANS:
            self._known.add(label)
            self._spelling.setdefault(label.lower(), label)

    def spelled(self, y: NDArray[np.generic]) -> NDArray[np.generic]:
        """Labels y (n,) in the letters of the classes, among which they are from now on."""
        changed = self.changed(y.tolist()) if y.dtype.kind == "U" and y.ndim == 1 else {}
        return np.array([changed.get(label, label) for label in y.tolist()], dtype=np.str_) if changed else y

    def changed(self, labels: Iterable[Hashable]) -> dict[Hashable, str]:
        """The labels that get other letters, and these; all others are classes from now on."""
        changed: dict[Hashable, str] = {}
        for label in dict.fromkeys(labels):
            if isinstance(label, str) and label.lower() in BOOLEANS and label not in self._known:
                if label.lower() in self._spelling:
                    changed[label] = self._spelling[label.lower()]
                else:
                    self._add(label)
        return changed


@dataclass(frozen=True)
class InferredTask:
    """A task.

    why : what it was inferred from; None: the labels allow no other, or the caller has specified it.
    """

    task: str
    why: str | None = None

    @property
    def other(self) -> str:
        """The other task."""
        return "classification" if self.task == "regression" else "regression"


def infer_task(y: NDArray[np.generic], name: object = None) -> InferredTask:
    """The task of labels y (n,), an array of floats if they are written with a decimal point.

    name : of their column, if it has one.

    Examples
    --------
    >>> infer_task(np.array([3, 5, 4, 4])).task, infer_task(np.array([3.0, 5.0, 4.0, 4.0])).task
    ('classification', 'regression')
    >>> infer_task(np.array([3, 5, 4, 4]), "rating")
    InferredTask(task='regression', why="the name 'rating'")
    """
    if y.dtype.kind not in "iufO":
        return InferredTask("classification")
    if _has_fraction(y):
        return InferredTask("regression")
    different = np.unique(y)
    count = len(different)
    if count > MOST_CLASSES:
        return InferredTask("regression", f"{count:,} different labels")
    few = f"{count} different label{'s' * (count != 1)}"
    codes = set(different.tolist()) <= {-1, 0, 1} or np.array_equal(different, np.arange(count))
    if codes or (count <= 2 and len(y) >= FEWEST_ROWS):
        return InferredTask("classification", few)
    words = {word.lower() for word in WORDS.findall(name)} if isinstance(name, str) else set()
    if words & NUMBER_NAMES:
        return InferredTask("regression", f"the name {name!r}")
    if words & CLASS_NAMES:
        return InferredTask("classification", f"the name {name!r}")
    if y.dtype.kind == "f":
        return InferredTask("regression", "labels with a decimal point")
    return InferredTask("classification", few)


def _has_fraction(y: NDArray[np.generic]) -> bool:
    return y.dtype.kind == "f" and bool((y != np.floor(y)).any())
