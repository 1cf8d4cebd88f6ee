"""Weights of classes, w_c: the prediction is the class of the largest w_c p_c; probabilities p stay what they are.

w_c is the weight of a class in a dict. "balanced" makes rare classes count as much as frequent ones:

    w_c = (rows since the class appeared) / (classes so far * rows of the class), at most 1,000

Rows before a class appeared are left out: after 15,000 rows of other classes its first rows would weigh thousands.

Scores that are log-odds carry the weights as s_c + log w_c - mean of log w over the classes seen, so that two classes
are still -f and f. What is learned does not depend on the weights, and neither does the ranking of rows: rows that
count more by their class cost AUC, because few rows then make most of the steps. (Elkan, "The foundations of
cost-sensitive learning", IJCAI 2001.)

Scores of margin losses are no log-odds, and a shift of them is no weight. There rows count w_c times in the steps,
relative to the mean weight of the rows so far, and so they do in models of nolana 0.2. Scores then contain the weights
as far as the model has learned them, and probabilities that are read from such scores are divided by w_c again.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.edge import LARGEST_WEIGHT
from nolana.estimators.parameters import number
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]
ClassWeight: TypeAlias = Mapping[Hashable, float] | str | None

LARGEST_CLASS_WEIGHT = 1000.0  # times the mean: smaller probabilities than 1/1,000 are not to be relied on
SMALLEST_CLASS_WEIGHT = 1e-300  # of a class that has weight 0 and is known: never predicted


def class_weight_of(class_weight: object) -> dict[Hashable, float] | None:
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

    rows: dict[Hashable, int] = field(default_factory=dict)
    before: dict[Hashable, int] = field(default_factory=dict)

    def weights(
        self, class_weight: ClassWeight, distinct: list[Hashable], codes: NDArray[np.intp], weight: Array | None
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

    def log_weights(
        self, class_weight: ClassWeight, labels: list[Hashable], columns: NDArray[np.intp] | None = None
    ) -> Array:  # -> (n, classes), or (1, classes)
        """log w of classes with these labels before each row to be counted, or now; NaN for a class without rows.

        columns: the class of each row (n,), -1 for rows that do not count; nothing is counted here.
        """
        fixed = class_weight_of(class_weight)
        if fixed is not None:
            own = [max(fixed.get(label, 1.0), SMALLEST_CLASS_WEIGHT) for label in labels]
            return np.asarray(np.log(np.array(own))[None])
        start = np.array([self.rows.get(label, 0) for label in labels], dtype=np.float64)
        total = np.array([float(sum(self.rows.values()))])
        appeared = np.array([self.before.get(label, np.inf) for label in labels], dtype=np.float64)
        rows = start[None]
        if columns is not None:
            counted = (columns[:, None] == np.arange(len(labels))).astype(np.float64)
            upto = np.cumsum(counted, axis=0)
            rows = start + upto - counted
            total = total + np.cumsum(columns >= 0) - (columns >= 0)
            new = (start == 0) & (upto[-1] > 0) if len(upto) else np.zeros(len(labels), dtype=bool)
            appeared[new] = total[counted[:, new].argmax(axis=0)]
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = (total[:, None] - appeared) / ((rows > 0).sum(axis=1, keepdims=True) * rows)
            return np.where(rows > 0, np.log(np.minimum(weights, LARGEST_CLASS_WEIGHT)), np.nan)

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

    def record(self, columns: list[Hashable]) -> dict[str, Tree]:
        """Plain data, in the order of the columns."""
        return {
            "class_counts": [self.rows.get(label, 0) for label in columns],
            "class_before": [self.before.get(label, 0) for label in columns],
        }

    @classmethod
    def of_record(cls, node: Node, columns: list[Hashable]) -> "ClassCounts":
        """Counts from `record`."""
        counts = cls()
        for key in ("class_counts", "class_before"):
            if len(node[key].items()) != len(columns):
                raise node[key].wrong("one integer for each class")
        rows = [each.integer() for each in node["class_counts"].items()]
        for label, n, before in zip(columns, rows, node["class_before"].items(), strict=True):
            if n > 0:
                counts.rows[label], counts.before[label] = n, before.integer(0, sum(rows) - n)
        return counts


def shift_of(log_weights: Array, seen: NDArray[np.bool_]) -> Array:  # (n or 1, classes), (n, classes) -> (n, classes)
    """log w minus its mean over the classes that were seen and counted; 0 for the others."""
    counted = seen & ~np.isnan(log_weights)
    own = np.where(counted, log_weights, 0.0)
    total = np.add.accumulate(own, axis=1)[:, -1:]  # in order: a class yet to come changes no bit of it
    return np.where(counted, own - total / np.maximum(1, counted.sum(axis=1, keepdims=True)), 0.0)
