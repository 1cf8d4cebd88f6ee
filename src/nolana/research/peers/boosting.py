"""Gradient boosting, trained again on all rows so far: what people use instead of a stream learner.

``lightgbm`` is LightGBM, ``histgb`` scikit-learn's HistGradientBoosting, with their defaults and one thread. A model is
trained after 100 rows and then whenever there are a fifth more rows: 27 times in 10,000 rows. Between two trainings it
predicts and learns nothing. All rows are stored: its memory grows with the stream.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import Labels
from nolana.research.peers import Task

Array = NDArray[np.float64]

FIRST, GROWTH = 100, 1.2  # rows of the first training, and the factor to the next
SMALLEST = 1e-15  # probability: scores are finite


class BatchModel(Protocol):
    """A model of scikit-learn's kind; only a classifier has the last two."""

    def fit(self, X: Array, y: Labels, **options: object) -> Self: ...
    def predict(self, X: Array) -> Labels: ...
    def predict_proba(self, X: Array) -> Array: ...
    @property
    def classes_(self) -> NDArray[np.intp]: ...


class Retrained:
    """A batch model as a learner; `fit` gets rows and targets and returns a model."""

    def __init__(self, task: Task, fit: Callable[[Array, Labels], BatchModel]) -> None:
        self._task, self._fit = task, fit
        self._rows: list[Array] = []
        self._targets: list[Labels] = []
        self._count, self._next = 0, FIRST
        self._model: BatchModel | None = None
        if task.classes is not None:
            self.classes_ = task.classes

    @property
    def memory_bytes_(self) -> int:
        """Of the stored rows."""
        return sum(part.nbytes for part in (*self._rows, *self._targets))

    def learn(self, X: Array, y: Labels) -> Array:
        """The scores of rows that are stored afterwards."""
        targets, parts, start = self._task.targets(np.asarray(y)), [], 0
        while start < len(X):
            stop = min(len(X), start + self._next - self._count)
            rows = np.asarray(X[start:stop], dtype=np.float64)
            parts.append(self.scores(rows))
            self._rows.append(rows)
            self._targets.append(targets[start:stop])
            self._count += len(rows)
            if self._count == self._next:
                self._train()
            start = stop
        return np.concatenate(parts) if parts else self.scores(np.zeros((0, self._task.n_features)))

    def predict(self, X: Array) -> Labels:
        """The class or the target of rows."""
        scores = self.scores(np.asarray(X, dtype=np.float64))
        return scores if self._task.classes is None else self._task.classes[scores.argmax(axis=1)]

    def scores(self, X: Array) -> Array:
        """Logarithms of probabilities (n, classes), or targets (n,); the mean or no class before the first training."""
        classes = self._task.classes
        if self._model is None:
            stored = np.concatenate(self._targets).astype(np.float64) if self._targets else np.zeros(1)
            return self._task.scores(np.full(len(X), float(np.mean(stored)) if classes is None else -1))
        if classes is None:
            return np.asarray(self._model.predict(X), dtype=np.float64)
        scores = np.full((len(X), len(classes)), np.log(SMALLEST))
        scores[:, self._model.classes_] = np.log(np.maximum(self._model.predict_proba(X), SMALLEST))
        return scores

    def _train(self) -> None:
        self._next = int(GROWTH * self._count)
        targets = np.concatenate(self._targets)
        if self._task.classes is None or len(np.unique(targets)) > 1:
            self._model = self._fit(np.concatenate(self._rows), targets)


def make(method: str, task: Task, seed: int) -> Retrained:
    """The learner of a name, ``lightgbm`` or ``histgb``."""
    return Retrained(task, partial(MODELS[method], task, seed))


def _lightgbm(task: Task, seed: int, X: Array, y: Labels) -> BatchModel:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if task.classes is None else LGBMClassifier
    model: BatchModel = kind(n_jobs=1, verbose=-1, random_state=seed)
    return model.fit(X, y, categorical_feature=sorted(task.nominal) or "auto")


def _histgb(task: Task, seed: int, X: Array, y: Labels) -> BatchModel:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if task.classes is None else HistGradientBoostingClassifier
    model: BatchModel = kind(random_state=seed, categorical_features=sorted(task.nominal) or None)
    return model.fit(X, y)


MODELS = {"lightgbm": _lightgbm, "histgb": _histgb}
