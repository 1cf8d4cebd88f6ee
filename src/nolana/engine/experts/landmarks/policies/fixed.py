"""Landmarks that never move."""

from nolana.engine.experts.landmarks.policies.policy import Array, DistancePolicy, Proposal


class Fixed(DistancePolicy):
    """No row moves a landmark."""

    label = "fixed"

    def propose(self, x: Array, distances: Array, landmarks: Array, counts: Array, threshold: float) -> Proposal | None:
        return None
