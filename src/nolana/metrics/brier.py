"""The squared error of probabilities."""

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.means import Mean
from nolana.metrics.predictions import Predictions

__all__ = ["Brier"]

Array = NDArray[np.float64]


class Brier(Mean):
    """mean of (1/2) sum_c (p_c - [y = c])^2, from 0 to 1: for two classes (p - y)^2, as ``brier_score_loss``.

    A label that was not known yet has probability 0; a row before the first known class costs 1/2. It never exceeds 1
    for a row, so that single rows cannot dominate it as they can the log loss.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.metrics import Brier, Predictions
    >>> metric = Brier()
    >>> both = np.array([[0.2, 0.8], [0.5, 0.5]])
    >>> metric.update(Predictions(np.array([1, 0]), both, np.array([0, 1]), before=both))
    >>> round(metric.value(), 3)
    0.145
    """

    name = "brier"
    needs_probabilities = True

    def losses(self, rows: Predictions) -> Array:
        """(1/2) sum_c (p_c - [y = c])^2."""
        rows.need_probabilities(self.name)
        p, columns = np.nan_to_num(rows.probabilities), rows.columns
        known = np.flatnonzero(columns >= 0)
        hit = np.zeros(len(rows))
        hit[known] = p[known, columns[known]]
        squares = np.add.accumulate(p**2, axis=1)[:, -1] if p.shape[1] else hit
        return np.asarray((squares - 2 * hit + 1) / 2)
