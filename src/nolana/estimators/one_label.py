"""One label for each row: labels become targets of a learner, and its outputs columns of scores and probabilities."""

import copy
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.errors import ModelFileError
from nolana.estimators.calibration import (
    OnlineCalibration,
    from_uniform_start,
    log_odds_of,
    one_against_rest,
    shares,
    softmax,
)
from nolana.estimators.class_weights import ClassCounts, ClassWeight, class_weight_of, shift_of
from nolana.estimators.edge import Learner
from nolana.estimators.labels import Labels, LearnedLabels, check_announced, check_classes, check_labels
from nolana.estimators.targets import CheckedRows, Targets
from nolana.learner.merge import Alignment
from nolana.learner.rows import SparseRows
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


class OneLabel(Targets):
    """Rows of one label each: labels become targets of a learner, and its outputs columns of scores.

    Parameters
    ----------
    log_odds : whether scores of different classes are log-odds of one distribution; their softmax are probabilities.
    calibrated : whether probabilities are those of a calibration of the scores.
    """

    outputs = 1  # before the first row
    counts: ClassCounts | None = None  # by which classes have weights, once they have any

    def __init__(self, log_odds: bool, calibrated: bool) -> None:
        self.labels, self.log_odds = Labels(), log_odds
        self.calibration = OnlineCalibration() if calibrated else None
        self.weighs_steps = not log_odds  # whether rows count by their class; otherwise the scores are shifted

    @property
    def classes(self) -> NDArray[np.generic] | None:
        return self.labels.classes

    def check_classes(self, classes: ArrayLike | None) -> NDArray[np.generic] | None:
        return check_classes(classes, self.classes)

    def check(
        self, y: ArrayLike | None, rows: int, announced: NDArray[np.generic] | None = None
    ) -> NDArray[np.generic]:
        """Labels (n,) like those known so far."""
        labels = check_labels(y, rows, announced if self.classes is None else self.classes)
        check_announced(labels, announced, self.labels.column)
        return labels

    def announce(self, labels: NDArray[np.generic]) -> None:
        self.labels.announce(labels)

    # Learning

    def learn(self, learner: Learner, rows: CheckedRows, class_weight: ClassWeight) -> LearnedLabels:
        """Only more classes than the learner can have are refused."""
        if class_weight is not None:
            class_weight_of(class_weight)  # refused before anything changes
        known = self.labels
        with learner.lock:
            distinct, codes = known.coded(rows.y)
            own = distinct.tolist()
            new = sum(label not in known.position for label in own)
            if new and known.seen + new > 2:
                learner.check_outputs(known.seen + new)
            if rows.announced is not None:
                known.announce(rows.announced)
            earlier = set(known.column)
            known.announce(distinct)
        blocks = []
        for block, x, weight in rows.blocks(learner):
            with learner.lock:
                blocks.append(self._learn_block(learner, x, own, codes[block], weight, class_weight))
        learned = LearnedLabels.joined(blocks)
        fresh = [code for code, label in enumerate(own) if label not in earlier]
        first = ((int(np.searchsorted(learned.classes, distinct[c])), int(np.argmax(codes == c))) for c in fresh)
        return replace(learned, new=tuple(first))

    def _learn_block(
        self,
        learner: Learner,
        x: Array | SparseRows,
        distinct: list[Hashable],
        codes: NDArray[np.intp],
        weight: Array | None,
        class_weight: ClassWeight,
    ) -> LearnedLabels:
        """A block under the lock; row i has label distinct[codes[i]]."""
        if class_weight is None:
            return self._learn_cut(learner, x, distinct, codes, weight)
        self.counts = counts = self.counts or ClassCounts()
        before = ClassCounts(dict(counts.rows), dict(counts.before))
        by_class = counts.weights(class_weight, distinct, codes, weight)
        columns = np.array([self.labels.column[label] for label in distinct], dtype=np.intp)[codes]
        counted = np.where(by_class > 0, columns, -1)
        log_weights = before.log_weights(class_weight, list(self.labels.column), counted)
        if self.weighs_steps:
            learned = self._learn_cut(learner, x, distinct, codes, weight, by_class)
            return replace(learned, shift=shift_of(log_weights, learned.scores > -np.inf))
        if not (by_class > 0).all():  # a class of weight 0 is not learned
            weight = (np.ones(len(codes)) if weight is None else weight) * (by_class > 0)
        learned = self._learn_cut(learner, x, distinct, codes, weight)
        return replace(learned, scores=learned.scores + shift_of(log_weights, learned.scores > -np.inf))

    def _learn_cut(
        self,
        learner: Learner,
        x: Array | SparseRows,
        distinct: list[Hashable],
        codes: NDArray[np.intp],
        *weights: Array | None,
    ) -> LearnedLabels:
        """A block, cut where a class is seen for the first time.

        weights: (n,) each, arguments of the learner; a row that has a weight of 0 is not learned.
        """
        known = self.labels
        assert known.classes is not None
        out = np.empty((len(x), len(known.classes)))
        log_odds = out if self.calibration is None else np.empty_like(out)
        taught = codes
        for weight in weights:
            taught = taught if weight is None else np.where(weight > 0, taught, -1)
        before = learner.labelled + np.cumsum(taught >= 0, dtype=np.float64) - (taught >= 0)
        position = np.array([known.position.get(label, -1) for label in distinct], dtype=np.intp)
        some, first = np.unique(taught, return_index=True)
        new_at = {
            row: code
            for row, code in zip(first.tolist(), some.tolist(), strict=True)
            if code >= 0 and position[code] < 0
        }
        cuts = sorted({0, *new_at, len(x)})
        for start, stop in pairwise(cuts):
            if start in new_at:
                change = known.see(distinct[new_at[start]])
                position[new_at[start]] = known.seen - 1
                if change is not None:
                    learner.rearrange_outputs(*change)
            rows = slice(start, stop)
            positions = np.maximum(position[codes[rows]], 0)
            own = [None if weight is None else weight[rows] for weight in weights]
            targets = known.targets(positions)
            f = learner.learn(x[rows], targets, *own)
            out[rows] = known.by_column(f, -np.inf)
            if self.calibration is not None:
                logits = self.calibration.observe(f, targets, own[0])
                log_odds[rows] = known.by_column(log_odds_of(logits), -np.inf)
            if start in new_at:
                column = known.column[distinct[new_at[start]]]
                out[start, column] = log_odds[start, column] = -np.inf
        return LearnedLabels(out, known.classes, log_odds, before)

    def learn_one(self, learner: Learner, x: Array, y: object, class_weight: ClassWeight) -> Array | None:
        """The fast path is for rows whose label is known."""
        if class_weight is not None or not (type(y) is np.ndarray or type(y) is list):
            return None
        try:
            (label,) = y
            target = self.labels.target_rows[label]
        except (TypeError, ValueError, KeyError):
            return None
        with learner.lock:
            f = learner.learn(x, target)
            if self.calibration is not None:
                self.calibration.observe(f, target)
            return self.labels.by_column(f, -np.inf)

    # Reading

    def scores(self, f: Array, class_weight: ClassWeight, missing: float = -np.inf) -> Array:  # -> (n, classes)
        """Scores by which the class is chosen; `missing` for classes that were announced but never seen."""
        scores, shift = self.labels.by_column(f, missing), None if self.weighs_steps else self.shift(class_weight)
        return scores if shift is None else scores + shift

    def shift(self, class_weight: ClassWeight) -> Array | None:  # (classes,)
        """Of the scores now, by the weights of the classes; None without any."""
        if class_weight is None:
            return None
        seen = np.array([[label in self.labels.position for label in self.labels.column]], dtype=bool)
        log_weights = (self.counts or ClassCounts()).log_weights(class_weight, list(self.labels.column))
        return np.asarray(shift_of(log_weights, seen)[0])

    def decision(self, scores: Array) -> Array:
        """Two classes: (n,), positive for the second; more: (n, classes)."""
        if scores.shape[1] > 2:
            return scores
        if scores.shape[1] == 1 or np.isinf(scores).any():  # one class seen: its side of the line
            side = 1.0 if scores.shape[1] == 1 or np.isinf(scores[0, 0]) else -1.0
            return np.full(len(scores), side)
        return np.ascontiguousarray(scores[:, 1])

    def predicted(self, classes: NDArray[np.generic], scores: Array) -> NDArray[np.generic]:
        """The class of the largest score."""
        return np.asarray(classes[scores.argmax(axis=1)])

    def right(self, predicted: NDArray[np.generic], y: ArrayLike) -> NDArray[np.bool_]:
        """Whether the label of a row is predicted."""
        return np.asarray(predicted == self.check(y, len(predicted)))

    def probabilities(self, learner: Learner, f: Array, class_weight: ClassWeight) -> Array:  # -> (n, classes)
        """Of each class now."""
        if self.calibration is None:
            odds = self.labels.by_column(f, -np.inf)
            odds = np.where(np.isnan(odds), 0.0, odds)  # diverged: undecided
        else:
            odds = self.labels.by_column(self.calibration.log_odds(f), -np.inf)
        own = self._shares(odds, self.shift(class_weight) if self.weighs_steps else None)
        return from_uniform_start(own, np.ones(odds.shape, dtype=bool), learner.labelled)

    def probabilities_before(self, learned: LearnedLabels) -> Array:  # -> (n, classes)
        """Of each class before a row was learned."""
        return from_uniform_start(self._shares(learned.log_odds, learned.shift), learned.known(), learned.before)

    def _shares(self, log_odds: Array, shift: Array | None) -> Array:  # (n, classes), (n, classes) -> (n, classes)
        """The model's own probabilities, without the weights of the classes that it has learned."""
        if self.calibration is not None:  # by the rows as they are
            return softmax(log_odds)
        own = softmax(log_odds) if self.log_odds else one_against_rest(log_odds)
        return own if shift is None else shares(own * np.exp(-shift), own)

    # Parts and files

    def merged(self, learner: Learner, parts: Sequence[Self], rows: list[int]) -> tuple[Self, list[Alignment]]:
        result = copy.deepcopy(self)
        if not self.labels.seen:
            return result, [Alignment()] * (1 + len(parts))
        result.labels, alignments = self.labels.merged([part.labels for part in parts])
        if result.labels.seen > max(2, self.labels.seen):
            learner.check_outputs(result.labels.seen)
        counts = [part.counts for part in parts if part.counts is not None]
        if counts:
            result.counts = ClassCounts.merged(self.counts or ClassCounts(), counts)
        if self.calibration is not None:
            others = [part.calibration for part in parts if part.calibration is not None]
            result.calibration = OnlineCalibration.merged(self.calibration, others, rows)
        return result, alignments

    def record(self) -> dict[str, Tree]:
        record = self.labels.record()
        if self.calibration is not None:
            record["calibration"] = self.calibration.record()
        if self.counts is not None:
            record |= self.counts.record(list(self.labels.column))
            record |= {} if self.weighs_steps else {"class_weight_in": "scores"}
        return record

    def restore(self, node: Node, learner: Learner) -> None:
        """Take a `record` from a file."""
        self.labels = known = Labels.of_record(node)
        if known.outputs != learner.outputs:
            raise ModelFileError(f"{node.place}: {known.seen} classes, but {learner.outputs} outputs")
        if (known.seen > 0) != (learner.labelled > 0):
            raise ModelFileError(f"{node.place}: {known.seen} classes, {learner.labelled} rows with labels")
        entries = node.entries()
        if self.calibration is not None and "calibration" in entries:  # files of v0.1 have none
            self.calibration = OnlineCalibration.of_record(node["calibration"])
        if "class_counts" in entries:
            order = [label.value for label in node["labels"].items()]  # in the order of the file
            self.counts = ClassCounts.of_record(node, order)
            if "class_weight_in" in entries:
                node["class_weight_in"].text(("scores",))
            else:  # a file of nolana 0.2: its model has learned the weights
                self.weighs_steps = True
