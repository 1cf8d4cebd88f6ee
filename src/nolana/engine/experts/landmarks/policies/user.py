"""A user's own policy object, which runs in the NumPy engine."""

from typing import Any

from nolana.engine.base.bounds import Share
from nolana.engine.experts.landmarks.policies.policy import Array, DistancePolicy, Proposal


class UserPolicy(DistancePolicy):
    """Growth as everywhere; ``propose`` is the user's."""

    user_parameter = "landmarks"

    def __init__(self, policy: Any, novelty: Share) -> None:
        if not hasattr(policy, "propose"):
            raise ValueError(f"landmarks={policy!r} has no propose(); pass an object that has")
        super().__init__(novelty)
        self.policy = policy

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        proposal: Proposal | None = self.policy.propose(x, distances, landmarks, counts, threshold)
        return proposal
