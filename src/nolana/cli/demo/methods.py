"""The methods of the demo: nolana's default learner, and what one uses without it, a linear model that learns online
and a gradient boosting that is retrained from time to time.

Each has ``learn(X, y) -> scores``, the scores of the rows before they were learned, and ``memory_bytes_``.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier

from nolana import StreamClassifier

__all__ = ["BLOCK", "METHODS", "NOLANA", "RETRAIN", "LinearModel", "Method", "RetrainedBoosting"]

Array = NDArray[np.float64]

# SGDClassifier.partial_fit takes milliseconds a call, however few the rows. Row by row it is 0.3 points more accurate
# on the rows of the demo and 20 times slower.
BLOCK = 20
# The best of 108 settings on the rows of the demo (three losses, six step sizes, three penalties, averaged or not),
# eight points above the defaults.
LINEAR = {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.3, "alpha": 1e-3, "shuffle": False}

RETRAIN = 100  # rows from one training to the next
# The best of 36 settings with ten trees for each class on the rows of the demo (three learning rates, three sizes of
# leaves, two of trees, two penalties). The defaults, with 100 trees for each class, are 2.4 points more accurate and 16
# times slower: too slow for a demo. A pixel has 17 values: fewer bins save time and change no split.
BOOSTING = {"max_iter": 10, "learning_rate": 0.5, "max_leaf_nodes": 15, "min_samples_leaf": 30, "max_bins": 17}


class Learner(Protocol):
    """What the demo needs of a method."""

    @property
    def memory_bytes_(self) -> int:
        """Bytes of all that it holds."""
        ...

    def learn(self, X: object, y: object) -> Array:
        """Scores of the rows before they were learned."""
        ...


class LinearModel:
    """SGDClassifier: returns the scores of a block, then learns it.

    Parameters
    ----------
    classes : the labels, sorted.
    """

    def __init__(self, classes: NDArray[np.generic]) -> None:
        self.classes_ = classes
        self._model = SGDClassifier(**LINEAR)

    def learn(self, X: Any, y: Any) -> Array:
        """Scores (n, classes) in the order of ``classes_``; -inf in the first block."""
        if hasattr(self._model, "coef_"):
            scores: Array = self._model.decision_function(X)
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
        else:
            scores = np.full((len(X), len(self.classes_)), -np.inf)
        self._model.partial_fit(X, y, classes=self.classes_)
        return scores

    @property
    def memory_bytes_(self) -> int:
        """Bytes of the pickled model."""
        return len(pickle.dumps(self._model))


class RetrainedBoosting:
    """HistGradientBoostingClassifier: keeps all rows, and is trained on them anew after every `RETRAIN` rows.

    Between two trainings it predicts with the last model.

    Parameters
    ----------
    classes : the labels, sorted.
    """

    def __init__(self, classes: NDArray[np.generic]) -> None:
        self.classes_ = classes
        self._rows: list[tuple[Array, NDArray[np.generic]]] = []
        self._count = 0
        self._model: HistGradientBoostingClassifier | None = None
        self._model_bytes: int | None = 0  # None: not counted since the last training

    def learn(self, X: Any, y: Any) -> Array:
        """Scores (n, classes) in the order of ``classes_``; -inf before the first training, and of unknown classes."""
        scores = np.full((len(X), len(self.classes_)), -np.inf)
        if self._model is not None:
            scores[:, np.searchsorted(self.classes_, self._model.classes_)] = self._model.predict_proba(X)
        self._rows.append((X, y))
        due = (self._count + len(y)) // RETRAIN > self._count // RETRAIN
        self._count += len(y)
        if due:
            features, labels = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
            self._model, self._model_bytes = HistGradientBoostingClassifier(**BOOSTING).fit(features, labels), None
        return scores

    @property
    def memory_bytes_(self) -> int:
        """Bytes of all rows as they came, and of the pickled model."""
        if self._model_bytes is None:
            self._model_bytes = len(pickle.dumps(self._model))
        return self._model_bytes + sum(int(X.nbytes + y.nbytes) for X, y in self._rows)


@dataclass(frozen=True)
class Method:
    """A method by its name in the table, and by a short one in the picture."""

    name: str
    short: str
    make: Callable[[NDArray[np.generic], int], Learner]  # of the sorted labels and a seed


NOLANA = Method("nolana: StreamClassifier()", "nolana", lambda _, seed: StreamClassifier(random_state=seed))
METHODS = (
    NOLANA,
    Method("linear model, online", "linear", lambda classes, _: LinearModel(classes)),
    Method("gradient boosting, retrained", "boosting", lambda classes, _: RetrainedBoosting(classes)),
)
