"""The sets of experts that a stream learner can have: landmarks, cells, and neighbours.

A set is one feature map with its heads. `StreamClassifier(experts=[...])` takes a list of them; the default is
``[Landmarks(), Cells(), Neighbours()]``. How large each map becomes follows from the memory.

Examples
--------
>>> from nolana import StreamClassifier, experts
>>> cells_alone = StreamClassifier(experts=[experts.Cells()])
>>> follows_faster = StreamClassifier(
...     experts=[experts.Landmarks(), experts.Cells(), experts.Landmarks(policy="window", heads=("newton",))]
... )
"""

from dataclasses import dataclass

__all__ = ["DEFAULT", "Cells", "ExpertSet", "Landmarks", "Neighbours"]


@dataclass(frozen=True)
class ExpertSet:
    """What every set has. share: of the memory, at most."""


@dataclass(frozen=True)
class Landmarks(ExpertSet):
    """Kernel values with m landmarks: smooth functions.

    heads : "newton" (second order, converges), "lms" (constant gain, follows change), "sgd" (the paper's).
    policy : what moves landmarks once they are full: "fixed", "kmeans", ...
    most : m at most; None: 100, from 1 MB of memory on more.
    forgetting : lambda per row of the Newton head.
    """

    heads: tuple[str, ...] = ("newton", "lms")
    policy: str = "fixed"
    most: int | None = None
    share: float = 0.4
    forgetting: float = 1 - 3e-5


@dataclass(frozen=True)
class Cells(ExpertSet):
    """Random grids hashed into a table: fine local structure, at one table look-up for each grid.

    heads : "diagonal" (second order, converges; measures the relevance of features), "constant" (constant gain, follows
        change; needs "diagonal").
    grids : None: 128; 64 below 200 KB of memory, 256 from 1 MB on.
    The table gets the memory that no other set takes.
    """

    heads: tuple[str, ...] = ("diagonal", "constant")
    grids: int | None = None


@dataclass(frozen=True)
class Neighbours(ExpertSet):
    """The most recent rows: the nearest of them vote, in windows of the last 100, 316, 1,000, 3,162, ... rows."""

    neighbours: int = 5
    most: int = 4096
    share: float = 0.25


DEFAULT = (Landmarks(), Cells(), Neighbours())
