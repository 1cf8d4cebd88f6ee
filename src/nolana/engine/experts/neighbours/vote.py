"""The nearest rows of a window vote with weight 1.5 - (D/D_k)^2, D their distances, D_k the largest.

classes    f_c = (log(votes_c + 0.1) - mean over the classes)/2;  one output: f of the second class
regression f = mean of their targets, which the stack has bounded
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Index
from nolana.engine.base.state import OUTPUTS, Field, Size
from nolana.engine.experts.head import Head
from nolana.engine.experts.map import Array, Event, Map
from nolana.engine.experts.neighbours.neighbour_map import NeighbourMap
from nolana.engine.learner.losses import Loss
from nolana.engine.learner.residual_variance import Noise

NO_VOTE = 0.1
LARGEST_TARGET = 2.0**24  # integers up to here are exact in single precision
UNLABELLED = 2.0**25  # in place of the target of a row that has none, and does not vote


class Vote(Head):
    """targets (rows,) of the last rows, the oldest first: y of one output, else the index of the class.

    counts (c,): rows learned that had each output's class.
    """

    map: NeighbourMap

    def __init__(self, loss: Loss, window: Index) -> None:
        super().__init__(loss)
        self.window = window

    def attach(self, map: Map) -> None:
        if not isinstance(map, NeighbourMap):
            raise ValueError("this head votes by neighbours, and the map has none")
        if self.window >= len(map.windows):
            raise ValueError("the head names a window that does not exist")
        self.map = map

    @property
    def outputs(self) -> int:
        return len(self.counts)

    def clear(self, outputs: int) -> None:
        self.counts = np.zeros(outputs)
        self.targets: NDArray[np.float32] = np.zeros(0, dtype=np.float32)

    def append_output(self, rows: int) -> None:
        self.counts = np.append(self.counts, 0.0)

    def follow(self, event: Event) -> None:
        """Neighbours change by rows only."""

    def scores(self) -> Array:
        ages, distances = self.map.nearest(self.window)
        if not len(ages):
            return np.zeros(self.outputs)
        targets = self.targets[len(self.targets) - 1 - ages].astype(np.float64)
        labelled = targets != UNLABELLED
        if self.loss.linear:
            return np.array([targets[labelled].sum() / max(1, int(labelled.sum()))])
        ratio = distances / distances[-1] if distances[-1] > 0 else np.zeros(len(distances))
        votes = np.zeros(max(2, self.outputs))
        for target, share in zip(targets[labelled], ratio[labelled], strict=True):
            own = int(target > 0) if self.outputs == 1 else min(max(int(target), 0), self.outputs - 1)
            votes[own] += 1.5 - share**2
        logs = np.log(votes + NO_VOTE)
        f: Array = (logs - logs.sum() / len(logs)) / 2
        return f[1:] if self.outputs == 1 else f

    def learn(self, y: Array, f: Array, weight: float, step: int, noise: Noise) -> None:
        own = int(np.argmax(y))
        target = min(LARGEST_TARGET, max(-LARGEST_TARGET, float(y[0]))) if self.outputs == 1 else float(own)
        self.counts[own] += 1
        self.store(target)

    def observe(self) -> None:
        self.store(UNLABELLED)

    def store(self, target: float) -> None:
        self.targets = np.append(self.targets, np.float32(target))[-self.map.windows[self.window] :]

    def fields(self) -> list[Field]:
        rows = Size("targets", self.map.windows[self.window])
        counts = Field(self, "counts", (OUTPUTS,), whole=True, low=0.0)
        return [Field(self, "targets", (rows,), dtype=np.float32, low=-LARGEST_TARGET, high=UNLABELLED), counts]
