"""What the classifiers for River share: labels in, labels and probabilities out."""

from typing import Any

import numpy as np
from river import base

from nolana.estimators.labels import check_labels
from nolana.river.frames import Frame, Series, frame_like, series_like
from nolana.river.model import RiverModel, Target
from nolana.river.slots import Features, Rows


class RiverClassifier(RiverModel, base.MiniBatchClassifier):
    """A classifier of nolana in River's form."""

    @property
    def _multiclass(self) -> bool:
        return True

    def _learn_rows(self, estimator: Any, rows: Rows, targets: list[Target], weights: list[float] | None) -> None:
        estimator.learn(rows, targets, sample_weight=weights)

    def _check_targets(self, targets: list[Target]) -> None:
        known = None if self._estimator is None else self._estimator.classes_
        labels = set(check_labels(targets, len(targets), known).tolist())
        new = labels if known is None else labels - set(known.tolist())
        if known is not None and len(known) + len(new) > 2 and new:
            self._estimator._learner.check_outputs(len(known) + len(new))

    def predict_one(self, x: Features, **kwargs: object) -> Target:
        """The most likely label; None before the first row.

        Parameters
        ----------
        x
            Features: a dict, as in `learn_one`.
        """
        return None if not self._ready else self._estimator.predict(self._row(x)).item()

    def predict_proba_one(self, x: Features, **kwargs: object) -> dict[Any, float]:
        """The probability of each label seen so far; empty before the first row.

        Parameters
        ----------
        x
            Features: a dict, as in `learn_one`.
        """
        if not self._ready:
            return {}
        [probabilities] = self._estimator.predict_proba(self._row(x)).tolist()
        return dict(zip(self._estimator.classes_.tolist(), probabilities, strict=True))

    def predict_many(self, X: Frame) -> Series:
        """The most likely label of each row of a frame, as a series; None before the first row was learned.

        Parameters
        ----------
        X
            A frame whose columns are features.
        """
        if not self._ready or not len(X):
            return series_like(X, [None] * len(X))
        return series_like(X, self._estimator.predict(self._rows(X)).tolist())

    def predict_proba_many(self, X: Frame) -> Frame:
        """The probability of each label for each row of a frame, as a frame; no column before the first row.

        Parameters
        ----------
        X
            A frame whose columns are features.
        """
        if not self._ready:
            return frame_like(X, [], np.zeros((len(X), 0)))
        labels = self._estimator.classes_.tolist()
        if not len(X):
            return frame_like(X, labels, np.zeros((0, len(labels))))
        return frame_like(X, labels, self._estimator.predict_proba(self._rows(X)))
