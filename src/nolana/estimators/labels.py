"""Labels, columns and outputs.

A column is a class's place in ``classes_``; a class has a position once it was seen, in order of appearance,
and only then an output. Two classes seen share one output f, negative for the first seen, positive for the
second; from the third on each has its own.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana._sklearn import check_classification_targets, column_or_1d
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


def check_labels(y: Any, rows: int, known: NDArray[Any] | None, name: str = "y") -> NDArray[Any]:
    """One label for each row, of one kind, the kind of the classes known so far."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if len(labels) != rows:
        raise ValueError(f"X has {rows} rows but y has {len(labels)} labels: inconsistent numbers of samples")
    if labels.dtype == object:
        labels = _plain(labels)
    if labels.dtype.kind not in "iubfU":
        raise ValueError(f"y holds {labels.dtype}; a label must be a number, a string or a bool. Unknown label type")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(
            f"{name} contains NaN or infinity at place {row}; a label must be a number, a string or a bool"
        )
    if labels.dtype.kind not in "iubU":
        check_classification_targets(labels)
    if known is not None and len(known) and _kind(labels) != _kind(known):
        raise ValueError(f"y holds {_kind(labels)}, but the classes so far are {_kind(known)}: {known[:5].tolist()}")
    return labels


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    kinds = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in kinds):
        return np.asarray(labels.astype(str))
    if all(issubclass(kind, int | np.integer | bool | np.bool_ | float | np.floating) for kind in kinds):
        return np.asarray(labels.tolist())
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(f"y mixes or holds labels that are neither numbers nor strings: {names}. Unknown label type")


def _kind(labels: NDArray[Any]) -> str:
    return "strings" if labels.dtype.kind == "U" else "numbers"


def widened(parts: list[Array], missing: float) -> Array:
    """Blocks of scores below each other, as wide as the last: classes only ever become more."""
    width = parts[-1].shape[1]
    if all(part.shape[1] == width for part in parts):
        return np.concatenate(parts)
    return np.concatenate([np.c_[p, np.full((len(p), width - p.shape[1]), missing)] for p in parts])


class Labels:
    """The classes of a stream, as they become known."""

    def __init__(self) -> None:
        self.classes: NDArray[Any] | None = None
        self.column: dict[Hashable, int] = {}  # label -> column
        self.position: dict[Hashable, int] = {}  # label -> order of appearance

    def announce(self, labels: NDArray[Any]) -> None:
        """Give each new label the next column, in the order of the argument."""
        fresh = [label for label in labels.tolist() if label not in self.column]
        for label in fresh:
            self.column[label] = len(self.column)
        if fresh or self.classes is None:
            added = np.asarray(fresh, dtype=labels.dtype)
            self.classes = added if self.classes is None else np.concatenate([self.classes, added])

    def record(self) -> dict[str, Tree]:
        """Plain data: the classes, the labels as they came (an array may have widened them), who was seen when."""
        seen = [self.column[label] for label in self.position]
        return {"classes": self.classes, "labels": list(self.column), "seen": seen}

    @classmethod
    def of_record(cls, node: Node) -> "Labels":
        """Labels from `record`, which stands among other fitted things."""
        known, classes, labels = cls(), node["classes"].value, [label.value for label in node["labels"].items()]
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.dtype.kind not in "iubfU":
            raise node["classes"].wrong("an array (classes,) of labels")
        text = classes.dtype.kind == "U"
        try:
            same = all(isinstance(label, str if text else bool | int | float) for label in labels)
            same = same and np.array_equal(classes, np.asarray(labels, classes.dtype))
        except (ValueError, OverflowError):
            same = False
        known.classes, known.column = classes, {label: i for i, label in enumerate(labels)} if same else {}
        if not same or len(known.column) != len(classes):
            raise node["labels"].wrong(f"the {len(classes)} classes, each once")
        seen = [place.integer(0, len(labels) - 1) for place in node["seen"].items()]
        known.position = {labels[place]: i for i, place in enumerate(seen)}
        if not seen or len(known.position) != len(seen):
            raise node["seen"].wrong("at least one class, and each at most once")
        return known

    @property
    def seen(self) -> int:
        return len(self.position)

    @property
    def outputs(self) -> int:
        return max(1, self.seen) if self.seen > 2 else 1

    def see(self, label: Hashable) -> tuple[list[int], list[float]] | None:
        """A class's first row: sources and signs of the new outputs, or None where the outputs stay."""
        self.position[label] = self.seen
        if self.seen <= 2:
            return None
        if self.seen == 3:
            return [0, 0, 0], [-1.0, 1.0, 0.0]
        return [*range(self.seen - 1), 0], [1.0] * (self.seen - 1) + [0.0]

    def targets(self, positions: NDArray[np.intp]) -> Array:  # (n,) -> (n, c)
        """+1 for the output of the row's class, -1 for the others."""
        if self.seen <= 2:
            return np.where(positions == 1, 1.0, -1.0)[:, None]
        targets = np.full((len(positions), self.seen), -1.0)
        targets[np.arange(len(positions)), positions] = 1.0
        return targets

    def by_column(self, scores: Array, missing: float) -> Array:  # (n, c) -> (n, classes)
        """Scores in the order of the columns; `missing` where a class has no output yet."""
        assert self.classes is not None
        columns = [self.column[label] for label in self.position]
        if columns == list(range(len(self.classes))) and self.seen > 2:
            return scores
        spread = np.full((len(scores), len(self.classes)), missing)
        if self.seen > 2:
            spread[:, columns] = scores
        else:
            for column, sign in zip(columns, (-1.0, 1.0), strict=False):
                spread[:, column] = sign * scores[:, 0]
        return spread
