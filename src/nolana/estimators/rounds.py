"""Rounds: a leader learns the first rows with its maps moving, then frozen parts learn the others and are merged.

    leader   the first 2 % of a round, and in the first round the rows until the maps are settled
    parts    the other rows, 64 at a time by turns, so that all parts see the same time of the stream
    merge    `nolana.merge`; its result leads the next round

The result depends on the rows, on the size of the rounds and on the number of parts. Who learns the parts, one process
or several, makes no difference.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.estimators.base import OnlineEstimator
from nolana.estimators.labels import aligned
from nolana.estimators.merging import check_mergeable, merge
from nolana.learner.landmark_events import LATE
from nolana.learner.rows import Matrix
from nolana.learner.schedule import FIRST_REDRAW

__all__ = ["PARTS", "ROWS_PER_ROUND", "RoundLearner", "leader_rows", "learn_here", "part_of_rows", "rows_of_parts"]

LEADER_SHARE = 0.02
PARTS = 8
ROWS_PER_ROUND = 20_000
TURN = 64  # rows that a part takes at a time

Array = NDArray[np.float64]
Result = Array | tuple[Array, Array]  # scores, or scores and probabilities
Task = tuple[OnlineEstimator, str, tuple[object, ...]]  # a part, its verb, and the arguments
Learned = tuple[slice | NDArray[np.intp], OnlineEstimator, Result]  # rows, who learned them, and the result
LearnAll = Callable[
    [list[Task]], list[tuple[OnlineEstimator, Result]]
]  # -> each part after its rows, and what the verb returned


def leader_rows(model: OnlineEstimator, rows: int, later: int = 0) -> int:
    """How many of the next `rows` rows, which are a round, the leader learns; later: rows before that round.

    Until row 2,048 the default learner scales, draws and measures its maps; landmarks may be full after 4 m rows.
    """
    settled = max(FIRST_REDRAW, LATE * getattr(model, "n_landmarks", 0))
    learned = later + (model.n_rows_ if model.__sklearn_is_fitted__() else 0)
    return min(rows, max(math.ceil(LEADER_SHARE * rows), settled - learned))


def rows_of_parts(start: int, stop: int, parts: int) -> list[NDArray[np.intp]]:
    """The rows from start to stop that each part learns."""
    rows = np.arange(start, stop)
    owners = part_of_rows(rows - start, parts)
    return [rows[owners == part] for part in range(parts)]


def part_of_rows(rows: NDArray[np.intp], parts: int) -> NDArray[np.intp]:
    """The part that learns each of these rows, which are counted from the leader's last one."""
    return rows // TURN % parts


def learn_here(tasks: list[Task]) -> list[tuple[OnlineEstimator, Result]]:
    """Learn the parts one after the other, in this process."""
    return [(part, getattr(part, verb)(*arguments)) for part, verb, arguments in tasks]


class RoundLearner:
    """A model that learns a round with each call; otherwise it is the model itself.

    Parameters
    ----------
    model : an estimator that can be split; it is changed in place.
    parts : of each round.
    learn_all : learns the rows of all parts, in any process.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamClassifier
    >>> from nolana.estimators.rounds import RoundLearner
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (6000, 2))
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    >>> learner = RoundLearner(StreamClassifier(random_state=0), parts=4)
    >>> scores = np.vstack([learner.learn(X[:3000], y[:3000]), learner.learn(X[3000:], y[3000:])])
    >>> bool((learner.predict(X) == y).mean() > 0.95)
    True
    """

    def __init__(self, model: OnlineEstimator, parts: int = PARTS, learn_all: LearnAll = learn_here) -> None:
        check_mergeable(model)
        self.model, self.parts, self.learn_all = model, parts, learn_all

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def learn(self, X: Matrix, y: ArrayLike) -> Array:
        """Learn a round; returns what each row scored before it was learned."""
        return self._learn_round("learn", X, y)[0]

    def learn_proba(self, X: Matrix, y: ArrayLike) -> tuple[Array, Array]:
        """The same with probabilities."""
        scores, probabilities = self._learn_round("learn_proba", X, y)
        return scores, probabilities

    def _learn_round(self, verb: str, X: Matrix, y: ArrayLike) -> list[Array]:
        """The results of the verb in the order of the rows; a call that fails changes nothing."""
        y, count = np.asarray(y), X.shape[0]
        leader = copy.copy(self.model)
        first = leader_rows(self.model, count)
        done: list[Learned] = [(slice(0, first), leader, getattr(leader, verb)(X[:first], y[:first]))]
        if first < count:
            rows = [own for own in rows_of_parts(first, count, self.parts) if len(own)]
            parts = leader.split(len(rows))
            tasks: list[Task] = [(part, verb, (X[own], y[own])) for part, own in zip(parts, rows, strict=True)]
            learned = self.learn_all(tasks)
            done += [(own, part, result) for own, (part, result) in zip(rows, learned, strict=True)]
            leader = merge([part for part, _ in learned], base=leader)
        self.model.__dict__.clear()
        self.model.__dict__.update(leader.__dict__)
        return self._in_order(done, count)

    def _in_order(self, done: list[Learned], count: int) -> list[Array]:
        """Scores, and probabilities where there are any, by rows and by the classes known at the end."""
        columns: list[Array] = []
        for i, missing in enumerate((-np.inf, 0.0)):
            results = [(own, part, result[i] if isinstance(result, tuple) else result) for own, part, result in done]
            if hasattr(self.model, "classes_"):
                last = (self.model.classes_, np.zeros((0, len(self.model.classes_))))
                blocks = [(part.classes_, values) for _, part, values in results]
                values = aligned([*blocks, last], missing)[1]
            else:
                values = np.concatenate([values for _, _, values in results])
            order = np.concatenate([np.arange(count)[own] for own, _, _ in results])
            column = np.empty_like(values)
            column[order] = values
            columns.append(column)
            if not isinstance(done[0][2], tuple):
                break
        return columns
