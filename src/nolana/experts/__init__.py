"""The experts that a stream learner can have: linear, landmarks, bins, neighbours, trees.

An expert is one feature map with its heads. `StreamClassifier(experts=[...])` takes a list of them; the default is
``[Linear(), Landmarks(), Bins(), Neighbours(), Trees()]``. How large each map becomes follows from the memory. An
expert of your own is a subclass of `Expert` (docs/extend.md).

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
from nolana.experts.effects import Effects
from nolana.experts.landmarks import Landmarks
from nolana.experts.linear import Linear
from nolana.experts.neighbours import Neighbours
from nolana.experts.sparse_linear import SparseLinear
from nolana.experts.trees import Trees

__all__ = ["DEFAULT", "Bins", "Effects", "Expert", "Landmarks", "Linear", "Neighbours", "SparseLinear", "Trees"]

DEFAULT = (Linear(), Landmarks(), Bins(), Neighbours(), Trees())
MIXED = (Effects(), *DEFAULT)  # of rows with categories


def __getattr__(name: str) -> type[Expert]:
    if name == "Cells":
        warnings.warn("nolana.experts.Cells is deprecated; use nolana.experts.Bins", DeprecationWarning, stacklevel=2)
        return Bins
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
