"""Labels, columns and outputs.

A column is a class's place in ``classes_``, which is sorted; a new class moves the columns behind it. A class has a
position once it was seen, in order of appearance, and only then an output. Two classes seen share one output f,
negative for the first seen, positive for the second; from the third on each has its own.

The labels of one stream are all strings or all integers, of any size; equal numbers are one label (1, 1.0, True).
``classes_`` has the type of the first labels: 1.0 after integers is 1, and 1 after floats is 1.0.
"""

import copy
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.estimators._sklearn import check_classification_targets, column_or_1d
from nolana.estimators.edge import row_count
from nolana.estimators.targets import LearnedRows
from nolana.learner.merge import Alignment
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]

WHOLE = int | np.integer | bool | np.bool_
FAST_CLASSES = 32  # up to so many the targets of single rows are cached


def check_labels(
    y: ArrayLike | None, rows: int, known: NDArray[np.generic] | None, name: str = "y"
) -> NDArray[np.generic]:
    """One label for each row, of one kind, the kind of the classes known so far."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if isinstance(y, list | tuple) and np.asarray(y).dtype.kind in "fUS":
        y = np.array(y, dtype=object)  # an array of these may have rounded large integers, or turned numbers into text
    plain = type(y) is np.ndarray and y.ndim == 1
    labels: NDArray[np.generic] = np.asarray(y) if plain else column_or_1d(y, warn=True)
    if len(labels) != rows:
        raise ValueError(f"X has {rows} rows but {name} has {len(labels)} labels: inconsistent numbers of samples")
    if labels.dtype == object:
        labels = _plain(labels, name)
    if labels.dtype.kind == "S":
        raise ValueError(f"{name} holds bytes; decode them to strings ({name}.astype(str)). Unknown label type")
    if labels.dtype.kind not in "iubfUO":
        raise ValueError(
            f"{name} holds {labels.dtype}; a label must be a number, a string or a bool. Unknown label type"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(
            f"{name} contains NaN or infinity at place {row}; a label must be a number, a string or a bool"
        )
    if labels.dtype.kind == "f":
        check_classification_targets(labels)  # integers only
    if known is None or not len(known):
        return labels
    if _kind(labels) != _kind(known):
        raise ValueError(
            f"{name} holds {_kind(labels)}, but the classes so far are {_kind(known)}: {known[:5].tolist()}; the "
            f"labels of one model are all strings or all numbers, so convert {name}"
        )
    if labels.dtype.kind == "f" and known.dtype.kind != "f":
        return labels.astype(np.int64)
    return labels


def check_classes(classes: ArrayLike | None, known: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
    """Announced labels, sorted, each once, of the kind of the classes known so far."""
    return None if classes is None else np.unique(check_labels(classes, row_count(classes), known, "classes"))


def check_announced(
    labels: NDArray[np.generic], announced: NDArray[np.generic] | None, known: Iterable[Hashable] = ()
) -> None:
    """ValueError for labels that are neither announced nor known; None: nothing is announced, and all may come."""
    if announced is not None:
        legal = {*announced.tolist(), *known}
        outside = [label for label in np.unique(labels).tolist() if label not in legal]
        if outside:
            raise ValueError(f"y holds labels {outside[:5]} that are not in classes")


def _plain(labels: NDArray[np.generic], name: str) -> NDArray[np.generic]:
    """An array of objects as strings or numbers."""
    kinds = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in kinds):
        return np.asarray(labels.astype(str))
    if all(issubclass(kind, float | np.floating) for kind in kinds):
        return np.asarray(labels.tolist())
    if all(issubclass(kind, WHOLE | float | np.floating) for kind in kinds):
        fractions = [i for i, label in enumerate(labels) if label != label // 1]  # NaN and infinity are among them
        if fractions:
            raise ValueError(
                f"{name} holds {labels[fractions[0]]!r} at place {fractions[0]}, which is no integer; a label "
                "must be an integer, a string or a bool. Unknown label type"
            )
        if all(issubclass(kind, bool | np.bool_) for kind in kinds):
            return labels.astype(np.bool_)
        return as_array([int(label) for label in labels], np.dtype(np.int64))
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(
        f"{name} mixes or holds labels that are neither numbers nor strings: {names}; make them all strings or all "
        "numbers. Unknown label type"
    )


def _kind(labels: NDArray[np.generic]) -> str:
    return "strings" if labels.dtype.kind == "U" else "numbers"


def as_array(labels: Sequence[Hashable], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    """Labels as an array of this dtype if it holds them exactly, otherwise of one that does."""
    integers = dtype.kind in "fO" and all(isinstance(label, int) for label in labels)  # int64 with uint64 is float64
    for candidate in (np.int64, np.uint64) if integers else (dtype, np.int64, np.uint64):
        try:
            array: NDArray[np.generic] = np.asarray(labels, dtype=candidate)
        except OverflowError:
            continue
        if array.tolist() == labels:
            return array
    return np.array(labels, dtype=object)


def aligned(parts: list[tuple[NDArray[np.generic], Array]], missing: float) -> tuple[NDArray[np.generic], Array]:
    """Blocks of scores below each other, by the classes of the last block; classes only ever become more."""
    classes = parts[-1][0]
    if len(parts) == 1:
        return parts[0]
    if all(len(known) == len(classes) for known, _ in parts):
        return classes, np.concatenate([scores for _, scores in parts])
    whole = np.full((sum(len(scores) for _, scores in parts), len(classes)), missing)
    start = 0
    for known, scores in parts:
        whole[start : start + len(scores), np.searchsorted(classes, known)] = scores
        start += len(scores)
    return classes, whole


@dataclass(frozen=True)
class LearnedLabels(LearnedRows):
    """Rows as they were before they were learned, by column; scores are -inf where a class had no output."""

    classes: NDArray[np.generic]
    log_odds: Array  # (n, classes), calibrated; the scores themselves where these are log-odds
    before: Array  # (n,), rows learned before
    shift: Array | None = None  # (n, classes), log weights of the classes that the model has learned with the odds
    new: tuple[tuple[int, int], ...] = ()  # column and first row of classes that were neither announced nor seen

    def known(self) -> NDArray[np.bool_]:  # (n, classes)
        """Whether a class was announced before the row, or came with a row before it."""
        known = np.ones(self.scores.shape, dtype=bool)
        nothing = int(np.searchsorted(self.before, 1.0))  # rows of a model that has learned nothing
        for column, first in self.new:
            known[: max(first + 1, nothing), column] = False
        return known

    @classmethod
    def joined(cls, blocks: list["LearnedLabels"]) -> "LearnedLabels":
        """Blocks below each other; which classes were new is left open."""
        classes, scores = aligned([(block.classes, block.scores) for block in blocks], -np.inf)
        _, log_odds = aligned([(block.classes, block.log_odds) for block in blocks], -np.inf)
        shifts = [(block.classes, block.shift) for block in blocks if block.shift is not None]
        before = np.concatenate([block.before for block in blocks])
        return cls(scores, classes, log_odds, before, aligned(shifts, 0.0)[1] if shifts else None)


class Labels:
    """The classes of a stream, as they become known."""

    def __init__(self) -> None:
        self.classes: NDArray[np.generic] | None = None
        self.column: dict[Hashable, int] = {}  # label -> column
        self.position: dict[Hashable, int] = {}  # label -> order of appearance
        self._columns: list[int] = []  # by position
        self._refresh()

    def _refresh(self) -> None:
        """What is read for every row, made anew when a class becomes known."""
        self.target_rows: dict[Hashable, Array] = {}  # targets (1, c) of single rows, by label
        self._order: NDArray[np.intp] | None = None  # positions by column, where each class has its own output
        self._signs: Array | None = None  # (1, 2), where two classes share one
        if self.seen < len(self.column):
            return
        if self.seen > 2:
            self._order = np.argsort(self._columns)
        elif self.seen == 2:
            self._signs = np.array([[-1.0, 1.0]])[:, self._columns]
        if self.seen <= FAST_CLASSES:
            targets = self.targets(np.arange(self.seen))
            self.target_rows = {label: targets[i : i + 1] for label, i in self.position.items()}

    def coded(self, labels: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.intp]]:
        """Distinct labels, and the place of each label among them.

        Where all classes were seen and none is new these are the classes, or those of the rows if they are fewer.
        """
        known = self.classes
        if known is not None and known.dtype == labels.dtype != object and self.seen == len(known):
            codes = np.minimum(np.searchsorted(known, labels), self.seen - 1)
            if np.array_equal(known[codes], labels):
                if len(labels) >= self.seen:
                    return known, codes
                own, codes = np.unique(codes, return_inverse=True)
                return known[own], codes
        distinct, codes = np.unique(labels, return_inverse=True)
        return distinct, codes

    def announce(self, labels: NDArray[np.generic]) -> None:
        """Give each new label its sorted place among the columns."""
        fresh = [label for label in labels.tolist() if label not in self.column]
        if fresh or self.classes is None:
            dtype = labels.dtype if self.classes is None else np.result_type(self.classes, labels)
            self._set([*self.column, *fresh], dtype)

    def _set(self, labels: list[Hashable], dtype: np.dtype[np.generic]) -> None:
        self.classes = np.sort(as_array(labels, dtype))
        self.column = {label: i for i, label in enumerate(self.classes.tolist())}
        self._columns = [self.column[label] for label in self.position]
        self._refresh()

    def record(self) -> dict[str, Tree]:
        """Plain data: the classes, and who was seen when."""
        if self.classes is None:
            return {"classes": [], "labels": [], "seen": []}
        classes = self.classes.tolist() if self.classes.dtype == object else self.classes
        return {"classes": classes, "labels": list(self.column), "seen": list(self._columns)}

    @classmethod
    def of_record(cls, node: Node) -> "Labels":
        """Labels from `record`, which stands among other fitted things; columns of an old file become sorted."""
        known, classes, labels = cls(), node["classes"].value, [label.value for label in node["labels"].items()]
        if not labels and isinstance(classes, list) and not classes and not node["seen"].items():
            return known
        if isinstance(classes, list) and all(type(label) is int for label in classes):
            classes = np.array(classes, dtype=object)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.dtype.kind not in "iubfUO":
            raise node["classes"].wrong("an array (classes,) of labels")
        text = classes.dtype.kind == "U"
        try:
            same = all(isinstance(label, str if text else bool | int | float) for label in labels)
            same = same and np.array_equal(classes, np.asarray(labels, classes.dtype))
        except (ValueError, OverflowError):
            same = False
        if not same or len(set(labels)) != len(classes):
            raise node["labels"].wrong(f"the {len(classes)} classes, each once")
        seen = [place.integer(0, len(labels) - 1) for place in node["seen"].items()]
        known.position = {labels[place]: i for i, place in enumerate(seen)}
        if len(known.position) != len(seen):
            raise node["seen"].wrong("each class at most once")
        known._set(labels, classes.dtype)
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
        self._columns.append(self.column[label])
        self._refresh()
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
        if self._order is not None:
            return scores.take(self._order, axis=1)
        if self._signs is not None:
            return scores * self._signs
        spread = np.full((len(scores), len(self.column)), missing)
        if self.seen > 2:
            spread[:, self._columns] = scores
        else:
            for column, sign in zip(self._columns, (-1.0, 1.0), strict=False):
                spread[:, column] = sign * scores[:, 0]
        return spread

    def merged(self, parts: list["Labels"]) -> tuple["Labels", list[Alignment]]:
        """The classes of all parts of this base, and how the outputs of base and parts become theirs."""
        labels = copy.deepcopy(self)
        for part in parts:
            assert part.classes is not None
            labels.announce(part.classes)
        assert labels.classes is not None
        seen = {label for part in parts for label in part.position}
        new = [label for label in labels.classes.tolist() if label in seen and label not in self.position]
        if not new:
            return labels, [Alignment()] * (1 + len(parts))
        changes = [change for label in new if (change := labels.see(label)) is not None]
        alignments = [Alignment(changes)]
        for part in parts:
            own = copy.deepcopy(part)
            own.announce(labels.classes)
            missing = [label for label in labels.position if label not in part.position]
            changes = [change for label in missing if (change := own.see(label)) is not None]
            order = [own.position[label] for label in labels.position]
            absent = tuple(labels.position[label] for label in missing) if labels.seen > 2 else ()
            alignments.append(Alignment(changes, order, absent))
        return labels, alignments
