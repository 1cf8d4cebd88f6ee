"""Landmark policies by name."""

from typing import Any

from nolana.reference.landmarks import Policy, Proposal

__all__ = ["NAMES", "Policy", "Proposal", "build"]

NAMES = ("kmeans", "fixed")
_CLASSES = {"kmeans": "KMeans", "fixed": "Fixed"}


def build(policy: Any, engine: Any) -> Any:
    """The policy object of an engine; an object of the user's is taken as it is."""
    return getattr(engine, _CLASSES[policy])() if isinstance(policy, str) else policy
