"""Learners of other libraries for the benchmarks: River and MOA from `nolana.research.peers`, and Vowpal Wabbit.

A learner has nolana's verb, `learn(rows, y)`, which returns the scores of rows before they are learned, and `convert`,
which brings rows to the form that the library reads; `nolana.evaluate` does not count the time for that.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.research.peers import Peer, Task, peer

Array = NDArray[np.float64]
Labels = NDArray[np.generic]
Make = Callable[[Task, int], Any]  # arguments: task, seed

BLOCK = 1000  # rows


def blocks_of(learner: Any, X: Array, y: Labels) -> Iterator[tuple[Array, Labels]]:
    """Blocks of the size that the learner takes."""
    size = getattr(learner, "block", BLOCK)
    for i in range(0, len(X), size):
        yield X[i : i + size], y[i : i + size]


class VowpalWabbit:
    """One pass of Vowpal Wabbit over a file; its predictions are those made before learning.

    The whole stream is one block, so that the time is that of its own loop, parsing included.
    """

    block = 1_000_000_000

    def __init__(self, task: Task, options: list[str]) -> None:
        self._task, self._options = task, options
        self._directory = tempfile.TemporaryDirectory()
        self.memory_bytes_ = 0
        if task.classes is not None:
            self.classes_ = task.classes

    def convert(self, X: Array, y: Labels) -> Path:
        path = Path(self._directory.name) / "rows.vw"
        # From 1: VW hashes the product of feature 0 with another to the slot of the other.
        names = [f"{j + 1}:" for j in range(self._task.n_features)]
        with path.open("w") as file:
            for x, target in zip(X, self._labels(y), strict=True):
                used = np.flatnonzero(x)
                features = " ".join(f"{names[j]}{value:.9g}" for j, value in zip(used, x[used].tolist(), strict=True))
                file.write(f"{target:.9g} | {features}\n")
        return path

    def learn(self, rows: Path, y: Labels) -> Array:
        from vowpalwabbit import Workspace

        output = rows.with_suffix(".predictions")
        task = [] if self.classes is None else ["--binary"] if self.classes == 2 else ["--oaa", str(self.classes)]
        workspace = Workspace(arg_list=["--quiet", "-d", str(rows), "-p", str(output), *task, *self._options])
        self.memory_bytes_ = 16 * workspace.num_weights()  # a slot: weight, two statistics and padding, float32
        workspace.finish()
        predicted = np.loadtxt(output, ndmin=1)
        if len(predicted) != len(y):
            raise ValueError(f"Vowpal Wabbit predicted {len(predicted)} of {len(y)} rows of {rows}")
        if self.classes == 2:
            predicted = predicted > 0
        elif self.classes is not None:
            predicted = predicted - 1
        return self._task.scores(predicted)

    @property
    def classes(self) -> int | None:
        return None if self._task.classes is None else len(self._task.classes)

    def _labels(self, y: Labels) -> NDArray[Any]:
        """-1 and 1, or 1 to the number of classes, or the target."""
        targets = self._task.targets(y)
        return targets if self.classes is None else 2 * targets - 1 if self.classes == 2 else targets + 1


def vw_linear(task: Task, seed: int) -> VowpalWabbit:  # noqa: ARG001
    return VowpalWabbit(task, [])


def vw_products(task: Task, seed: int) -> VowpalWabbit:  # noqa: ARG001
    return VowpalWabbit(task, ["--interactions", "::"])


@dataclass(frozen=True)
class Entry:
    """A method of another library, at its default parameters."""

    peer: Peer
    regression: bool = True

    @property
    def make(self) -> Make:
        return self.peer.make

    @property
    def missing(self) -> str | None:
        """What must be installed first, or None."""
        return self.peer.missing


PEERS = {
    "River ARF(10)": Entry(peer("river:ARF")),
    "River AMF(10)": Entry(peer("river:AMF")),
    "River scaler | linear": Entry(peer("river:linear")),
    "VW linear": Entry(Peer("VW linear", "vowpalwabbit", vw_linear)),
    "VW all products": Entry(Peer("VW all products", "vowpalwabbit", vw_products)),
    "MOA ARF(10)": Entry(peer("moa:ARF")),
    "MOA SRP(10)": Entry(peer("moa:SRP"), regression=False),
    "MOA SAMkNN": Entry(peer("moa:SAMkNN"), regression=False),
}
