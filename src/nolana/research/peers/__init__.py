"""Methods of other libraries by name, as learners: River (``river:ARF``), MOA through CapyMOA (``moa:ARF``), boosting.

``nolana compare --methods`` and the benchmarks take them from here. Each has the defaults of its library, ten models in
an ensemble, and no memory limit.
"""

import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.errors import MissingExtraError
from nolana.metrics.label_index import Labels
from nolana.research.comparison import Learner
from nolana.research.tuning import Tunable, Value

__all__ = ["NAMES", "Peer", "PeerMethod", "Task", "is_peer", "peer"]

Array = NDArray[np.float64]

NAMES = (
    "river:linear, river:ARF, river:AMF, river:SRP, river:HAT, moa:ARF, moa:SRP, moa:SAMkNN, moa:LB, moa:SGBT, "
    "moa:PLASTIC, moa:DEMS, lightgbm, histgb"
)
PACKAGES = {"river": "river", "moa": "capymoa"}
RETRAINED = {"lightgbm": "lightgbm", "histgb": "sklearn"}  # by `boosting`, on all rows so far
REMEDIES = {
    "river": 'pip install "nolana[river]"',
    "lightgbm": 'pip install "nolana[bench]", or lightgbm alone',
    "capymoa": 'install Java, then: pip install "nolana[bench]", or capymoa alone',
}


@dataclass(frozen=True)
class Task:
    """What some libraries must know before the first row."""

    n_features: int
    classes: Labels | None  # sorted; None: regression
    nominal: Mapping[int, int] = field(default_factory=dict)  # columns of codes 0, 1, ...: the number of values

    @classmethod
    def of(cls, X: Array, y: Labels, regression: bool, nominal: Mapping[int, int] | None = None) -> "Task":
        """The task of learning these rows."""
        return cls(X.shape[1], None if regression else np.unique(y), nominal or {})

    def targets(self, y: Labels) -> Labels:
        """Numbers of the classes, or the targets of a regression."""
        return y if self.classes is None else np.searchsorted(self.classes, y)

    def scores(self, predicted: ArrayLike) -> Array:
        """Scores (n, classes) whose largest one is at the predicted class, or (n,) for a regression; -1: no class."""
        if self.classes is None:
            return np.asarray(predicted, dtype=np.float64)
        numbers = np.asarray(predicted, dtype=np.int64)
        scores = (numbers[:, None] == np.arange(len(self.classes))).astype(np.float64)
        scores[numbers < 0] = -np.inf
        return np.asarray(scores)


@dataclass(frozen=True)
class Peer:
    """A method of another library."""

    name: str
    package: str
    make: Callable[[Task, int], Learner]  # arguments: task, seed

    @property
    def missing(self) -> str | None:
        """Why the method cannot run here, or None."""
        if importlib.util.find_spec(self.package) is None:
            return f"the package {self.package} is not installed"
        if self.package == "capymoa" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            return "Java is not installed"
        return None

    def check(self) -> None:
        """MissingExtraError if the method cannot run here."""
        if self.missing is not None:
            raise MissingExtraError(f"{self.name} does not run: {self.missing}; {REMEDIES[self.package]}")


def is_peer(name: str) -> bool:
    """Whether a name is that of a method of another library: ``library:method``, or a boosting that is retrained."""
    return ":" in name or name.strip().lower() in RETRAINED


def peer(name: str) -> Peer:
    """A method by its name: a short one of `NAMES`, or a class, as ``river:tree.HoeffdingTreeClassifier``.

    >>> peer("river:ARF").package
    'river'
    """
    short = name.strip().lower()
    library, _, method = (part.strip() for part in name.partition(":"))
    if short in RETRAINED:
        module, method, package = "boosting", short, RETRAINED[short]
    elif library in PACKAGES and method:
        module, short, package = library, f"{library}:{method}", PACKAGES[library]
    else:
        raise ValueError(f"{name!r} is not a method of another library; choose from {NAMES}, or name a class after ':'")
    make = importlib.import_module(f"nolana.research.peers.{module}").make
    return Peer(short, package, partial(make, method))


@dataclass(frozen=True)
class PeerMethod(Tunable[Learner]):
    """A method of another library beside those of `nolana.research.methods`: it is not tuned."""

    peer: Peer
    task: Task

    @property
    def name(self) -> str:
        return self.peer.name

    def axes(self) -> tuple[()]:
        return ()

    def build(self, parameters: Mapping[str, Value], seed: int) -> Learner:
        return self.peer.make(self.task, seed)
