"""What the regressors for River share: numbers in, numbers out."""

from typing import Any

import numpy as np
from river import base

from nolana.estimators.regression import LARGEST_TARGET
from nolana.river.frames import Frame, Series, series_like
from nolana.river.model import RiverModel, Target
from nolana.river.slots import Features, Rows


class RiverRegressor(RiverModel, base.MiniBatchRegressor):
    """A regressor of nolana in River's form."""

    def _learn_rows(self, estimator: Any, rows: Rows, targets: list[Target], weights: list[float] | None) -> None:
        self._check_targets(targets)
        estimator.learn(rows, np.array(targets, dtype=np.float64), sample_weight=weights)

    def _check_targets(self, targets: list[Target]) -> None:
        for row, target in enumerate(targets):
            try:
                legal = bool(abs(target) <= LARGEST_TARGET)  # False for NaN
            except (TypeError, ValueError):
                legal = False
            if not legal:
                raise ValueError(f"y is {target!r} at row {row}; expected a finite number. No row was learned")

    def predict_one(self, x: Features, **kwargs: object) -> float:
        """The predicted target; 0 before the first row.

        Parameters
        ----------
        x
            Features: a dict, as in `learn_one`.
        """
        return 0.0 if not self._ready else float(self._estimator.predict(self._row(x))[0])

    def predict_many(self, X: Frame) -> Series:
        """The predicted target of each row of a frame, as a series.

        Parameters
        ----------
        X
            A frame whose columns are features.
        """
        if not self._ready or not len(X):
            return series_like(X, [0.0] * len(X))
        return series_like(X, self._estimator.predict(self._rows(X)).tolist())
