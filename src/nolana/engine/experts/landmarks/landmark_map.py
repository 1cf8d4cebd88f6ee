"""Landmarks u_1..u_m, a kernel, and a policy that adds and moves them.

`MovingLandmarks` is what every map over landmarks shares. `LandmarkMap` has phi(x) = k_x = [k(x,u_1)..k(x,u_m)] and
P = (E + delta I)^-1, updated by one product for each change (`nolana.engine.experts.landmarks.inverse`).
"""

from abc import abstractmethod

import numpy as np

from nolana.engine.base.bounds import Count
from nolana.engine.base.state import POSITIVE, Field, Size, count
from nolana.engine.experts.landmarks.inverse import grown, inverted, moved
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.experts.landmarks.policies.policy import Policy, Situation
from nolana.engine.experts.map import Array, Growth, Map, Move

SMALLEST_RIDGE = 1e-6  # relative to the mean of k(u, u)


class MovingLandmarks(Map):
    """For each row: while places are free, take it as a landmark if it is new enough; else let the policy move one."""

    needs_ridge = True  # whether it inverts E + delta I

    def __init__(self, features: Count, capacity: Count, kernel: Kernel, policy: Policy) -> None:
        if capacity < 1 or features < 1:
            raise ValueError("a landmark map needs room for at least one landmark, and at least one feature")
        super().__init__(features)
        self.capacity, self.kernel, self.policy = capacity, kernel, policy
        self.gamma, self.threshold, self.ridge = 1.0, np.inf, 1e-3
        self.clear()

    def clear(self) -> None:
        self.landmarks: Array = np.zeros((0, self.features))
        self.counts: Array = np.zeros(0)
        self.moves = 0
        self.policy.clear()

    @property
    def size(self) -> int:
        return len(self.landmarks)

    @property
    def landmarks_side(self) -> Size:
        return Size("landmarks", self.capacity, owner="map")

    def fields(self) -> list[Field]:
        side = self.landmarks_side
        own = [Field(self, "landmarks", (side, self.features)), Field(self, "counts", (side,), low=0.0)]
        lows = {"gamma": POSITIVE, "threshold": 0.0, "ridge": 0.0}
        numbers = [Field(self, name, low=low) for name, low in lows.items()]
        return [*own, *numbers, count(self, "moves"), *self.policy.fields(side)]

    # What the representation of the map adds.

    @abstractmethod
    def represent(self) -> None:
        """`phi` from the kernel values `k`."""

    @abstractmethod
    def novelty(self) -> float:
        """The part of k(x, x) that the landmarks do not explain."""

    @abstractmethod
    def added(self, k: Array, self_value: float) -> None:
        """A landmark was appended, whose kernel values with those before are k."""

    @abstractmethod
    def replaced(self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float) -> bool:
        """Landmark q has moved; values are against the landmarks before. False if `refresh` must be called."""

    @abstractmethod
    def rebuild(self, gram: Array, delta: float) -> float:
        """The map from the kernel matrix alone; returns the ridge it took."""

    def stored(self, place: Array) -> Array:
        """The place as a landmark has it."""
        return place

    # The row at hand.

    def evaluate(self, x: Array) -> None:
        self.x = x
        self.k, self.distances = self.kernel.row(x, self.landmarks, self.gamma)
        self.represent()

    def before(self, step: int) -> None:
        self.self_value = self.kernel.self(self.x, self.gamma)
        self.grew = self.size < self.capacity and self.is_new(step)
        if self.grew:
            k = self.k
            self.landmarks = np.vstack([self.landmarks, self.stored(self.x)])
            self.counts = np.append(self.counts, 1.0)
            self.policy.grown(self.counts, step)
            self.added(k, self.self_value)
            self.k = np.append(k, self.self_value)
            self.represent()

    def is_new(self, step: int) -> bool:
        """k(x,x) - k.P k > novelty k(x,x), and not just the ridge."""
        fresh = self.novelty()
        return fresh > self.policy.novelty(step, self.capacity) * self.self_value and fresh > 2 * self.ridge

    def after(self, step: int) -> None:
        if self.grew or not self.size:
            return
        novelty = self.novelty() if self.policy.needs_novelty else np.nan
        own = self.landmarks, self.counts, self.threshold
        proposal = self.policy.decide(Situation(self.x, self.distances, *own, step, self.self_value, novelty))
        if proposal is not None:
            self.move(proposal.q, proposal.place, proposal.count)

    def move(self, q: int, place: Array, count: float) -> None:
        if not np.isfinite(place).all():
            raise ValueError(f"the landmark policy moved landmark {q} to a place that is not finite")
        old = self.landmarks[q].copy()
        new_values, _ = self.kernel.row(place, self.landmarks, self.gamma)
        old_values, _ = self.kernel.row(old, self.landmarks, self.gamma)
        self_values = self.kernel.self(place, self.gamma), self.kernel.self(old, self.gamma)
        self.landmarks[q], self.counts[q] = self.stored(place), count
        self.moves += 1
        outgrown = self.needs_ridge and self.ridge < SMALLEST_RIDGE * self_values[0] / self.size
        if not self.replaced(q, new_values, old_values, *self_values) or outgrown:
            self.refresh()

    def refresh(self) -> None:
        """The map from the landmarks alone, with a ridge that is not too small for them."""
        gram = self.gram()
        floor = SMALLEST_RIDGE * float(np.diag(gram).mean()) if self.needs_ridge else 0.0
        self.ridge = self.rebuild(gram, max(self.ridge, floor))

    def gram(self) -> Array:
        """E over the landmarks, its diagonal by k(u, u)."""
        return self.kernel.gram(self.landmarks, self.landmarks, self.gamma)


class LandmarkMap(MovingLandmarks):
    """phi(x) = k_x, with the inverse P (m, m) as the prior of the weights.

    single: the places of landmarks are stored in single precision.
    """

    def __init__(self, features: Count, capacity: Count, kernel: Kernel, policy: Policy, single: bool = False) -> None:
        super().__init__(features, capacity, kernel, policy)
        self.single = single

    def stored(self, place: Array) -> Array:
        return place.astype(np.float32).astype(np.float64) if self.single else place

    def restored(self) -> None:
        self.landmarks = self.stored(self.landmarks)

    def clear(self) -> None:
        super().clear()
        self.inverse: Array = np.zeros((0, 0))
        self.since_refresh = 0

    @property
    def side(self) -> Size:
        return self.landmarks_side

    def fields(self) -> list[Field]:
        inverse = Field(self, "inverse", (self.side,), packed=True)
        return [*super().fields(), inverse, count(self, "since_refresh")]

    def represent(self) -> None:
        self.phi = self.k

    def prior(self) -> Array:
        return self.inverse

    def prior_product(self) -> Array:
        return self.inverse @ self.k

    def novelty(self) -> float:
        """k(x,x) - k.P k."""
        return float(self.self_value - self.k @ (self.inverse @ self.k))

    def added(self, k: Array, self_value: float) -> None:
        self.inverse, z, g = grown(self.inverse, k, self_value, self.ridge)
        self.notify(Growth(z, g))

    def replaced(self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float) -> bool:
        move = moved(self.inverse, q, new_values, old_values, new_self, old_self, self.ridge)
        self.inverse = move.inverse
        self.carry(move.q, move.s, move.carry, new_values, new_self)
        self.since_refresh += 1
        return move.trusted and self.since_refresh < self.size

    def carry(self, q: int, s: float, carry: Array, new_values: Array, new_self: float) -> None:
        """Notify the heads that landmark q moved."""
        self.notify(Move(q, s, carry, self.inverse[:, q]))

    def rebuild(self, gram: Array, delta: float) -> float:
        self.inverse, delta = inverted(gram, delta)
        self.since_refresh = 0
        return delta
