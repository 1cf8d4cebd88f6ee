"""The sets of experts that a stream learner can have: linear, landmarks, bins, neighbours.

A set is one feature map with its heads. `StreamClassifier(experts=[...])` takes a list of them; the default is
``[Linear(), Landmarks(), Bins(), Neighbours()]``. How large each map becomes follows from the memory.

Examples
--------
>>> from nolana import StreamClassifier, experts
>>> bins_alone = StreamClassifier(experts=[experts.Bins()])
>>> with_a_window = StreamClassifier(
...     experts=[*experts.DEFAULT, experts.Landmarks(policy="window", forgetting=0.999, fast=False, share=0.2)]
... )
"""

import warnings
from dataclasses import dataclass

from nolana.engine.base.bounds import Count, Memory, Share

__all__ = ["DEFAULT", "Bins", "ExpertSet", "Landmarks", "Linear", "Neighbours"]


class ExpertSet:
    """A feature map with its heads."""


@dataclass(frozen=True, kw_only=True)
class Landmarks(ExpertSet):
    """Kernel values with m landmarks: smooth functions. A Newton head converges, an LMS head follows change.

    slow, fast : whether it has the Newton head and the LMS head.
    policy : what moves landmarks: "fixed", or a policy of `NolanaClassifier`.
    most : m at most; None: 100, from 1 MB of memory on more.
    share : of the memory, at most; None: 0.5 (0.42 beside a linear set), less where a small memory has few landmarks.
    forgetting : lambda per row of the Newton head.
    """

    slow: bool = True
    fast: bool = True
    policy: str = "fixed"
    most: Count | None = None
    share: Share | None = None
    forgetting: Memory = 1 - 3e-5


@dataclass(frozen=True, kw_only=True)
class Bins(ExpertSet):
    """Random grids hashed into a table: fine local structure, at one table look-up for each grid.

    fast : whether a head with constant gain stands beside the one that converges.
    grids : None: 128; 64 below 200 KB of memory, 256 from 1 MB on. With three classes or more three quarters of that.
    relevance : measure the relevance of the features and use it.

    The table gets the memory that no other set takes.
    """

    fast: bool = True
    grids: Count | None = None
    relevance: bool = True


@dataclass(frozen=True, kw_only=True)
class Neighbours(ExpertSet):
    """The most recent rows: the nearest of them vote, in windows of the last 100, 316, 1,000, ... rows.

    neighbours : how many vote.
    most : rows at most.
    share : of the memory, at most; None: 0.2, less where a small memory has few landmarks.
    """

    neighbours: Count = 5
    most: Count = 4096
    share: Share | None = None


@dataclass(frozen=True, kw_only=True)
class Linear(ExpertSet):
    """A linear model of the features: where the target is linear and noisy, no other set learns it with so few rows.

    On rows of at most 64 features it has the covariance of all its weights, where that takes at most 8 % of the memory.
    On sparse rows of more than 256 features it learns at the cost of the non-zeros: the most frequent features have a
    slot of a table each, and the other sets learn on a sketch of such rows, 64 sums. On other rows it is left out.

    share : of the memory, at most, for the table; None: 0.6.
    """

    share: Share | None = None


DEFAULT = (Linear(), Landmarks(), Bins(), Neighbours())


def __getattr__(name: str) -> type[ExpertSet]:
    if name == "Cells":
        warnings.warn("nolana.experts.Cells is deprecated; use nolana.experts.Bins", DeprecationWarning, stacklevel=2)
        return Bins
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
