"""Wide sparse rows for a landmark learner: it learns on their sketches.

A kernel of a dot product or of a distance needs the rows only up to x.u, |x|^2 and |u|^2, which sketches keep (see
`nolana.engine.experts.sparse_linear.sketch`). So a row costs its non-zeros and 1,024 m, whatever the number of features
is; landmarks are stored and moved as sketches.
"""

from typing import Any, Self

import numpy as np

from nolana.backend import backend
from nolana.learner.driver import Array, Driver
from nolana.learner.rows import SparseRows

SKETCH = 1024  # sums that stand for a row; sparse rows of at most so many features become dense
SEED = 0


def sketched(x: Array | SparseRows) -> Array:  # (n, d) -> (n, 1024)
    """The sketches of rows."""
    return np.asarray(backend().sketch_rows(*SparseRows.of(x).parts, SKETCH, SEED))


class SketchedLearner:
    """`inner`, a driver for rows of 1,024 features, behind rows of any number of features; all else is inner's."""

    sparse = True

    def __init__(self, inner: Driver, features: int) -> None:
        self.inner, self.n_features = inner, features

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.inner, name)

    def learn(self, x: Array | SparseRows, y: Array, *weights: Array | None) -> Array:
        """What each row scored before it was learned."""
        return self.inner.learn(sketched(x), y, *weights)

    def scores(self, x: Array | SparseRows) -> Array:
        """Scores of rows that are not learned."""
        return self.inner.scores(sketched(x))

    def copy(self) -> Self:
        """A learner of its own in the same state."""
        return type(self)(self.inner.copy(), self.n_features)
