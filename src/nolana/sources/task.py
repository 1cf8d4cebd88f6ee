"""Classification or regression, inferred from the labels of the first block and the name of their column.

The first rule that applies decides; n rows, k different labels:

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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["InferredTask", "infer_task"]

MOST_CLASSES = 30  # the letters of an alphabet are classes
FEWEST_ROWS = 20  # fewer may have two different labels by chance: the first rows of a pipe, one request to a service
NUMBER_NAMES = {
    "age", "amount", "cost", "count", "demand", "distance", "duration", "height", "income", "length", "price",
    "quantity", "rating", "ratings", "salary", "sales", "score", "scores", "stars", "temperature", "weight",
}  # fmt: skip
CLASS_NAMES = {"category", "class", "cluster", "code", "group", "kind", "species", "type"}
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


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


def infer_task(y: NDArray[Any], name: object = None) -> InferredTask:
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
    if has_fraction(y):
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


def has_fraction(y: NDArray[Any]) -> bool:
    """Whether a label is not an integer."""
    return y.dtype.kind == "f" and bool((y != np.floor(y)).any())
