"""The input of a metric: the true labels of some rows, and the scores from before they were learned."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import Labels

__all__ = ["Predictions"]

Array = NDArray[np.float64]

# n rows, c classes, t targets


@dataclass(frozen=True)
class Predictions:
    """Some rows of a stream, each with its score from before it was learned.

    Parameters
    ----------
    truth : labels or targets (n,), or several targets (n, t); several labels (n, c) of 0 and 1.
    scores : (n,) or (n, t) for regression; (n, c) with a column for each class, -inf or NaN if it was not known yet; of
        several labels their log-odds.
    classes : the labels of the columns (c,), or None for regression.
    weight : the weight of each row (n,), or None if all are equal.
    to_probabilities : converts scores (n, c) to probabilities (n, c); None if the scores alone do not determine them.
    before : probabilities (n, c) before each row was learned, if the scores alone do not determine them.
    learner : its name, for error messages.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Predictions(np.array(["a", "b"]), np.array([[-np.inf, -np.inf], [-1.0, 1.0]]), np.array(["a", "b"]))
    >>> rows.known, rows.predicted[1]
    (array([False,  True]), np.str_('b'))
    """

    truth: Labels
    scores: Array
    classes: Labels | None = None
    weight: Array | None = None
    to_probabilities: Callable[[Array], Array] | None = None
    learner: str = "the learner"
    before: Array | None = None

    def __len__(self) -> int:
        return len(self.truth)

    def part(self, start: int, stop: int) -> "Predictions":
        """Rows from `start` up to `stop`."""
        if start == 0 and stop == len(self):
            return self
        rows = slice(start, stop)
        weight = None if self.weight is None else self.weight[rows]
        before = None if self.before is None else self.before[rows]
        return replace(self, truth=self.truth[rows], scores=self.scores[rows], weight=weight, before=before)

    @cached_property
    def weights(self) -> Array:
        """The weight of each row (n,), 1 if all are equal."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def multilabel(self) -> bool:
        """Whether rows have several labels."""
        return self.classes is not None and self.truth.ndim == 2

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether a class was known, (n,); always true for regression."""
        if self.classes is None or self.multilabel:
            return np.ones(len(self), dtype=bool)
        return np.asarray((self.scores > -np.inf).any(axis=1))

    @cached_property
    def predicted(self) -> Labels:
        """The label of the largest score or the number itself, (n,); without meaning if `known` is false.

        Of several labels 1 where the score is positive, otherwise 0, (n, c).
        """
        if self.classes is None:
            return self.scores
        if self.multilabel:
            return (self.scores > 0).astype(np.int64)
        return np.asarray(self.classes[np.fmax(self.scores, -np.inf).argmax(axis=1)])

    @property
    def answers(self) -> list[object]:
        """What was predicted for each row, None before the first known class."""
        pairs = zip(self.predicted.tolist(), self.known.tolist(), strict=True)
        return [label if known else None for label, known in pairs]

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """Whether the label was predicted, or all labels of the row, (n,)."""
        right = self.truth == self.predicted
        return np.asarray((right.all(axis=1) if self.multilabel else right) & self.known)

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """The column of the true label, (n,); -1 if it has none."""
        assert self.classes is not None
        order = np.argsort(self.classes)
        at = np.searchsorted(self.classes, self.truth, sorter=order)
        columns = order[np.minimum(at, len(order) - 1)]
        return np.where(self.classes[columns] == self.truth, columns, -1)

    @cached_property
    def targets(self) -> Array:
        """The true numbers, (n,) or (n, t)."""
        return np.asarray(self.truth, dtype=np.float64)

    @cached_property
    def errors(self) -> Array:
        """Target minus prediction, (n,) or (n, t)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.targets - self.scores)

    @cached_property
    def probabilities(self) -> Array:
        """Of each class, (n, c)."""
        if self.before is not None:
            return self.before
        assert self.to_probabilities is not None
        return np.asarray(self.to_probabilities(self.scores))

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` can be read."""
        return self.to_probabilities is not None or self.before is not None

    def need_classes(self, metric: str, several: bool = False) -> None:
        """Raise if `metric` is for classes and numbers are predicted, or for one label of a row unless `several`."""
        if self.classes is None:
            raise ValueError(
                f"metrics: {metric!r} is for classes, but {self.learner} predicts numbers (it has no classes_); "
                f"choose from {_choices('regression')}"
            )

        if self.multilabel and not several:
            raise ValueError(
                f"metrics: {metric!r} is for one label of a row, but there are {self.truth.shape[1]}; choose from "
                "accuracy, f1_macro, f1_micro"
            )

    def need_numbers(self, metric: str) -> None:
        """Raise if `metric` is for numbers and classes are predicted."""
        if self.classes is not None:
            raise ValueError(
                f"metrics: {metric!r} is for numbers, but {self.learner} predicts classes; "
                f"choose from {_choices('classification')}"
            )

    def need_probabilities(self, metric: str) -> None:
        """Raise if `metric` needs probabilities and the learner has none."""
        self.need_classes(metric)
        if not self.has_probabilities:
            raise ValueError(
                f"metrics: {metric!r} needs probabilities, but {self.learner} has none; add the method learn_proba "
                "or probabilities to it (see nolana.evaluate), or choose another metric"
            )


def _choices(task: str) -> str:
    from nolana.metrics.registry import METRICS  # which imports all metrics, and they this module

    return ", ".join(name for name, metric in METRICS.items() if metric.task == task)
