"""Models with ``learn_one`` and ``predict_one``, as River's, for prequential evaluation.

They need no import here: a model is recognised by its methods. A row is a dict from the names of the columns of a
frame, or from the numbers of the columns of an array.
"""

import inspect
from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.metrics.label_index import LabelIndex, Labels, flat

__all__ = [
    "Block", "Features", "Model", "OneByOneClassifier", "OneByOneRegressor", "RowModel", "Targets", "as_learner",
]  # fmt: skip

Array = NDArray[np.float64]
Features = Any  # of some rows: an array, a sparse matrix, a frame, or what the learner makes of them (`convert`)
Targets = Any  # labels or targets, as the learner takes them
Block = Any  # a tuple (X, y) or (X, y, sample_weight), or an object with ``.X`` and ``.y``
Model = Any  # a learner or a model, with the optional methods that ``hasattr`` finds
Row = dict[Hashable, object]


class RowModel(Protocol):
    """The protocol of a model that learns rows one by one, as River's."""

    def learn_one(self, x: Features, y: Targets) -> object:
        """Learn a row, a dict of features."""
        ...

    def predict_one(self, x: Features) -> Targets:
        """The label or the target of a row."""
        ...


def as_learner(model: Model) -> Model:
    """A learner with ``learn(X, y)`` for any model; one that has it is returned as it is."""
    if hasattr(model, "learn") or not hasattr(model, "learn_one") or not hasattr(model, "predict_one"):
        return model
    last = getattr(model, "_last_step", model)  # the model of a pipeline of River
    return (OneByOneClassifier if hasattr(last, "predict_proba_one") else OneByOneRegressor)(model)


class _OneByOne:
    """What both share; ``convert`` is not part of the time that is measured, as users of such models have dicts."""

    def __init__(self, model: Model) -> None:
        self.model = model
        parameters = inspect.signature(model.learn_one).parameters.values()
        self._takes_weight = any(each.name == "w" or each.kind is each.VAR_KEYWORD for each in parameters)

    def convert(self, X: Features, y: object = None) -> list[Row]:
        """The rows of an array, a sparse matrix or a frame as dicts."""
        if isinstance(X, list):
            return X
        if hasattr(X, "toarray"):
            return [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X.tocsr()]
        names = list(X.columns) if hasattr(X, "columns") else range(np.shape(X)[1])
        return [dict(zip(names, row, strict=True)) for row in np.asarray(X).tolist()]

    def _learn_one(self, x: Row, y: Hashable, weight: float | None) -> None:
        if weight is None or weight == 1:
            self.model.learn_one(x, y)
        elif self._takes_weight:
            self.model.learn_one(x, y, w=weight)
        elif weight:
            raise ValueError(
                f"sample_weight is {weight} for a row, but learn_one of {type(self.model).__name__} has no argument w; "
                "use rows of weight 0 and 1 only"
            )

    @property
    def memory_bytes_(self) -> int:
        """Bytes by the model's own count, as River's show_memory prints them."""
        return int(self.model._raw_memory_usage)


class OneByOneRegressor(_OneByOne):
    """``learn(X, y)`` returns what ``predict_one`` returned for each row before it was learned."""

    def learn(self, X: Features, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The prediction (n,) of each row before it is learned."""
        targets, scores = flat(y).tolist(), []
        for x, target, weight in zip(self.convert(X), targets, _weights(sample_weight, len(targets)), strict=True):
            scores.append(self.model.predict_one(x))
            self._learn_one(x, target, weight)
        return np.array([0.0 if score is None else score for score in scores], dtype=np.float64)

    def scores(self, X: Features) -> Array:
        """The current predictions (n,)."""
        return np.array([self.model.predict_one(x) or 0.0 for x in self.convert(X)], dtype=np.float64)


class OneByOneClassifier(_OneByOne):
    """``learn(X, y)`` returns the probabilities that ``predict_proba_one`` returned before each row was learned.

    Models without probabilities have 1 for the predicted label. With ``classes``, sorted, the model sees the numbers of
    the labels: some models take no strings as labels.
    """

    def __init__(self, model: Model, classes: Labels | None = None) -> None:
        super().__init__(model)
        self._index = LabelIndex()
        self._classes = classes
        self._has_probabilities = True

    @property
    def classes_(self) -> Labels:
        """Labels in the order in which they appeared, in y or in a prediction."""
        return self._index.labels if self._classes is None else self._classes

    def learn(self, X: Features, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """The scores (n, classes) of each row before it is learned; -inf if the model did not know a class."""
        labels = flat(y)
        known = labels.tolist() if self._classes is None else np.searchsorted(self._classes, labels).tolist()
        predicted = []
        for x, label, weight in zip(self.convert(X), known, _weights(sample_weight, len(known)), strict=True):
            predicted.append(self._predict(x))
            self._learn_one(x, label, weight)
        if self._classes is None:
            self._index.columns(labels)
        return self._by_column(predicted)

    def scores(self, X: Features) -> Array:
        """The current scores (n, classes)."""
        return self._by_column([self._predict(x) for x in self.convert(X)])

    def probabilities(self, scores: Array) -> Array:
        """Probabilities (n, classes) of scores: the same, 0 for a class that was not known."""
        return np.clip(np.nan_to_num(scores, nan=0.0), 0.0, 1.0)

    def _predict(self, x: Row) -> dict[Hashable, float]:
        if self._has_probabilities:
            try:
                return dict(self.model.predict_proba_one(x) or {})
            except NotImplementedError:
                self._has_probabilities = False
        label = self.model.predict_one(x)
        return {} if label is None else {label: 1.0}

    def _by_column(self, predicted: list[dict[Hashable, float]]) -> Array:
        if self._classes is None:
            new = [label for each in predicted for label in each if label not in self._index]
            if new:
                self._index.columns(np.array(new))
        labels = self.classes_.tolist() if self._classes is None else range(len(self._classes))
        column = {label: i for i, label in enumerate(labels)}
        scores = np.full((len(predicted), len(column)), -np.inf)
        for i, each in enumerate(predicted):
            if not each:
                continue
            if not self._has_probabilities:
                scores[i] = 0.0
            for label, probability in each.items():
                if label in column:
                    scores[i, column[label]] = probability
            best = max(each, key=each.__getitem__)  # of equal ones the first, as predict_one of River chooses
            if best in column:
                scores[i, column[best]] = np.nextafter(each[best], 2.0)
        return scores


def _weights(sample_weight: ArrayLike | None, rows: int) -> list[float | None]:
    return [None] * rows if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).tolist()
