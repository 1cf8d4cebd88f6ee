"""Landmarks that never move."""

from nolana.reference.policies.policy import Array, Policy, Proposal


class Fixed(Policy):
    """No row moves a landmark."""

    label = "fixed"

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        return None
