"""Deprecated name of `nolana.baselines`."""

import warnings

from nolana.baselines import LastLabel, MajorityClass, RunningMean

__all__ = ["LastLabel", "MajorityClass", "RunningMean"]

warnings.warn(
    "nolana.trivial is deprecated and will be removed in the next release; import nolana.baselines instead",
    DeprecationWarning,
    stacklevel=2,
)
