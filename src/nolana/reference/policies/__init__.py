"""Landmark policies, one file each; a file named here is known everywhere."""

from nolana.reference.policies.expiring import Expiring
from nolana.reference.policies.fixed import Fixed
from nolana.reference.policies.kmeans import KMeans
from nolana.reference.policies.policy import DistancePolicy, Policy, Proposal, Situation
from nolana.reference.policies.user import UserPolicy
from nolana.reference.policies.weighted import Weighted
from nolana.reference.policies.window import Window

__all__ = [
    "DistancePolicy",
    "Expiring",
    "Fixed",
    "KMeans",
    "Policy",
    "Proposal",
    "Situation",
    "UserPolicy",
    "Weighted",
    "Window",
]
