"""The experts that a stream learner can have: linear, landmarks, bins, neighbours.

An expert is one feature map with its heads. `StreamClassifier(experts=[...])` takes a list of them; the default is
``[Linear(), Landmarks(), Bins(), Neighbours()]``. How large each map becomes follows from the memory. An expert of your
own is a subclass of `Expert` (docs/extend.md).

Examples
--------
>>> from nolana import StreamClassifier, experts
>>> bins_alone = StreamClassifier(experts=[experts.Bins()])
>>> with_a_window = StreamClassifier(
...     experts=[*experts.DEFAULT, experts.Landmarks(policy="window", forgetting=0.999, fast=False, share=0.2)]
... )
"""

import warnings

from nolana.experts.base import Expert
from nolana.experts.bins import Bins
from nolana.experts.landmarks import Landmarks
from nolana.experts.linear import Linear
from nolana.experts.neighbours import Neighbours
from nolana.experts.sparse_linear import SparseLinear

__all__ = ["DEFAULT", "Bins", "Expert", "Landmarks", "Linear", "Neighbours", "SparseLinear"]

DEFAULT = (Linear(), Landmarks(), Bins(), Neighbours())


def __getattr__(name: str) -> type[Expert]:
    if name == "Cells":
        warnings.warn("nolana.experts.Cells is deprecated; use nolana.experts.Bins", DeprecationWarning, stacklevel=2)
        return Bins
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
