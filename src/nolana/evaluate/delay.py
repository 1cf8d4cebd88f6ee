"""Labels that arrive with a delay.

With a delay of k, row t is scored when it arrives and learned after row t + k was scored. So row t is scored by a model
that has learned exactly the rows before t - k: from row k on, scoring one row and learning another alternate, however
the blocks are cut. Only the first k rows are scored by one model. The estimators do both in one call (``learn_late``).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from nolana.evaluate.one_by_one import Features, Model, Targets
from nolana.metrics.label_index import Labels, State

__all__ = ["DelayedLabels", "Rows", "Scores", "WithProbabilities", "learn_scores"]

Array = NDArray[np.float64]
WORTH_A_CALL = 8  # rows; for fewer, the checks of a block are more expensive than single rows


class WithProbabilities:
    """A learner whose methods return probabilities beside the scores."""

    def __init__(self, learner: Model) -> None:
        self._learner = learner
        self.learn = learner.learn_proba
        for name in ("scores", "learn_late"):
            if hasattr(learner, f"{name}_proba"):
                setattr(self, name, getattr(learner, f"{name}_proba"))

    @property
    def classes_(self) -> Labels:
        """Those of the learner now."""
        classes: Labels = self._learner.classes_
        return classes


@dataclass(frozen=True)
class Scores:
    """Scores (n,), (n, targets), or (n, classes) with the classes of the columns, which a new class may change.

    `probabilities` (n, classes) belong to the same columns; None if they are not needed.
    """

    values: Array
    classes: Labels | None = None
    probabilities: Array | None = None

    @classmethod
    def of(cls, learner: object, returned: Array | tuple[Array, Array]) -> "Scores":
        """What this learner has just returned: scores, or a tuple of scores and probabilities."""
        scores, probabilities = returned if isinstance(returned, tuple) else (returned, None)
        values = np.asarray(scores)
        classes = np.asarray(getattr(learner, "classes_", ()))
        if values.ndim == 1 or len(classes) < values.shape[1]:
            return cls(values)
        return cls(values, classes[: values.shape[1]], probabilities)

    @classmethod
    def stacked(cls, parts: Sequence["Scores"]) -> "Scores":
        """Below each other, by the classes of the last part; a class is never forgotten."""
        wide = [part.by(parts[-1].classes) for part in parts]
        probabilities = [part.probabilities for part in wide if part.probabilities is not None]
        values = np.concatenate([part.values for part in wide])
        together = np.concatenate(probabilities) if len(probabilities) == len(wide) else None
        return cls(values, parts[-1].classes, together)

    def part(self, start: int, stop: int) -> "Scores":
        """Rows from `start` up to `stop`, in their own memory."""
        probabilities = None if self.probabilities is None else self.probabilities[start:stop].copy()
        return Scores(self.values[start:stop].copy(), self.classes, probabilities)

    def for_targets(self, y: Labels) -> "Scores":
        """A column for each target; before its first row a learner does not know that there are several."""
        if y.ndim == 1 or self.values.ndim == 2:
            return self
        return Scores(np.tile(self.values[:, None], y.shape[1]))

    def by(self, classes: Labels | None) -> "Scores":
        """The same with a column for each of these classes; -inf and probability 0 if it was not known."""
        if classes is None or self.classes is None or np.array_equal(classes, self.classes):
            return self
        column = {label: i for i, label in enumerate(classes.tolist())}
        columns = [column[label] for label in self.classes.tolist()]
        values = np.full((len(self.values), len(classes)), -np.inf)
        values[:, columns] = self.values
        if self.probabilities is None:
            return Scores(values, classes)
        probabilities = np.zeros(values.shape)
        probabilities[:, columns] = self.probabilities
        return Scores(values, classes, probabilities)


@dataclass(frozen=True)
class Rows:
    """Labels (n,) or targets (n, targets), weights (n,) or None, scores of the rows at their arrival, their features.

    The features are there as long as the rows wait for their labels.
    """

    y: Labels
    weight: Array | None
    scores: Scores
    x: Features = None

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def stacked(cls, parts: Sequence["Rows"]) -> "Rows":
        """Below each other, without their features."""
        if not parts:
            return cls(np.zeros(0), None, Scores(np.zeros(0)))
        weight = _joined_weights([part.y for part in parts], [part.weight for part in parts])
        return cls(np.concatenate([part.y for part in parts]), weight, Scores.stacked([part.scores for part in parts]))

    def part(self, start: int, stop: int) -> "Rows":
        """Rows from `start` up to `stop`, in their own memory: the owner of a block may reuse its memory."""
        weight = None if self.weight is None else self.weight[start:stop].copy()
        x = some_rows(self.x, start, stop)
        x = x.copy() if hasattr(x, "copy") else x
        return Rows(self.y[start:stop].copy(), weight, self.scores.part(start, stop), x)


def some_rows(x: Features, start: int, stop: int) -> Features:
    """Rows of an array, a sparse matrix or a frame."""
    return x.iloc[start:stop] if hasattr(x, "iloc") else x[start:stop]


def learn_scores(learner: Model, x: Features, y: Targets, weight: Array | None) -> Scores:
    """Learn rows, with weights if there are any; returns their scores before they were learned."""
    scores = learner.learn(x, y) if weight is None else learner.learn(x, y, sample_weight=weight)
    return Scores.of(learner, scores)


def _joined_weights(labels: Sequence[Labels], weights: Sequence[Array | None]) -> Array | None:
    """Of several blocks of rows; None if no row has one."""
    if all(weight is None for weight in weights):
        return None
    pairs = zip(labels, weights, strict=True)
    return np.concatenate([np.ones(len(y)) if weight is None else weight for y, weight in pairs])


class DelayedLabels:
    """The rows that wait for their labels, at most `delay` between two blocks."""

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self._waiting: deque[Rows] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def labels(self) -> list[object]:
        """Of the rows that wait, in their order."""
        return [label for rows in self._waiting for label in rows.y.tolist()]

    def arrive(self, learner: Model, x: Features, y: Labels, weight: Array | None) -> Rows:
        """Score the rows of a block, learn those whose labels arrive meanwhile, and return the latter."""
        count = len(y)
        due = max(0, len(self) + count - self.delay)
        lagged = getattr(learner, "lag", None) is not None and hasattr(learner, "at_moment")
        plain = all(type(each) is np.ndarray for each in (x, *(rows.x for rows in self._waiting)))
        at_once = due >= WORTH_A_CALL and plain and hasattr(learner, "learn_late")
        if lagged or (due and not at_once):
            return self._arrive_one_by_one(learner, x, y, weight)
        parts = []
        if due < count:
            parts.append(Scores.of(learner, learner.scores(some_rows(x, 0, count - due))))
        if due:
            features, labels, weights = zip(*self._oldest(due, x, y, weight), strict=True)
            late = np.concatenate(features), np.concatenate(labels), _joined_weights(labels, weights)
            parts.append(Scores.of(learner, learner.learn_late(x[count - due :], *late)))
        if count:
            scores = Scores.stacked([part.for_targets(y) for part in parts])
            self._waiting.append(Rows(y, weight, scores, x))
            self._count += count
        taken = self._take(due)
        if self._waiting and self._waiting[-1].x is x:  # still in the memory of the block's owner
            self._waiting[-1] = self._waiting[-1].part(0, count)
        return taken

    def _arrive_one_by_one(self, learner: Model, x: Features, y: Labels, weight: Array | None) -> Rows:
        """The same for other learners; one whose predictions see earlier labels learns a row with those that it saw."""
        taken: list[Rows] = []
        lagged = getattr(learner, "lag", None) is not None and hasattr(learner, "at_moment")
        for i in range(len(y)):
            row = some_rows(x, i, i + 1)
            row = learner.at_moment(row) if lagged else row
            scores = Scores.of(learner, learner.scores(row)).for_targets(y)
            own = Rows(y[i : i + 1], None if weight is None else weight[i : i + 1], scores, row)
            self._waiting.append(own.part(0, 1))
            self._count += 1
            if self._count > self.delay:
                due = self._waiting[0].part(0, 1)
                learn_scores(learner, due.x, due.y, due.weight)
                self._take(1)
                taken.append(due)
        return Rows.stacked(taken)

    def _oldest(
        self, due: int, x: Features, y: Labels, weight: Array | None
    ) -> Iterator[tuple[Features, Labels, Array | None]]:
        """The first `due` rows of those that wait, followed by the block, in pieces: features, labels, weights."""
        for xs, ys, weights in chain(((rows.x, rows.y, rows.weight) for rows in self._waiting), [(x, y, weight)]):
            taken = min(due, len(ys))
            yield some_rows(xs, 0, taken), ys[:taken], None if weights is None else weights[:taken]
            due -= taken
            if not due:
                return

    def drain(self, learner: Model) -> Rows:
        """At the end of the stream all missing labels arrive, and their rows are learned."""
        for rows in self._waiting:
            learn_scores(learner, rows.x, rows.y, rows.weight)
        return self._take(len(self))

    def _take(self, count: int) -> Rows:
        """Remove the oldest rows."""
        self._count -= count
        taken: list[Rows] = []
        while count:
            rows = self._waiting.popleft()
            if len(rows) > count:
                self._waiting.appendleft(rows.part(count, len(rows)))
                rows = rows.part(0, count)
            taken.append(rows)
            count -= len(rows)
        return Rows.stacked(taken)

    def state(self) -> State | None:
        """The rows that wait, as plain data; None if there are none."""
        if not self._waiting:
            return None
        rows = Rows.stacked(self._waiting)
        pieces = [part.x.X if hasattr(part.x, "moment") else part.x for part in self._waiting]
        features = [x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in pieces]
        text = rows.y.dtype.kind in "OU"
        return {
            "X": np.concatenate(features),
            "y": rows.y.tolist() if text else rows.y,
            "weight": rows.weight,
            "scores": rows.scores.values,
            "classes": None if rows.scores.classes is None else rows.scores.classes.tolist(),
            "probabilities": rows.scores.probabilities,
            **self._moments(),
        }

    def _moments(self) -> State:
        """What was known when the rows that wait were scored; those from before the first learned row have none."""
        moments = [getattr(part.x, "moment", None) for part in self._waiting]
        size = next((moment.shape[1] for moment in moments if moment is not None), 0)
        without = [np.full((len(part), size), np.inf) for part in self._waiting]
        own = [none if moment is None else moment for moment, none in zip(moments, without, strict=True)]
        return {"moments": np.concatenate(own)} if size else {}

    def restore(self, state: State | None) -> None:
        """Continue from an exported state."""
        if state is None:
            self._waiting, self._count = deque(), 0
            return
        x, y, scores = np.array(state["X"]), np.array(state["y"]), np.array(state["scores"], dtype=np.float64)
        classes = None if state.get("classes") is None else np.array(state["classes"])
        weight = None if state["weight"] is None else np.array(state["weight"], dtype=np.float64)
        before = state.get("probabilities")  # files of v0.1 have none
        probabilities = None if before is None else np.array(before, dtype=np.float64)
        lengths = {len(x), len(y), len(scores), len(y) if weight is None else len(weight)}
        dimensions = (x.ndim, y.ndim, scores.ndim) in ((2, 1, 1), (2, 1, 2), (2, 2, 2))
        if not dimensions or len(lengths) > 1 or len(y) > self.delay:
            raise ValueError(
                f"late: expected up to {self.delay} rows, as many labels and scores; "
                f"got X {x.shape}, y {y.shape}, scores {scores.shape}"
            )
        if scores.shape[1:] != (y.shape[1:] if classes is None else classes.shape):
            raise ValueError(f"late: scores of shape {scores.shape} do not belong to the classes {classes}")
        if probabilities is not None and probabilities.shape != scores.shape:
            raise ValueError(f"late: probabilities must be {scores.shape} as the scores, got {probabilities.shape}")
        rows: Features = x
        if state.get("moments") is not None:
            from nolana.learner.rows import MomentRows  # loads the engine

            rows = MomentRows(x, np.array(state["moments"], dtype=np.float64))
        self._waiting, self._count = deque([Rows(y, weight, Scores(scores, classes, probabilities), rows)]), len(y)
