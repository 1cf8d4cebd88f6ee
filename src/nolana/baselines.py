"""Baselines that every learner should beat: a short name of `nolana.research.baselines`."""

from nolana.research.baselines import *  # noqa: F403
from nolana.research.baselines import __all__ as __all__
