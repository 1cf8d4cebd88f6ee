"""What a model can tell beside its predictions: why this prediction."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.estimators._sklearn import check_is_fitted
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.edge import check_features, dense
from nolana.estimators.explain import contributions
from nolana.learner.rows import MatrixLike

Array = NDArray[np.float64]


class Answers(OnlineEstimator):
    """Questions that only the default estimators answer; nothing is learned by asking."""

    def explain(self, X: MatrixLike) -> Array:
        """What each column adds to the score of a row, (n, d); (n, d, c) for c > 2 classes or c > 1 targets.

        The score is the prediction of a regressor, and ``decision_function`` of a classifier: of two classes the one of
        ``classes_[1]``, half its log-odds. The contributions of a row add up to its score less that of the centre,
        the row whose numbers are the means that features are scaled around and whose categories are missing. Columns
        are those of X: a date or a category is one.

        They are Shapley values: what a column changes if columns take their values one after the other, starting at the
        centre, averaged over the orders. All orders count if at most 10 columns differ from the centre, else 16 drawn
        ones and their reversals, the same for every call. A row costs as much as 2^p, or 32 (p + 1) predictions, p the
        columns that differ.
        """
        check_is_fitted(self)
        x = check_features(self, X, self._largest(), reset=False, empty=True)
        learner, schema = self._learner, self.__dict__.get("_schema")
        if learner.sparse:
            raise ValueError("explain needs dense rows, of numbers and categories: X has text, or is sparse and wide")
        columns = [slice(j, j + 1) for j in range(x.shape[1])] if schema is None else schema.places
        classes: Any = self.__dict__.get("classes_")
        with learner.lock:
            centre = np.array(learner.centre())
        centre[[] if schema is None else schema.categories] = np.nan

        def scores(rows: Array) -> Array:  # (m, d) -> (m, c)
            with learner.lock:
                f = learner.scores(rows)
                if classes is None:
                    return np.asarray(f)
                found = self._by_column(f, 0.0)[:, np.searchsorted(self.classes_, classes)]
                return np.asarray(found[:, 1:] if len(classes) == 2 else found)

        found = contributions(scores, dense(x, slice(None)), centre, columns)
        return np.ascontiguousarray(found[:, :, 0]) if found.shape[2] == 1 else found
