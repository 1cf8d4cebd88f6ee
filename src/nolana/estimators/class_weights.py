"""Weights of rows by their class, from running counts: c / (mean of c over the rows so far), at most 1,000.

c is the weight of a class in a dict. "balanced" makes rare classes count as much as frequent ones:

    (rows since the class appeared) / (classes so far * rows of the class)

Rows before a class appeared are left out: after 15,000 rows of other classes its first rows would weigh thousands.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.base import parameters
from nolana.estimators.classification import LearnedRows, OnlineClassifier
from nolana.estimators.edge import LARGEST_WEIGHT
from nolana.estimators.parameters import number
from nolana.learners.rows import SparseRows
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]

LARGEST_CLASS_WEIGHT = 1000.0  # times the mean


def class_weight_of(class_weight: Any) -> dict[Any, float] | None:
    """Weights by class; None: by running counts, or all equal."""
    if class_weight is None or class_weight == "balanced":
        return None
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r} is neither a dict, 'balanced' nor None")
    return {
        label: number(f"class_weight[{label!r}]", weight, 0.0, LARGEST_WEIGHT) for label, weight in class_weight.items()
    }


@dataclass
class ClassCounts:
    """Rows of each class so far, and rows before the first one of the class; rows of weight 0 do not count."""

    rows: dict[Any, int] = field(default_factory=dict)
    before: dict[Any, int] = field(default_factory=dict)

    def weights(
        self, class_weight: Any, distinct: list[Any], codes: NDArray[np.intp], weight: Array | None
    ) -> Array:  # (n,)
        """Count rows and weigh them; row i has label distinct[codes[i]] and the weight weight[i]."""
        fixed = class_weight_of(class_weight)
        total = sum(self.rows.values())
        own = np.zeros(len(codes))
        for i, code in enumerate(codes.tolist()):
            label = distinct[code]
            c = 1.0 if fixed is None else fixed.get(label, 1.0)
            if c == 0 or (weight is not None and weight[i] == 0):
                continue
            since = total - self.before.setdefault(label, total) + 1
            total += 1
            self.rows[label] = self.rows.get(label, 0) + 1
            if fixed is None:
                own[i] = since / (len(self.rows) * self.rows[label])
            else:  # fsum: the same bits in any order of the classes
                own[i] = c * total / math.fsum(n * fixed.get(each, 1.0) for each, n in self.rows.items())
        return np.minimum(own, LARGEST_CLASS_WEIGHT)

    @classmethod
    def merged(cls, base: "ClassCounts", parts: list["ClassCounts"]) -> "ClassCounts":
        """Counts of all rows; a class that is new in a part appeared after the rows of the base."""
        counts = cls(dict(base.rows), dict(base.before))
        total = sum(base.rows.values())
        for part in parts:
            for label, n in part.rows.items():
                counts.rows[label] = counts.rows.get(label, 0) + n - base.rows.get(label, 0)
                counts.before.setdefault(label, total)
        return counts

    def record(self, columns: list[Any]) -> dict[str, Tree]:
        """Plain data, in the order of the columns."""
        return {
            "class_counts": [self.rows.get(label, 0) for label in columns],
            "class_before": [self.before.get(label, 0) for label in columns],
        }

    @classmethod
    def of_record(cls, node: Node, columns: list[Any]) -> "ClassCounts":
        """Counts from `record`."""
        counts = cls()
        for key in ("class_counts", "class_before"):
            if len(node[key].items()) != len(columns):
                raise node[key].wrong("one whole number for each class")
        rows = [each.integer() for each in node["class_counts"].items()]
        for label, n, before in zip(columns, rows, node["class_before"].items(), strict=True):
            if n > 0:
                counts.rows[label], counts.before[label] = n, before.integer(0, sum(rows) - n)
        return counts


@parameters
class WeightedClassifier(OnlineClassifier):
    """A classifier with the parameter `class_weight`; its learner takes weights of classes beside those of rows."""

    class_weight: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        class_weight_of(self.class_weight)

    def _learn_one(self, x: Any, y: Any) -> Array | None:
        return super()._learn_one(x, y) if self.class_weight is None else None

    def _learn_checked(
        self, x: Any, labels: NDArray[Any], announced: NDArray[Any] | None, weights: Array | None
    ) -> LearnedRows:
        class_weight_of(self.class_weight)  # refused before anything changes
        return super()._learn_checked(x, labels, announced, weights)

    def _learn_block(
        self, x: Array | SparseRows, distinct: list[Any], codes: NDArray[np.intp], *weights: Array | None
    ) -> LearnedRows:
        if self.class_weight is not None:
            counts = self.__dict__.setdefault("_class_counts", ClassCounts())
            weights = (*weights, counts.weights(self.class_weight, distinct, codes, *weights))
        return super()._learn_block(x, distinct, codes, *weights)

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_class_counts", None)

    def _fitted_record(self) -> dict[str, Tree]:
        counts: ClassCounts | None = self.__dict__.get("_class_counts")
        own = {} if counts is None else counts.record(list(self._labels.column))
        return super()._fitted_record() | own

    def _restore_fitted(self, node: Node) -> None:
        super()._restore_fitted(node)
        if "class_counts" in node.entries():
            labels = [label.value for label in node["labels"].items()]  # in the order of the file
            self._class_counts = ClassCounts.of_record(node, labels)
