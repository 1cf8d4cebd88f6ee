"""Landmark policies, one file each; a file named here is known everywhere."""

from nolana.engine.experts.landmarks.policies.expiring import Expiring
from nolana.engine.experts.landmarks.policies.fixed import Fixed
from nolana.engine.experts.landmarks.policies.kmeans import KMeans
from nolana.engine.experts.landmarks.policies.policy import DistancePolicy, Policy, Proposal, Situation
from nolana.engine.experts.landmarks.policies.user import UserPolicy
from nolana.engine.experts.landmarks.policies.weighted import Weighted
from nolana.engine.experts.landmarks.policies.window import Window

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
