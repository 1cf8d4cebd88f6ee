"""Readers of files and pipes: an older name of `nolana.sources`."""

from nolana.sources import *  # noqa: F403
from nolana.sources import __all__ as __all__
