"""Landmark policies, one file each; a file named here is known everywhere."""

from nolana.reference.policies.fixed import Fixed
from nolana.reference.policies.kmeans import KMeans
from nolana.reference.policies.policy import Policy, Proposal
from nolana.reference.policies.user import UserPolicy

__all__ = ["Fixed", "KMeans", "Policy", "Proposal", "UserPolicy"]
