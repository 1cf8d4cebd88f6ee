"""The rule for labels that are no class of the model yet: a typo must not become a class.

    class         a label of the option ``classes``; without it one that the model has learned
    accepted      a label becomes a class by name; or, without ``classes``, while the model has learned fewer than
                  LEARNED_FIRST rows, and later when ENOUGH rows with it came while the last LEARNED_FIRST were learned
    quarantine    a row with another label is kept and not learned (`nolana.serve.quarantine`) until it is accepted

A held row is learned late, a class that was learned stays: so the rule errs on the side of holding. A class that is
rarer than 1 % of the rows needs someone who accepts it, a slip that is more frequent needs ``classes``.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from nolana.errors import ConflictError, Setting
from nolana.serve.model import ServedModel
from nolana.serve.quarantine import Quarantine, label_key
from nolana.sources.options import LabelKind

__all__ = ["Admission", "NewClasses"]

LEARNED_FIRST = 1000  # rows: a class of 1 % is among them but for a chance of 0.00004
ENOUGH = 10  # rows: 1 % of LEARNED_FIRST
NOUNS = {"int": "an integer", "float": "a number", "bool": "true or false"}
TRUTHS = {"true": True, "false": False}


class NewClasses:
    """What is done with labels that are no class of the model.

    Parameters
    ----------
    rule : "quarantine", "refuse" or "accept".
    classes : the classes as the command line has them; None: those that come.
    """

    def __init__(self, rule: str = "quarantine", classes: tuple[str, ...] | None = None) -> None:
        self.rule, self.classes = rule, classes

    @property
    def holds(self) -> bool:
        """Whether rows with new labels are kept; otherwise their requests are refused."""
        return self.rule == "quarantine"

    def declared(self, kind: LabelKind | None) -> set[Any] | None:
        """The labels of the option ``classes`` in the type of the model's labels; ConflictError if one has another."""
        return None if self.classes is None else {_label(text, kind) for text in self.classes}


class Admission:
    """Which labels are classes while a group of requests is written: those of the model, and of the requests before."""

    def __init__(self, new: NewClasses, model: ServedModel) -> None:
        declared, estimator = new.declared(model.reader.plan.labels), model.estimator
        fitted = estimator.__sklearn_is_fitted__()
        self._any = model.task == "regression" or new.rule == "accept"
        self._holds = new.holds
        self.closed = declared is not None
        self.rows: int = estimator.n_rows_ if fitted else 0
        learned = estimator.classes_.tolist() if fitted and not self._any and declared is None else ()
        self.classes: set[Any] = set(learned) if declared is None else declared

    def new(self, labels: Iterable[Any]) -> dict[Any, int]:
        """The labels that are no class, in the order in which they come, with their rows."""
        if self._any:
            return {}
        return {label: count for label, count in Counter(labels).items() if label not in self.classes}

    def accepts(self, label: Any, count: int, quarantine: Quarantine, id: str | None = None) -> bool:
        """Whether so many more rows with a label make it a class; those of the same request so far do not count."""
        if self.closed or self.rows < LEARNED_FIRST:
            return not self.closed
        since = self.rows - LEARNED_FIRST
        return self._holds and quarantine.count_since(label_key(label), since, id) + count >= ENOUGH

    def add(self, labels: list[Any]) -> None:
        """Rows that are written, and learned after all requests before them."""
        self.rows += len(labels)
        if not self.closed and not self._any:
            self.classes.update(labels)


def _label(text: str, kind: LabelKind | None) -> Any:
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
        return TRUTHS[text.lower()] if kind == "bool" else text
    except (KeyError, ValueError):
        raise ConflictError(
            f"{{setting}} is not {NOUNS[str(kind)]}, as the labels of the model are",
            value=text,
            facts={"setting": Setting("classes", text)},
        ) from None
