"""The methods of the literature: a short name of `nolana.research.rivals`."""

from nolana.research.rivals import *  # noqa: F403
from nolana.research.rivals import __all__ as __all__
