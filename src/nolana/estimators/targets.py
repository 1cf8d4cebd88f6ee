"""What y is: one label of a row, several labels, or targets of a regression."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.estimators.class_weights import ClassWeight
from nolana.estimators.edge import Learner, blocks_for
from nolana.learner.merge import Alignment
from nolana.learner.rows import Matrix, SparseRows
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]
Labels = NDArray[np.generic]


@dataclass(frozen=True)
class LearnedRows:
    """What rows scored before they were learned, (n,) or (n, columns)."""

    scores: Array


@dataclass(frozen=True)
class CheckedRows:
    """Rows that can be learned; `announced` are labels that may come."""

    x: Matrix
    y: Labels
    announced: Labels | None
    weights: Array | None

    def blocks(self, learner: Learner) -> Iterator[tuple[slice, Array | SparseRows, Array | None]]:
        """Blocks of rows, the features of each and its weights."""
        for rows, part in blocks_for(learner, self.x):
            yield rows, part, None if self.weights is None else self.weights[rows]


class Targets(ABC):
    """Between the y of a user and the outputs of a learner: y becomes targets (n, c), outputs (n, c) become scores."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Of a new learner."""

    @abstractmethod
    def check_classes(self, classes: ArrayLike | None) -> Labels | None:
        """Labels that may come, sorted, each once; None if there are none to announce."""

    @abstractmethod
    def check(self, y: ArrayLike | None, rows: int, announced: Labels | None) -> Labels:
        """y of so many rows, (n,) or (n, k); ValueError if it cannot be learned."""

    @abstractmethod
    def announce(self, labels: Labels) -> None:
        """Give each of these labels a column; the caller holds the lock."""

    @abstractmethod
    def learn(self, learner: Learner, rows: CheckedRows, class_weight: ClassWeight) -> LearnedRows:
        """Score rows, then learn them, a block at a time under the lock."""

    def learn_one(self, learner: Learner, x: Array, y: object, class_weight: ClassWeight) -> Array | None:
        """The fast path: the scores of one checked row, which is learned; None where it does not apply."""
        return None

    @abstractmethod
    def scores(self, f: Array, class_weight: ClassWeight) -> Array:
        """What `learn` returns, of the outputs f of rows that are not learned; the caller holds the lock."""

    @abstractmethod
    def merged(self, learner: Learner, parts: Sequence[Self], rows: list[int]) -> tuple[Self, list[Alignment]]:
        """Those of all parts of this base, and how outputs of base and parts become theirs; each learned some rows."""

    @abstractmethod
    def record(self) -> dict[str, Tree]:
        """Plain data."""
