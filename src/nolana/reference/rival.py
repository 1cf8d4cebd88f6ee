"""What every rival shares in NumPy: rows in, scores out, a state of named arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.reference.checks import check_shapes, count_of

Array = NDArray[np.float64]
State = dict[str, Any]


class Rival:
    """The loop of a rival; an algorithm writes `reset`, `score` and `update`, and names its state.

    Targets are (n, c): one output with y in {-1, +1} for two classes (or a number for regression), else one
    output for each class, +1 for the row's own.
    """

    def __init__(self, features: int) -> None:
        self.features = features
        self.gamma = 1.0
        self.rows = 0
        self.outputs = 1
        self.weights: Array = np.zeros((1, 0))

    def clear(self, outputs: int) -> None:
        """Back to before the first row, with this many outputs."""
        self.outputs, self.rows = outputs, 0
        self.reset()

    def reset(self) -> None:
        raise NotImplementedError

    def shapes(self, supports: int, outputs: int) -> dict[str, tuple[int, ...]]:
        """The attributes that are the state, beside rows and gamma, for so many support vectors and outputs."""
        raise NotImplementedError

    def score(self, x: Array) -> Array:  # (d,) -> (c,)
        raise NotImplementedError

    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        """Learn the row that was just scored."""
        raise NotImplementedError

    def learn(self, x: Array, y: Array, weight: Array | None = None) -> Array:  # (n, d), (n, c), (n,) -> (n, c)
        """What each row scored before it was learned."""
        scores = np.empty(y.shape)
        for i, row in enumerate(x):
            scores[i] = self.score(row)
            w = 1.0 if weight is None else weight[i]
            if w > 0:
                self.rows += 1
                self.update(row, y[i], w, scores[i])
        return scores

    def scores(self, x: Array) -> Array:
        return np.array([self.score(row) for row in x]).reshape(len(x), self.outputs)

    @staticmethod
    def direction(y: Array, f: Array) -> Array:  # (c,), (c,) -> (c,)
        """Where a row pulls: y for one output; e_y - e_s for several, y its class and s the best-scored other one."""
        if len(y) == 1:
            return y
        own = int(np.argmax(y))
        others = f.copy()
        others[own] = -np.inf
        direction = np.zeros(len(y))
        direction[own], direction[np.argmax(others)] = 1, -1
        return direction

    @property
    def memory_bytes(self) -> int:
        return int(sum(np.asarray(getattr(self, name)).nbytes for name in self.shapes(0, 0)))

    def state(self) -> State:
        own = {name: np.array(getattr(self, name), dtype=np.float64) for name in self.shapes(0, 0)}
        return own | {"rows": float(self.rows), "gamma": float(self.gamma)}

    def restore(self, state: State) -> None:
        """Continue from an exported state; everything is checked before anything changes."""
        outputs = len(state["weights"])
        check_shapes(state, self.shapes(len(state.get("supports", ())), outputs))
        rows, gamma = count_of(state, "rows"), float(state["gamma"])
        self.outputs, self.rows, self.gamma = outputs, rows, gamma
        self.reset()
        for name in self.shapes(0, 0):
            setattr(self, name, np.array(state[name]))
