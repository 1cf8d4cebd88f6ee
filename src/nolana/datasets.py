"""The data sets of the experiments: a short name of `nolana.research.datasets`."""

from nolana.research.datasets import *  # noqa: F403
from nolana.research.datasets import __all__ as __all__
