"""Rows in, scores out: the loop that every NumPy engine shares.

For each row: score it; while places are free, take it as a landmark if it is new enough; learn it; if it did not
become a landmark, let the policy move one.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.reference.checks import check_shapes, count_of
from nolana.reference.kernels import Kernel
from nolana.reference.landmarks import Policy

Array = NDArray[np.float64]
State = dict[str, Any]


SMALLEST_RIDGE = 1e-6  # relative to the mean of k(u, u)


class Model(Protocol):
    """A map on top of the landmarks and the weights learned on it."""

    needs_ridge: bool  # whether it inverts E + delta I

    @property
    def outputs(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def scores(self, k: Array) -> Array: ...
    def novelty(self, k: Array, self_value: float) -> float: ...
    def grow(self, k: Array, self_value: float, delta: float, gram: Callable[[], Array]) -> None: ...
    def move(
        self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float, delta: float
    ) -> bool: ...
    def refresh(self, gram: Array, delta: float) -> float: ...
    def learn(self, k: Array, self_value: float, y: Array, f: Array, weight: float, step: float) -> None: ...
    def shapes(self, landmarks: int, outputs: int) -> dict[str, tuple[int, ...]]: ...
    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class Optimizer(Protocol):
    """How a model learns, before it is known on how many landmarks."""

    def model(self) -> Model: ...


class Learner:
    """The NumPy twin of the compiled learner: same constructor, same verbs, same state."""

    def __init__(
        self,
        *,
        capacity: int,
        features: int,
        kernel: Kernel,
        optimizer: Optimizer,
        policy: Policy,
        novelty: float,
    ) -> None:
        if capacity < 1 or features < 1:
            raise ValueError("a learner needs at least one landmark and one feature")
        self.capacity, self.features = capacity, features
        self.kernel, self.policy, self.fresh_enough = kernel, policy, novelty
        self.model = optimizer.model()
        self.landmarks: Array = np.zeros((0, features))
        self.counts: Array = np.zeros(0)
        self.gamma, self.threshold, self.ridge = 1.0, np.inf, 1e-3
        self.rows = self.moves = 0

    @property
    def size(self) -> int:
        return len(self.landmarks)

    @property
    def outputs(self) -> int:
        return self.model.outputs

    @property
    def memory_bytes(self) -> int:
        rows = 4 * self.landmarks[:1].nbytes + 8 * self.capacity
        return self.landmarks.nbytes + self.counts.nbytes + self.model.memory_bytes + rows

    def learn(self, x: Array, y: Array, weight: Array | None = None) -> Array:  # (n, d), (n, c), (n,) -> (n, c)
        """What each row scored before it was learned."""
        weights = np.ones(len(x)) if weight is None else weight
        scores = np.empty(y.shape)
        for i, row in enumerate(x):
            k, distances = self.kernel.row(row, self.landmarks, self.gamma)
            scores[i] = self.model.scores(k)
            if weights[i] > 0:
                self.learn_row(row, k, distances, y[i], scores[i], weights[i])
        return scores

    def learn_row(self, x: Array, k: Array, distances: Array, y: Array, f: Array, weight: float) -> None:
        self.rows += 1
        self_value = self.kernel.self(x, self.gamma)
        grown = self.size < self.capacity and self.is_new(k, self_value)
        if grown:
            self.grow(x, k, self_value)
            k = np.append(k, self_value)
        self.model.learn(k, self_value, y, f, weight, self.rows)
        if not grown and self.size:
            proposal = self.policy.propose(x, distances, self.landmarks, self.counts, self.threshold)
            if proposal is not None:
                self.move(proposal.q, proposal.place, proposal.count)

    def is_new(self, k: Array, self_value: float) -> bool:
        """k(x,x) - k.P k > novelty k(x,x); where places are still free after m rows, less and less is enough."""
        fresh = self.model.novelty(k, self_value)
        wanted = self.fresh_enough * min(1.0, self.capacity / self.rows)
        return fresh > wanted * self_value and fresh > 2 * self.ridge

    def grow(self, x: Array, k: Array, self_value: float) -> None:
        self.landmarks = np.vstack([self.landmarks, x])
        self.counts = np.append(self.counts, 1.0)
        self.model.grow(k, self_value, self.ridge, self.gram)

    def move(self, q: int, place: Array, count: float) -> None:
        if not np.isfinite(place).all():
            raise ValueError(f"the landmark policy moved landmark {q} to a place that is not finite")
        old = self.landmarks[q].copy()
        new_values, _ = self.kernel.row(place, self.landmarks, self.gamma)
        old_values, _ = self.kernel.row(old, self.landmarks, self.gamma)
        self_values = self.kernel.self(place, self.gamma), self.kernel.self(old, self.gamma)
        self.landmarks[q], self.counts[q] = place, count
        self.moves += 1
        outgrown = self.model.needs_ridge and self.ridge < SMALLEST_RIDGE * self_values[0] / self.size
        if not self.model.move(q, new_values, old_values, *self_values, self.ridge) or outgrown:
            self.refresh()

    def refresh(self) -> None:
        """The map from the landmarks alone, with a ridge that is not too small for them."""
        gram = self.gram()
        floor = SMALLEST_RIDGE * float(np.diag(gram).mean()) if self.model.needs_ridge else 0.0
        self.ridge = self.model.refresh(gram, max(self.ridge, floor))

    def gram(self) -> Array:
        """E over the landmarks, its diagonal by k(u, u)."""
        gram = np.array([self.kernel.row(u, self.landmarks, self.gamma)[0] for u in self.landmarks])
        gram = gram.reshape(self.size, self.size)
        gram[np.diag_indices(self.size)] = [self.kernel.self(u, self.gamma) for u in self.landmarks]
        symmetric: Array = (gram + gram.T) / 2
        return symmetric

    def scores(self, x: Array) -> Array:  # (n, d) -> (n, c)
        """The scores of rows that are not learned."""
        rows = [self.model.scores(self.kernel.row(row, self.landmarks, self.gamma)[0]) for row in x]
        return np.array(rows).reshape(len(x), self.outputs)

    def kernel_rows(self, x: Array) -> Array:  # (n, d) -> (n, m)
        """k(x_i, u_j)."""
        rows = [self.kernel.row(row, self.landmarks, self.gamma)[0] for row in x]
        return np.array(rows).reshape(len(x), self.size)

    def state(self) -> State:
        """Everything that outlives a call, as named arrays and numbers."""
        own = {
            "landmarks": self.landmarks.copy(),
            "counts": self.counts.copy(),
            "gamma": float(self.gamma),
            "threshold": float(self.threshold),
            "ridge": float(self.ridge),
            "rows": float(self.rows),
            "moves": float(self.moves),
        }
        return own | self.model.state()

    def restore(self, state: State) -> None:
        """Continue from an exported state."""
        n = len(state["landmarks"])
        if n > self.capacity:
            raise ValueError(f"state: {n} landmarks, but there is room for {self.capacity}")
        own = {"landmarks": (n, self.features), "counts": (n,)}
        check_shapes(state, own | self.model.shapes(n, len(state["weights"])))
        self.rows, self.moves = count_of(state, "rows"), count_of(state, "moves")
        self.landmarks, self.counts = np.array(state["landmarks"]), np.array(state["counts"])
        self.gamma, self.threshold, self.ridge = state["gamma"], state["threshold"], state["ridge"]
        self.model.restore(state)
