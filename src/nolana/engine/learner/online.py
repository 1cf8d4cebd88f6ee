"""Rows in, scores out: what every NumPy learner shares with its compiled counterpart."""

from abc import abstractmethod

import numpy as np

from nolana.engine.base.state import Array, Field, State, Stateful, check_all, count, restore, some_of


class Online(Stateful):
    """Targets are (n, c): y in {-1, +1} or a scalar for one output, else one output for each class, +1 for its own."""

    def __init__(self, features: int) -> None:
        self.features, self.outputs, self.rows = features, 1, 0

    def clear(self, outputs: int) -> None:
        """Back to before the first row, with this many outputs."""
        self.check_outputs(outputs)
        self.outputs, self.rows = outputs, 0
        self.reset()

    def check_outputs(self, outputs: int) -> None:
        """ValueError where this learner cannot have so many outputs."""

    @abstractmethod
    def reset(self) -> None:
        """Forget all that was learned; `outputs` is the new number of outputs."""

    @abstractmethod
    def score(self, x: Array) -> Array:  # (d,) -> (c,)
        """f of one row; what is computed on the way may be used by the next update."""

    @abstractmethod
    def update(self, x: Array, y: Array, weight: float, f: Array) -> None:
        """Learn the row that was just scored; `rows` counts it already."""

    def fields(self) -> list[Field]:
        return [count(self, "rows")]

    def learn(self, x: Array, y: Array, weight: Array | None = None) -> Array:  # (n, d), (n, c), (n,) -> (n, c)
        """Prequential scores: each row is scored, then learned; a row of weight 0 is scored only."""
        scores = np.empty(y.shape)
        for i, row in enumerate(x):
            scores[i] = self.score(row)
            w = 1.0 if weight is None else weight[i]
            if w > 0:
                self.rows += 1
                self.update(row, y[i], w, scores[i])
        return scores

    def scores(self, x: Array) -> Array:  # (n, d) -> (n, c)
        """The scores of rows that are not learned."""
        return np.array([self.score(row) for row in x]).reshape(len(x), self.outputs)

    def restore(self, state: State, tables: bool = True, units: bool = True) -> None:
        """Continue from an exported state; without `tables` those are not read, and empty afterwards.

        Without `units` those are not read and stay what they are.
        """
        outputs = check_all(some_of(self.fields(), tables, units), state)["outputs"]
        self.check_outputs(outputs)
        if not tables:
            self.clear(outputs)
        restore(some_of(self.fields(), tables, units), state)
        self.outputs = outputs
        self.restored()

    def restored(self) -> None:
        """The fields have been set."""
